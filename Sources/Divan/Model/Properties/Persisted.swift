/// A property of a ``Model`` that is stored in its document.
///
/// ```swift
/// class Todo: Model {
///   @Persisted var text: String                  // stored under "text"; initially empty
///   @Persisted(key: "due_date") var due: Date?   // stored under another key
///   @Persisted var tags = ["new"]                // with an initial value
///   @Persisted var list: TodoList?               // a reference to another model
///   @Persisted var watchers: [Person]            // references to several models
///   @Persisted(index: .value) var priority = 3   // indexed, for finding and sorting
/// }
/// ```
///
/// A property may have any `Codable` type, or refer to other models by an optional or an array.
/// Numbers, strings, Booleans, arrays, dictionaries and nested values are stored as such. `Date`,
/// `Data`, `Decimal`, `URL` and `UUID` are stored as strings, as by ``DocumentEncoder``; a `Date`
/// is rounded to milliseconds when it is assigned. Types without an obvious empty value need an
/// initial value. A type of yours that is not `Codable` can conform to ``ValueConvertible``.
///
/// The key is the property's name unless you give another one. A value is read from the document
/// when you first access it; after that, access costs the same as for any stored property. Changing
/// a value in place, as in `todo.tags.append("x")` or `todo.place.street = "y"`, changes the model.
/// Values should therefore be structures or enumerations.
///
/// How nil, null and missing values are treated:
/// - A nil is not stored. If the declared value is not nil, as in `var color: String? = "red"`, nil
///   is stored as null, and is read as nil again.
/// - If the document has no value, the property has its declared value.
/// - If the document has a null, the property is nil if its type allows that, and otherwise has its
///   declared value.
/// - If the document's value, or one element of its array or dictionary, is of another type, the
///   property has its declared value. The context calls its ``ModelContext/mismatchHandler``, and
///   the document keeps its value until you assign the property. ``Model/load()`` throws in this
///   case, as does loading in a strict context.
///
/// A stored value can contain properties that its type does not know, such as one that another
/// program added to an address. They are kept when the property changes, as long as the new value
/// has an object in place of the old one. A type knows the keys that it decodes or encodes,
/// even if their values are nil: those are removed when they become nil. A dictionary knows all of
/// its entries. Elements of arrays replace old elements as follows:
/// - If all elements, before and after, have an `id` of their own, those with the same `id` match.
/// - Otherwise, elements match that are equal in what their type knows, at any position. If fewer
///   of them remain than there were, and it is ambiguous which, they do not match.
/// - Without such IDs, elements at the same index match too if both arrays have the same count and
///   no element has moved. This does not apply to sets.
///
/// An element without a match starts without unknown properties.
///
/// Invariants, once the model of the property was initialized:
/// - `_index` is the property's number in the model's class.
/// - While `_flags` has `PropertyFlags.unloaded`, the value is in the document, if there is one.
@propertyWrapper
public struct Persisted<Value> {
  @usableFromInline var _value: Value
  /// The property's number in its class; before it is bound, the number from ``PropertyKeys``.
  @usableFromInline var _index: UInt16
  @usableFromInline var _flags: PropertyFlags.Bits

  /// Reads and writes the property of a model, on behalf of the compiler.
  ///
  /// The key path of the wrapped property is not used, because creating it would cost more than the
  /// access. The one of the storage is optimized away.
  @inlinable
  public static subscript<Owner: Model>(
    _enclosingInstance model: Owner,
    wrapped _: ReferenceWritableKeyPath<Owner, Value>,
    storage storage: ReferenceWritableKeyPath<Owner, Persisted<Value>>
  ) -> Value {
    @inline(__always) get {
      let flags = model[keyPath: storage]._flags
      if _slowPath(flags & PropertyFlags.slowToRead != 0) {
        let index = Int(model[keyPath: storage]._index)
        if model._prepareToRead(index, flags) { return _readReference(model, index) }
      }
      return model[keyPath: storage]._value
    }
    @inline(__always) set {
      if _fastPath(
        model[keyPath: storage]._flags & PropertyFlags.decidesWrite == PropertyFlags.dirty)
      {
        model[keyPath: storage]._value = newValue
      } else if !_write(newValue, model, Int(model[keyPath: storage]._index)) {
        model[keyPath: storage]._value = newValue
      }
    }
    @inline(__always) _modify {
      let isSlow =
        model[keyPath: storage]._flags & PropertyFlags.decidesWrite != PropertyFlags.dirty
      if _slowPath(isSlow) { _beginModify(model, Int(model[keyPath: storage]._index)) }
      // Deferred, because the code that modifies the value may throw after changing it.
      defer { if _slowPath(isSlow) { _endModify(model, Int(model[keyPath: storage]._index)) } }
      yield &model[keyPath: storage]._value
    }
  }

  /// Unavailable: a property is accessed through its model.
  @available(
    *, unavailable, message: "@Persisted can only be used on properties of Model subclasses"
  )
  public var wrappedValue: Value {
    get { _value }
    set { _value = newValue }
  }

  @inlinable @inline(__always)
  init(_ value: Value, key: String?, index: PropertyIndexKind?, rule: DeleteRule = .noAction) {
    _value = value
    _index =
      key == nil && index == nil ? PropertyKeys.none : PropertyKeys._number(of: key, index)
    _flags =
      PropertyFlags.unbound | rule._flags | (key == nil ? 0 : PropertyFlags.keyed)
      | (index == nil ? 0 : PropertyFlags.indexed)
  }

  // The compiler finds the initializers that it calls by itself only here, not in extensions.

