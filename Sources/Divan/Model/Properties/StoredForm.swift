import DivanLog

/// How the values of a type are converted to and from their stored form.
protocol StoredForm: SendableMetatype {
  associatedtype Value
  /// Replaces `value` with the one that fills `range`; returns false if it is of another type.
  static func read(_ bytes: SharedBytes, _ range: Range<Int>, into value: inout Value) -> Bool
  /// The error of decoding `range`, if it says more than that the type is wrong.
  static func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>) -> (any Error)?
  /// Encodes a value.
  static func write(_ value: Value, to encoder: inout ValueEncoder) throws(DatabaseError)
  /// Whether values can have properties that their type does not know.
  static var keepsUnknownKeys: Bool { get }
  /// Returns the new stored form, with the unknown properties of the one in `range` it replaces.
  static func adding(
    unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Divan.Value
  ) -> Divan.Value
  /// Whether a value is left out of the document, unless another is declared.
  static func isAbsent(_ value: Value) -> Bool
  /// Whether both have the same stored form.
  static func areSame(_ a: Value, _ b: Value) -> Bool
  /// Returns the value as stored and read again, for types that round assigned values.
  static func normalized(_ value: Value) -> Value
  /// Whether values may have to be rounded when they are assigned.
  static var isNormalizing: Bool { get }
  /// The type's nil, if it has one.
  static var nilValue: Value? { get }
  /// Whether a saved value is read again, because the stored one may differ.
  static var isReadAfterSaving: Bool { get }
}

/// The form of types that have a direct stored form.
enum OwnForm<Value: StorableValue>: StoredForm {
  static func read(_ bytes: SharedBytes, _ range: Range<Int>, into value: inout Value) -> Bool {
    Value.read(bytes, range, into: &value)
  }

  static func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>) -> (any Error)? { nil }

  static func write(_ value: Value, to encoder: inout ValueEncoder) throws(DatabaseError) {
    guard value.encode(into: &encoder) else {
      throw DatabaseError(
        .invalidValue, "it has a number that is not finite, or a date outside the years 0 to 9999")
    }
  }

  static var keepsUnknownKeys: Bool { false }

  static func adding(
    unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Divan.Value
  ) -> Divan.Value { new }

  static func isAbsent(_ value: Value) -> Bool { value.isAbsent }
  static func areSame(_ a: Value, _ b: Value) -> Bool { Value.areSame(a, b) }
  static func normalized(_ value: Value) -> Value { Value._normalized(value) }
  static var isNormalizing: Bool { Value.isNormalizing }
  static var nilValue: Value? { Value.nilValue }
  static var isReadAfterSaving: Bool { false }
}

/// The form of all other types: their `Codable` form.
enum CodedForm<Value: Codable>: StoredForm {
  static func read(_ bytes: SharedBytes, _ range: Range<Int>, into value: inout Value) -> Bool {
    guard let read = try? decode(bytes, range) else { return false }
    value = read
    return true
  }

  static func typeMismatch(_ bytes: SharedBytes, _ range: Range<Int>) -> (any Error)? {
    do {
      _ = try decode(bytes, range)
      return nil
    } catch {
      return DatabaseError.decoding(Value.self, error, documentID: "")
    }
  }

  private static func decode(
    _ bytes: SharedBytes, _ range: Range<Int>, noting keys: KnownKeys? = nil
  ) throws -> Value {
    // Only `Value` can represent a null.
    if bytes.isNull(range), Value.self != Divan.Value.self { throw TypeMismatch.null }
    let session = DecodingSession(userInfo: [:], id: nil, revision: nil, keys: keys)
    guard let own = bytes.slice(range.lowerBound, range.count) else { throw TypeMismatch.damaged }
    let part = DecodingPart(session, own)
    guard let location = part.whole(hasMetadata: false) else { throw TypeMismatch.damaged }
    return try part.decode(Value.self, at: location)
  }

  static func write(_ value: Value, to encoder: inout ValueEncoder) throws(DatabaseError) {
    if isAbsent(value) { return encoder.addNull() }
    if try EncodingPage.write(value, to: &encoder) { return }
    let bytes = try encoded(value)
    bytes.withSpan { encoder.add(stored: $0) }
  }

