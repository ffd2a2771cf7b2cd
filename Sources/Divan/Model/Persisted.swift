/// A property of a ``Model`` that is stored in its document.
///
/// ```swift
/// class Todo: Model {
///   @Persisted var text: String                  // stored under "text"; empty at first
///   @Persisted(key: "due_date") var due: Date?   // stored under another name
///   @Persisted var tags = ["new"]                // with a value of its own at first
///   @Persisted var list: TodoList?               // a reference to another model
///   @Persisted var watchers: [Person]            // references to several
///   @Persisted(index: .value) var priority = 3   // found and sorted by it without reading all others
/// }
/// ```
///
/// Properties may be of any type that is `Codable`, and references to other models, optional ones or arrays.
/// Numbers,
/// texts, truth values, arrays, dictionaries and nested values are stored as what they are; a `Date`,
/// which is rounded to milliseconds when it is assigned, `Data`, `Decimal`, `URL` and `UUID` as texts, as
/// ``DocumentEncoder`` has them. Types that have nothing natural to begin with need a value at first. A
/// type of your own that is no `Codable` can be ``ValueConvertible``.
///
/// The name is found by itself. A value is read from the document when it is first asked for; after that
/// the property costs what any stored property does. Changing a value in place, `todo.tags.append("x")` or
/// `todo.place.street = "y"`, changes the model; so values should be structures or enumerations.
///
/// A nil is not stored, unless another value is declared (`var color: String? = "red"`): then it is stored as null, so that it
/// comes back as nil. Where the document has no value, the property has the value that was declared; where it has a null, nil if
/// the type has one, and otherwise the declared value, too. Where it has one that is not of this type, or an array or dictionary with one
/// element that is not, the property has the declared value too, the context's
/// ``ModelContext/mismatchHandler`` is told, and the document keeps what it has until the property is
/// assigned. ``Model/load()``, and every loading in a strict context, throws for that.
///
/// Where a document has properties within a value that its type does not know, such as what another program put into an
/// address, they stay when the property is changed, as long as an object of the new value stands in the place of the old one. Known is
/// what the type decodes or encodes by its keys, also if it happens to be nil: that goes when it becomes nil. A dictionary knows
/// all of its entries. Of arrays these elements take the place of old ones:
/// - if all of them have an `id` of their own, before and after, those with the same one;
/// - else those that are equal as far as their type knows them, wherever they stand, unless fewer of them are left than there were
///   and it is not certain which;
/// - and where both arrays have as many elements and none has moved, those at the same index. Elements of a set have none.
///
/// Other elements begin without what the type does not know.
///
/// Invariants, once the model it is in was made:
/// - `_index` is its number in the model's class.
/// - While `_flags` has `PropertyFlags.unloaded`, the document has the value, if it has any.
@propertyWrapper
public struct Persisted<Value> {
  @usableFromInline var _value: Value
  /// Its number among the properties of its class; before it is bound, what ``PropertyKeys`` says.
  @usableFromInline var _index: UInt16
  @usableFromInline var _flags: UInt16