  /// Creates a property with an initial value.
  ///
  /// - Parameters:
  ///   - wrappedValue: The initial value.
  ///   - key: The key in the document; nil for the property's name.
  ///   - index: What the index of the property contains; nil for none. See
  ///     ``Database/addIndexes(for:progress:)-8y952``.
  @inlinable
  public init(wrappedValue: Value, key: String? = nil, index: PropertyIndex<Value>? = nil)
  where Value: _PersistableValue {
    self.init(Value._normalized(wrappedValue), key: key, index: index?._kind)
  }

  /// Creates a property with an initial value of a `Codable` type.
  @inlinable @_disfavoredOverload
  public init(wrappedValue: Value, key: String? = nil, index: PropertyIndex<Value>? = nil)
  where Value: Codable {
    self.init(wrappedValue, key: key, index: index?._kind)
  }

  /// Creates a property that refers to other models, in order.
  @inlinable
  public init<Target: Model>(
    wrappedValue: [Target], key: String? = nil, index: PropertyIndex<Value>? = nil
  ) where Value == [Target] {
    self.init(wrappedValue, key: key, index: index?._kind)
  }

  /// Creates a property that is initially false, zero, empty or nil.
  ///
  /// - Parameters:
  ///   - key: The key in the document; nil for the property's name.
  ///   - index: What the index of the property contains; nil for none. See
  ///     ``Database/addIndexes(for:progress:)-8y952``.
  @inlinable
  public init(key: String? = nil, index: PropertyIndex<Value>? = nil)
  where Value: _EmptyPersistableValue {
    self.init(Value._empty, key: key, index: index?._kind)
  }

  /// Creates a property of a `Codable` type that is initially nil or an empty array.
  @inlinable @_disfavoredOverload
  public init(key: String? = nil, index: PropertyIndex<Value>? = nil) where Value: _EmptyCodable {
    self.init(Value._emptyCodable, key: key, index: index?._kind)
  }

  /// Creates a property that refers to other models, initially to none.
  @inlinable
  public init<Target: Model>(key: String? = nil, index: PropertyIndex<Value>? = nil)
  where Value == [Target] {
    self.init([], key: key, index: index?._kind)
  }
}

// MARK: - With a delete rule

extension Persisted {
  /// Creates a property that refers to other models, initially to none, with a delete rule.
  ///
  /// - Parameters:
  ///   - rule: ``DeleteRule/cascade`` to delete them with this model; ``DeleteRule/deny`` to forbid
  ///     deleting this model while there are any.
  ///   - key: The key in the document; nil for the property's name.
  ///   - index: What the index of the property contains; nil for none.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil, index: PropertyIndex<Value>? = nil
  ) where Value == [Target] {
    self.init([], key: key, index: index?._kind, rule: rule)
  }

  /// Creates a property that refers to another model, initially to none, with a delete rule.
  ///
  /// - Parameters:
  ///   - rule: ``DeleteRule/cascade`` to delete it with this model; ``DeleteRule/deny`` to forbid
  ///     deleting this model while there is one.
  ///   - key: The key in the document; nil for the property's name.
  ///   - index: What the index of the property contains; nil for none.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil, index: PropertyIndex<Value>? = nil
  ) where Value == Target? {
    self.init(nil, key: key, index: index?._kind, rule: rule)
  }
}

/// A `Codable` type with an obvious initial value: only Divan makes types conform.
public protocol _EmptyCodable: Codable {
  /// Nil, or an empty array.
  static var _emptyCodable: Self { get }
}

extension Optional: _EmptyCodable where Wrapped: Codable {
  /// Nil.
  @inlinable public static var _emptyCodable: Wrapped? { nil }
}

extension Array: _EmptyCodable where Element: Codable {
  /// The empty array.
  @inlinable public static var _emptyCodable: [Element] { [] }
}

// MARK: - Access

extension Persisted {
  /// Reads the target models and removes them from the wrapper, which must not retain them.
  @usableFromInline @inline(never)
  static func _readReference(_ model: Model, _ index: Int) -> Value {
    guard let property = model.property(index) else {
      preconditionFailure("Only a property that is known is a reference")
    }
    let value = model.withValue(at: property.location.offset, of: Value.self) { $0 }
    property.finishReading(model)
    return value
  }

  /// Sets the value; returns false if the property is unknown and the wrapper must store it.
  @usableFromInline @inline(never)
  static func _write(_ value: Value, _ model: Model, _ index: Int) -> Bool {
    guard let property = model.property(index) else { return false }
    property.assign(value, to: model)
    return true
  }

  @usableFromInline @inline(never)
  static func _beginModify(_ model: Model, _ index: Int) {
    model.property(index)?.beginModifying(model)
  }

  @usableFromInline @inline(never)
  static func _endModify(_ model: Model, _ index: Int) {
    model.property(index)?.endModifying(model)
  }
}

// MARK: - Uses that do not compile

/// The compiler errors for properties of types that cannot be stored.
extension Persisted {
  /// Unavailable: the message lists the types that can be stored.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this type cannot be stored in a @Persisted property: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init(wrappedValue: Value, key: String? = nil) {
    preconditionFailure("A @Persisted property of a type that cannot be stored")
  }

  /// Unavailable: the message says what is missing.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this @Persisted property needs an initial value ('= …'), or its type cannot be stored: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init() {
    preconditionFailure("A @Persisted property without an initial value")
  }

  /// Unavailable: the message says what is missing.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this @Persisted property needs an initial value ('= …'), or its type cannot be stored: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init(key: String) {
    preconditionFailure("A @Persisted property without an initial value")
  }
}