  private static func encoded(_ value: Value) throws(DatabaseError) -> SharedBytes {
    let session = EncodingSession(userInfo: [:])
    do {
      let part = EncodingPart(propertyOf: session)
      try part.encodeOutermost(value)
      if let failure = session.failure { throw failure }
      return try part.finish()
    } catch {
      let error = DatabaseError.encoding(Value.self, session.failure ?? error)
      throw error as? DatabaseError
        ?? DatabaseError(.invalidValue, "encoding it failed", underlying: error)
    }
  }

  static var keepsUnknownKeys: Bool { true }

  static func adding(
    unknownIn bytes: SharedBytes, _ range: Range<Int>, to new: Divan.Value
  ) -> Divan.Value {
    guard new.holdsObject, let stored = bytes.slice(range.lowerBound, range.count) else {
      return new
    }
    let keys = KnownKeys()
    guard let old = try? decode(bytes, range, noting: keys), keys.hasUnknown,
      let encoded = try? EncodedValue(storedForm(old)).decode()
    else { return new }
    return UnknownProperties(of: stored, keys, encoded: encoded).added(to: new)
  }

  static func isAbsent(_ value: Value) -> Bool { (value as? any MayBeNil)?.isNil ?? false }

  static func areSame(_ a: Value, _ b: Value) -> Bool {
    do throws(DatabaseError) {
      return try storedForm(a) == storedForm(b)
    } catch {
      // A value that cannot be stored is reported when the model is saved.
      return false
    }
  }

  private static func storedForm(_ value: Value) throws(DatabaseError) -> SharedBytes {
    var encoder = ValueEncoder()
    encoder.begin(isNested: true)
    try write(value, to: &encoder)
    return encoder.bytes
  }

  static func normalized(_ value: Value) -> Value { value }
  static var isNormalizing: Bool { false }
  static var nilValue: Value? { (Value.self as? any MayBeNil.Type)?.makeNil(as: Value.self) }
  static var isReadAfterSaving: Bool { DirectType(Value.self) == nil }
}

extension Value {
  /// Whether the value is an object, or an array that contains one.
  fileprivate var holdsObject: Bool {
    switch self {
    case .object: true
    case .array(let elements): elements.contains(where: \.holdsObject)
    default: false
    }
  }
}

/// A type-erased optional.
private protocol MayBeNil {
  var isNil: Bool { get }
  static func makeNil<V>(as _: V.Type) -> V?
}

extension Optional: MayBeNil {
  fileprivate var isNil: Bool { self == nil }
  fileprivate static func makeNil<V>(as type: V.Type) -> V? { same(Self.none, as: type) }
}

// MARK: - The form of a type

extension _PersistedStorage {
  static func of<V: StorableValue>(_: V.Type) -> _PersistedStorage {
    _PersistedStorage { TypedProperty<OwnForm<V>>(location: $0) }
  }

  /// The storage of a `Codable` type; nil for other types.
  static func coded<V>(_ type: V.Type) -> _PersistedStorage? {
    guard let type = type as? any Codable.Type else { return nil }
    return form(of: type)
  }

  static func form<C: Codable>(of _: C.Type) -> _PersistedStorage {
    _PersistedStorage { TypedProperty<CodedForm<C>>(location: $0) }
  }

  // The form of the elements is not known at compile time; it is determined when the class is
  // discovered.

  static func ofArray<E: _PersistableElement>(of _: E.Type) -> _PersistedStorage {
    if let element = E.self as? any (StorableValue & _PersistableElement).Type {
      func make<S: StorableValue & _PersistableElement>(_: S.Type) -> _PersistedStorage {
        .of([S].self)
      }
      return make(element)
    }
    return coded([E].self) ?? unknown(E.self)
  }

  static func ofOptionalArray<E: _PersistableElement>(of _: E.Type) -> _PersistedStorage {
    if let element = E.self as? any (StorableValue & _PersistableElement).Type {
      func make<S: StorableValue & _PersistableElement>(_: S.Type) -> _PersistedStorage {
        .of([S]?.self)
      }
      return make(element)
    }
    return coded([E]?.self) ?? unknown(E.self)
  }

  private static func unknown(_ type: Any.Type) -> _PersistedStorage {
    refuseUse("\(type) conforms to _PersistableElement, which only types of Divan may")
  }
}
