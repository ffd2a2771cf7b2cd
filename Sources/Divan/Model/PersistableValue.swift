#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Types of ``Persisted`` properties that have a form of their own, or are known to be empty at first; only
/// Divan makes types conform.
///
/// All other types are stored as they encode themselves, so make yours `Codable`, or ``ValueConvertible``.
public protocol PersistableValue: SendableMetatype {
  /// The value as it will be after storing and reading it.
  static func _normalized(_ value: Self) -> Self
  /// How values of this type are stored.
  static var _storage: _PersistedStorage { get }
}

/// The types of ``Persisted`` properties that need no value at first.
public protocol EmptyPersistableValue: PersistableValue {
  /// False, zero, empty or nil.
  static var _empty: Self { get }
}

/// The types whose arrays may be ``Persisted``.
public protocol PersistableElement: PersistableValue, PersistableOptional {}

/// The types whose optionals may be ``Persisted``.
public protocol PersistableOptional: SendableMetatype {
  /// The optional's value as it will be after storing and reading it.
  static func _normalizedOptional(_ value: Self?) -> Self?
  /// How optionals of this type are stored.
  static var _optionalStorage: _PersistedStorage { get }
}

/// How values of a type are stored; only Divan makes these.
public struct _PersistedStorage {
  /// Makes the property of a class.
  let makeProperty: (PropertyPlace) -> any ModelProperty
}

extension PersistableValue {
  /// The value itself, for most types.
  @inlinable
  public static func _normalized(_ value: Self) -> Self { value }
}

extension PersistableOptional {
  /// The value itself, for most types.
  @inlinable
  public static func _normalizedOptional(_ value: Self?) -> Self? { value }
}

extension PersistableValue where Self: Codable {
  /// As the value encodes itself.
  public static var _storage: _PersistedStorage { .form(of: Self.self) }
}

extension PersistableOptional where Self: Codable {
  /// As the value encodes itself.
  public static var _optionalStorage: _PersistedStorage { .form(of: Self?.self) }
}

// MARK: - The types

extension Bool: EmptyPersistableValue, PersistableElement {
  /// False.
  @inlinable public static var _empty: Bool { false }
  /// Stored as a truth value.
  public static var _storage: _PersistedStorage { .of(Bool.self) }
  /// Stored as a truth value.
  public static var _optionalStorage: _PersistedStorage { .of(Bool?.self) }
}

extension Int: EmptyPersistableValue, PersistableElement {
  /// Zero.
  @inlinable public static var _empty: Int { 0 }
  /// Stored as a whole number.
  public static var _storage: _PersistedStorage { .of(Int.self) }
  /// Stored as a whole number.
  public static var _optionalStorage: _PersistedStorage { .of(Int?.self) }
}

extension Double: EmptyPersistableValue, PersistableElement {
  /// Zero.
  @inlinable public static var _empty: Double { 0 }
  /// Stored as a number that is not a whole one, even if it looks like it.
  public static var _storage: _PersistedStorage { .of(Double.self) }
  /// Stored as a number that is not a whole one, even if it looks like it.
  public static var _optionalStorage: _PersistedStorage { .of(Double?.self) }
}

extension String: EmptyPersistableValue, PersistableElement {
  /// The empty text.
  @inlinable public static var _empty: String { "" }
  /// Stored as a text.
  public static var _storage: _PersistedStorage { .of(String.self) }
  /// Stored as a text.
  public static var _optionalStorage: _PersistedStorage { .of(String?.self) }
}

extension Date: PersistableElement {
  /// The nearest date in whole milliseconds.
  public static func _normalized(_ value: Date) -> Date { value.roundedToMilliseconds }
  /// The nearest date in whole milliseconds.
  public static func _normalizedOptional(_ value: Date?) -> Date? { value?.roundedToMilliseconds }
  /// Stored as a text in ISO 8601, in UTC with milliseconds.
  public static var _storage: _PersistedStorage { .of(Date.self) }
  /// Stored as a text in ISO 8601, in UTC with milliseconds.
  public static var _optionalStorage: _PersistedStorage { .of(Date?.self) }
}

extension Array: PersistableValue, EmptyPersistableValue, PersistableOptional
where Element: PersistableElement {
  /// The array without elements.
  @inlinable public static var _empty: [Element] { [] }

  /// The array with each element as it will be after storing and reading it.
  @inlinable
  public static func _normalized(_ value: [Element]) -> [Element] {
    if Element.self == Date.self { return value.map(Element._normalized) }
    return value
  }

  /// The array with each element as it will be after storing and reading it.
  @inlinable
  public static func _normalizedOptional(_ value: [Element]?) -> [Element]? {
    value.map(_normalized)
  }

  /// Stored as an array.
  public static var _storage: _PersistedStorage { .ofArray(of: Element.self) }
  /// Stored as an array.
  public static var _optionalStorage: _PersistedStorage { .ofOptionalArray(of: Element.self) }
}

extension Optional: PersistableValue, EmptyPersistableValue where Wrapped: PersistableOptional {
  /// Nothing.
  @inlinable public static var _empty: Wrapped? { nil }

  /// The wrapped value as it will be after storing and reading it.
  @inlinable
  public static func _normalized(_ value: Wrapped?) -> Wrapped? {
    Wrapped._normalizedOptional(value)
  }

  /// Stored as what is wrapped, and not at all if that is nothing.
  public static var _storage: _PersistedStorage { Wrapped._optionalStorage }
}

// MARK: - Types that are stored as they encode themselves

extension EmptyPersistableValue where Self: Numeric {
  /// Zero.
  @inlinable public static var _empty: Self { 0 }
}

extension Int8: EmptyPersistableValue, PersistableElement {}
extension Int16: EmptyPersistableValue, PersistableElement {}
extension Int32: EmptyPersistableValue, PersistableElement {}
extension Int64: EmptyPersistableValue, PersistableElement {}
extension UInt: EmptyPersistableValue, PersistableElement {}
extension UInt8: EmptyPersistableValue, PersistableElement {}
extension UInt16: EmptyPersistableValue, PersistableElement {}
extension UInt32: EmptyPersistableValue, PersistableElement {}
extension UInt64: EmptyPersistableValue, PersistableElement {}
extension Float: EmptyPersistableValue, PersistableElement {}
extension Decimal: EmptyPersistableValue, PersistableElement {}
extension UUID: PersistableElement {}
extension URL: PersistableElement {}

extension Data: EmptyPersistableValue, PersistableElement {
  /// No bytes.
  @inlinable public static var _empty: Data { Data() }
}

extension Value: EmptyPersistableValue, PersistableElement {
  /// Null.
  @inlinable public static var _empty: Value { .null }
}

extension Value.Object: EmptyPersistableValue, PersistableElement {
  /// The object without properties.
  @inlinable public static var _empty: Value.Object { [:] }
}

extension Dictionary: PersistableValue, EmptyPersistableValue, PersistableOptional
where Key == String, Value: Codable {
  /// The dictionary without entries.
  @inlinable public static var _empty: [String: Value] { [:] }
}

extension Set: PersistableValue, EmptyPersistableValue, PersistableOptional
where Element: Codable {
  /// The empty set.
  @inlinable public static var _empty: Set<Element> { [] }
}