  /// Reads and writes the property of a model, for the compiler.
  ///
  /// The key path of the wrapped property is not used, because making it would cost more than the
  /// access; the other one is optimised away.
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
      // Deferred, because whoever changes the value may throw when it has been changed.
      defer { if _slowPath(isSlow) { _endModify(model, Int(model[keyPath: storage]._index)) } }
      yield &model[keyPath: storage]._value
    }
  }

  /// Never called: properties are reached through their model.
  @available(
    *, unavailable, message: "@Persisted can only be used on properties of Model subclasses"
  )
  public var wrappedValue: Value {
    get { _value }
    set { _value = newValue }
  }

  /// Makes a property that has a value at first.
  @inlinable
  public init(wrappedValue: Value) where Value: PersistableValue {
    _value = Value._normalized(wrappedValue)
    _index = PropertyKeys.none
    _flags = PropertyFlags.unbound
  }

  /// Makes a property that has a value at first, and another name in the document.
  @inlinable
  public init(wrappedValue: Value, key: String) where Value: PersistableValue {
    _value = Value._normalized(wrappedValue)
    _index = PropertyKeys._number(of: key)
    _flags = PropertyFlags.unbound | PropertyFlags.keyed
  }

  /// Makes a property that has a value at first, and is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init(wrappedValue: Value) where Value: Codable {
    _value = wrappedValue
    _index = PropertyKeys.none
    _flags = PropertyFlags.unbound
  }

  /// Makes a property that has a value at first, and another name in the document, and is stored as
  /// it encodes itself.
  @inlinable @_disfavoredOverload
  public init(wrappedValue: Value, key: String) where Value: Codable {
    _value = wrappedValue
    _index = PropertyKeys._number(of: key)
    _flags = PropertyFlags.unbound | PropertyFlags.keyed
  }

  /// Makes a property that is nil at first, and is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init<Wrapped: Codable>() where Value == Wrapped? { self.init(wrappedValue: nil) }

  /// Makes a property that is nil at first, and has another name in the document, and is stored as it
  /// encodes itself.
  @inlinable @_disfavoredOverload
  public init<Wrapped: Codable>(key: String) where Value == Wrapped? {
    self.init(wrappedValue: nil, key: key)
  }

  /// Makes a property that is an empty array at first, and is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init<Element: Codable>() where Value == [Element] { self.init(wrappedValue: []) }

  /// Makes a property that is an empty array at first, and has another name in the document, and is
  /// stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init<Element: Codable>(key: String) where Value == [Element] {
    self.init(wrappedValue: [], key: key)
  }

  /// Makes a property that refers to other models, in their order.
  @inlinable
  public init<Target: Model>(wrappedValue: [Target]) where Value == [Target] {
    _value = wrappedValue
    _index = PropertyKeys.none
    _flags = PropertyFlags.unbound
  }

  /// Makes a property that refers to other models, in their order, and has another name in the document.
  @inlinable
  public init<Target: Model>(wrappedValue: [Target], key: String) where Value == [Target] {
    _value = wrappedValue
    _index = PropertyKeys._number(of: key)
    _flags = PropertyFlags.unbound | PropertyFlags.keyed
  }

  /// Makes a property that refers to other models, to none at first.
  @inlinable
  public init<Target: Model>() where Value == [Target] { self.init(wrappedValue: []) }

  /// Makes a property that refers to other models, to none at first, and has another name in the document.
  @inlinable
  public init<Target: Model>(key: String) where Value == [Target] {
    self.init(wrappedValue: [], key: key)
  }

  /// Makes a property that refers to other models, to none at first, and says what becomes of them.
  ///
  /// - Parameters:
  ///   - rule: ``DeleteRule/cascade`` if they are deleted with this model; ``DeleteRule/deny`` if it cannot be
  ///     deleted while there are any.
  ///   - key: another name in the document; nil for the property's own.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil
  ) where Value == [Target] {
    _value = []
    _index = key.map { PropertyKeys._number(of: $0) } ?? PropertyKeys.none
    _flags = PropertyFlags.unbound | rule._flags | (key == nil ? 0 : PropertyFlags.keyed)
  }

  /// Makes a property that refers to another model, to none at first, and says what becomes of it.
  ///
  /// - Parameters:
  ///   - rule: ``DeleteRule/cascade`` if it is deleted with this model; ``DeleteRule/deny`` if this model cannot
  ///     be deleted while there is one.
  ///   - key: another name in the document; nil for the property's own.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil
  ) where Value == Target? {
    _value = nil
    _index = key.map { PropertyKeys._number(of: $0) } ?? PropertyKeys.none
    _flags = PropertyFlags.unbound | rule._flags | (key == nil ? 0 : PropertyFlags.keyed)
  }

  /// Makes a property that refers to other models, to none at first, of which there is an index, and says what becomes of
  /// them.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil, index: PropertyIndex<Value>
  ) where Value == [Target] {
    self.init(_indexed: [], key, index._kind)
    _flags |= rule._flags
  }

  /// Makes a property that refers to another model, to none at first, of which there is an index, and says what becomes of
  /// it.
  @inlinable
  public init<Target: Model>(
    onDelete rule: DeleteRule, key: String? = nil, index: PropertyIndex<Value>
  ) where Value == Target? {
    self.init(_indexed: nil, key, index._kind)
    _flags |= rule._flags
  }

  /// Makes a property that is false, zero, empty or nil at first.
  @inlinable
  public init() where Value: EmptyPersistableValue {
    _value = Value._empty
    _index = PropertyKeys.none
    _flags = PropertyFlags.unbound
  }

  /// Makes a property that is false, zero, empty or nil at first, and has another name in the
  /// document.
  @inlinable
  public init(key: String) where Value: EmptyPersistableValue {
    _value = Value._empty
    _index = PropertyKeys._number(of: key)
    _flags = PropertyFlags.unbound | PropertyFlags.keyed
  }
}

