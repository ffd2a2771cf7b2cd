#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A type of ``Persisted`` properties with its own stored form, or with an initial empty value.
///
/// Only Divan declares conformances. All other types are stored in their `Codable` form, so make
/// yours `Codable` or ``ValueConvertible``.
public protocol _PersistableValue: SendableMetatype {
  /// Returns the value as it will be after storing and reading it.
  static func _normalized(_ value: Self) -> Self
  /// The storage of values of this type.
  static var _storage: _PersistedStorage { get }
}

/// A type of ``Persisted`` properties that needs no initial value.
public protocol _EmptyPersistableValue: _PersistableValue {
  /// The empty value: false, zero, empty or nil.
  static var _empty: Self { get }
}

/// A type whose arrays can be ``Persisted``.
public protocol _PersistableElement: _PersistableValue, PersistableOptional {}

/// A type whose optionals can be ``Persisted``.
///
/// ```swift
/// @Persisted var due: Date?
/// @Persisted var list: TodoList?
/// ```
public protocol PersistableOptional: SendableMetatype {
  /// Returns the optional as it will be after storing and reading it.
  static func _normalizedOptional(_ value: Self?) -> Self?
  /// The storage of optionals of this type.
  static var _optionalStorage: _PersistedStorage { get }
}

/// The storage of the values of a type; only Divan creates instances.
public struct _PersistedStorage {
  /// Creates the property for a location in a class.
  let makeProperty: (PropertyLocation) -> any ModelProperty
}

extension _PersistableValue {
  /// Returns the value itself, the default.
  @inlinable
  public static func _normalized(_ value: Self) -> Self { value }
}

extension PersistableOptional {
  /// Returns the value itself, the default.
  @inlinable
  public static func _normalizedOptional(_ value: Self?) -> Self? { value }
}

extension _PersistableValue where Self: Codable {
  /// The storage in the value's `Codable` form.
  public static var _storage: _PersistedStorage { .form(of: Self.self) }
}

extension PersistableOptional where Self: Codable {
  /// The storage in the value's `Codable` form.
  public static var _optionalStorage: _PersistedStorage { .form(of: Self?.self) }
}

// MARK: - Types with a direct stored form

extension Bool: _EmptyPersistableValue, _PersistableElement {
  /// False.
  @inlinable public static var _empty: Bool { false }
  /// The storage as a Boolean.
  public static var _storage: _PersistedStorage { .of(Bool.self) }
  /// The storage as a Boolean.
  public static var _optionalStorage: _PersistedStorage { .of(Bool?.self) }
}

extension Int: _EmptyPersistableValue, _PersistableElement {
  /// Zero.
  @inlinable public static var _empty: Int { 0 }
  /// The storage as an integer.
  public static var _storage: _PersistedStorage { .of(Int.self) }
  /// The storage as an integer.
  public static var _optionalStorage: _PersistedStorage { .of(Int?.self) }
}

extension Double: _EmptyPersistableValue, _PersistableElement {
  /// Zero.
  @inlinable public static var _empty: Double { 0 }
  /// The storage as a floating-point number, even for whole numbers.
  public static var _storage: _PersistedStorage { .of(Double.self) }
  /// The storage as a floating-point number, even for whole numbers.
  public static var _optionalStorage: _PersistedStorage { .of(Double?.self) }
}

extension String: _EmptyPersistableValue, _PersistableElement {
  /// The empty string.
  @inlinable public static var _empty: String { "" }
  /// The storage as a string.
  public static var _storage: _PersistedStorage { .of(String.self) }
  /// The storage as a string.
  public static var _optionalStorage: _PersistedStorage { .of(String?.self) }
}

extension Date: _PersistableElement {
  /// Returns the date rounded to milliseconds.
  public static func _normalized(_ value: Date) -> Date { value.roundedToMilliseconds }
  /// Returns the date rounded to milliseconds.
  public static func _normalizedOptional(_ value: Date?) -> Date? { value?.roundedToMilliseconds }
  /// The storage as an ISO 8601 string in UTC with milliseconds.
  public static var _storage: _PersistedStorage { .of(Date.self) }
  /// The storage as an ISO 8601 string in UTC with milliseconds.
  public static var _optionalStorage: _PersistedStorage { .of(Date?.self) }
}

extension Array: _PersistableValue, _EmptyPersistableValue, PersistableOptional
where Element: _PersistableElement {
  /// The empty array.
  @inlinable public static var _empty: [Element] { [] }

  /// Returns the array with each element as it will be after storing and reading it.
  @inlinable
  public static func _normalized(_ value: [Element]) -> [Element] {
    if Element.self == Date.self { return value.map(Element._normalized) }
    return value
  }

  /// Returns the array with each element as it will be after storing and reading it.
  @inlinable
  public static func _normalizedOptional(_ value: [Element]?) -> [Element]? {
    value.map(_normalized)
  }

  /// The storage as an array.
  public static var _storage: _PersistedStorage { .ofArray(of: Element.self) }
  /// The storage as an array.
  public static var _optionalStorage: _PersistedStorage { .ofOptionalArray(of: Element.self) }
}

extension Optional: _PersistableValue, _EmptyPersistableValue where Wrapped: PersistableOptional {
  /// Nil.
  @inlinable public static var _empty: Wrapped? { nil }

  /// Returns the wrapped value as it will be after storing and reading it.
  @inlinable
  public static func _normalized(_ value: Wrapped?) -> Wrapped? {
    Wrapped._normalizedOptional(value)
  }

  /// The storage of the wrapped value; nil is not stored.
  public static var _storage: _PersistedStorage { Wrapped._optionalStorage }
}

// MARK: - Types that are stored in their Codable form

extension _EmptyPersistableValue where Self: Numeric {
  /// Zero.
  @inlinable public static var _empty: Self { 0 }
}

extension Int8: _EmptyPersistableValue, _PersistableElement {}
extension Int16: _EmptyPersistableValue, _PersistableElement {}
extension Int32: _EmptyPersistableValue, _PersistableElement {}
extension Int64: _EmptyPersistableValue, _PersistableElement {}
extension UInt: _EmptyPersistableValue, _PersistableElement {}
extension UInt8: _EmptyPersistableValue, _PersistableElement {}
extension UInt16: _EmptyPersistableValue, _PersistableElement {}
extension UInt32: _EmptyPersistableValue, _PersistableElement {}
extension UInt64: _EmptyPersistableValue, _PersistableElement {}
extension Float: _EmptyPersistableValue, _PersistableElement {}
extension Decimal: _EmptyPersistableValue, _PersistableElement {}
extension UUID: _PersistableElement {}
extension URL: _PersistableElement {}

extension Data: _EmptyPersistableValue, _PersistableElement {
  /// The empty data.
  @inlinable public static var _empty: Data { Data() }
}

extension Value: _EmptyPersistableValue, _PersistableElement {
  /// Null.
  @inlinable public static var _empty: Value { .null }
}

extension Value.Object: _EmptyPersistableValue, _PersistableElement {
  /// The empty object.
  @inlinable public static var _empty: Value.Object { [:] }
}

extension Dictionary: _PersistableValue, _EmptyPersistableValue, PersistableOptional
where Key == String, Value: Codable {
  /// The empty dictionary.
  @inlinable public static var _empty: [String: Value] { [:] }
}

extension Set: _PersistableValue, _EmptyPersistableValue, PersistableOptional
where Element: Codable {
  /// The empty set.
  @inlinable public static var _empty: Set<Element> { [] }
}
