/// A property of a ``Model`` that is stored in its document.
///
/// ```swift
/// class Todo: Model {
///   @Persisted var text: String                  // stored under "text"; empty at first
///   @Persisted(key: "due_date") var due: Date?   // stored under another name
///   @Persisted var tags = ["new"]                // with a value of its own at first
///   @Persisted var list: TodoList?               // a reference to another model
/// }
/// ```
///
/// Properties may be `Bool`, `Int`, `Double`, `String` or `Date`, arrays and optionals of these, and
/// optional references to other models. The name is found by itself. A value is read from the
/// document when it is first asked for; after that the property costs what any stored property does.
///
/// Invariants, once the model it is in was made:
/// - `_index` is its number in the model's class.
/// - While `_flags` has ``PropertyFlags/unloaded``, the document has the value, if it has any.
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
      if _slowPath(model[keyPath: storage]._flags & PropertyFlags.slowToRead != 0) {
        let index = Int(model[keyPath: storage]._index)
        if model._prepareToRead(index) { return _readReference(model, index) }
      }
      return model[keyPath: storage]._value
    }
    @inline(__always) set {
      if _fastPath(
        model[keyPath: storage]._flags & PropertyFlags.decidesWrite == PropertyFlags.dirty)
      {
        model[keyPath: storage]._value = newValue
      } else {
        _write(newValue, model, Int(model[keyPath: storage]._index))
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

// MARK: - Access

extension Persisted {
  /// Takes the other model out of the wrapper, where it must not stay.
  @usableFromInline @inline(never)
  static func _readReference(_ model: Model, _ index: Int) -> Value {
    let property = model.property(index)
    let value = model.withValue(at: property.place.offset, of: Value.self) { $0 }
    property.finishReading(model)
    return value
  }

  @usableFromInline @inline(never)
  static func _write(_ value: Value, _ model: Model, _ index: Int) {
    model.property(index).assign(value, to: model)
  }

  @usableFromInline @inline(never)
  static func _beginModify(_ model: Model, _ index: Int) {
    model.property(index).beginModifying(model)
  }

  @usableFromInline @inline(never)
  static func _endModify(_ model: Model, _ index: Int) {
    model.property(index).endModifying(model)
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
      "@Persisted properties may be Bool, Int, Double, String or Date, arrays and optionals of these, and optional references to models"
  )
  public init(wrappedValue: Value) {
    preconditionFailure("A @Persisted property of a type that cannot be stored")
  }

  /// Never called: says which types can be stored.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "@Persisted properties may be Bool, Int, Double, String or Date, arrays and optionals of these, and optional references to models"
  )
  public init(wrappedValue: Value, key: String) {
    preconditionFailure("A @Persisted property of a type that cannot be stored")
  }

  /// Never called: says what is missing.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this @Persisted property needs an initial value ('= …'), or its type cannot be stored: Bool, Int, Double, String and Date, arrays and optionals of these, and optional references to models can"
  )
  public init() {
    preconditionFailure("A @Persisted property without an initial value")
  }

  /// Never called: says what is missing.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "this @Persisted property needs an initial value ('= …'), or its type cannot be stored: Bool, Int, Double, String and Date, arrays and optionals of these, and optional references to models can"
  )
  public init(key: String) {
    preconditionFailure("A @Persisted property without an initial value")
  }
}