// MARK: - With an index

extension Persisted {
  @inlinable
  init(_indexed value: Value, _ key: String?, _ index: PropertyIndexKind) {
    _value = value
    _index = PropertyKeys._number(of: key, index)
    _flags =
      PropertyFlags.unbound | PropertyFlags.indexed | (key == nil ? 0 : PropertyFlags.keyed)
  }

  /// Makes a property that has a value at first, and of which there is an index.
  ///
  /// - Parameters:
  ///   - wrappedValue: the value.
  ///   - key: another name in the document; nil for the property's own.
  ///   - index: what the index has of the property: see ``Database/addIndexes(for:progress:)``.
  @inlinable
  public init(wrappedValue: Value, key: String? = nil, index: PropertyIndex<Value>)
  where Value: PersistableValue {
    self.init(_indexed: Value._normalized(wrappedValue), key, index._kind)
  }

  /// Makes a property that has a value at first, of which there is an index, and that is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init(wrappedValue: Value, key: String? = nil, index: PropertyIndex<Value>)
  where Value: Codable {
    self.init(_indexed: wrappedValue, key, index._kind)
  }

  /// Makes a property that refers to other models, in their order, and of which there is an index.
  @inlinable
  public init<Target: Model>(
    wrappedValue: [Target], key: String? = nil, index: PropertyIndex<Value>
  ) where Value == [Target] {
    self.init(_indexed: wrappedValue, key, index._kind)
  }

  /// Makes a property that is false, zero, empty or nil at first, and of which there is an index.
  ///
  /// - Parameters:
  ///   - key: another name in the document; nil for the property's own.
  ///   - index: what the index has of the property: see ``Database/addIndexes(for:progress:)``.
  @inlinable
  public init(key: String? = nil, index: PropertyIndex<Value>) where Value: EmptyPersistableValue {
    self.init(_indexed: Value._empty, key, index._kind)
  }

  /// Makes a property that is nil at first, of which there is an index, and that is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init<Wrapped: Codable>(key: String? = nil, index: PropertyIndex<Value>)
  where Value == Wrapped? {
    self.init(_indexed: nil, key, index._kind)
  }

  /// Makes a property that is an empty array at first, of which there is an index, and that is stored as it encodes itself.
  @inlinable @_disfavoredOverload
  public init<Element: Codable>(key: String? = nil, index: PropertyIndex<Value>)
  where Value == [Element] {
    self.init(_indexed: [], key, index._kind)
  }

  /// Makes a property that refers to other models, to none at first, and of which there is an index.
  @inlinable
  public init<Target: Model>(key: String? = nil, index: PropertyIndex<Value>)
  where Value == [Target] {
    self.init(_indexed: [], key, index._kind)
  }
}

// MARK: - Access

extension Persisted {
  /// Takes the other model out of the wrapper, where it must not stay.
  @usableFromInline @inline(never)
  static func _readReference(_ model: Model, _ index: Int) -> Value {
    guard let property = model.property(index) else {
      preconditionFailure("Only a property that is known is a reference")
    }
    let value = model.withValue(at: property.place.offset, of: Value.self) { $0 }
    property.finishReading(model)
    return value
  }

  /// Sets the value; returns false if the wrapper is to hold it, and nobody else knows of it.
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

// MARK: - What does not compile

/// What the compiler says of a property of a type that cannot be stored.
extension Persisted {
  /// Never called: says which types can be stored.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this type cannot be stored in a @Persisted property: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init(wrappedValue: Value) {
    preconditionFailure("A @Persisted property of a type that cannot be stored")
  }

  /// Never called: says which types can be stored.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this type cannot be stored in a @Persisted property: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init(wrappedValue: Value, key: String) {
    preconditionFailure("A @Persisted property of a type that cannot be stored")
  }

  /// Never called: says what is missing.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this @Persisted property needs an initial value ('= …'), or its type cannot be stored: make it Codable or ValueConvertible, or refer to models by an optional or an array"
  )
  public init() {
    preconditionFailure("A @Persisted property without an initial value")
  }

  /// Never called: says what is missing.
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
