#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A type of property whose stored values have the order of the values themselves.
///
/// You can compare such properties with `<` and the like. Numbers, texts, truth values, dates and
/// optionals of them conform; `Decimal`, `URL`, `UUID` and `Data`, which are stored as texts, do
/// not. Your own enumeration may conform if its stored values have its order.
public protocol _QueryOrdered: Codable, SendableMetatype {
  /// The type that the property is compared with: the type itself, or an optional's wrapped type.
  associatedtype QueryConstant: Codable = Self
  /// Whether texts are always sorted by their bytes: for dates, that is the order of time.
  static var sortsByBytes: Bool { get }
}

extension _QueryOrdered {
  /// False: texts are sorted by collation.
  public static var sortsByBytes: Bool { false }
}

extension Bool: _QueryOrdered {}
extension Int: _QueryOrdered {}
extension Int8: _QueryOrdered {}
extension Int16: _QueryOrdered {}
extension Int32: _QueryOrdered {}
extension Int64: _QueryOrdered {}
extension UInt: _QueryOrdered {}
extension UInt8: _QueryOrdered {}
extension UInt16: _QueryOrdered {}
extension UInt32: _QueryOrdered {}
extension UInt64: _QueryOrdered {}
extension Float: _QueryOrdered {}
extension Double: _QueryOrdered {}
extension String: _QueryOrdered {}
extension Value: _QueryOrdered {}
extension Date: _QueryOrdered {
  /// True: dates are stored as texts that are in the order of time.
  public static var sortsByBytes: Bool { true }
}
extension Optional: _QueryOrdered where Wrapped: _QueryOrdered {
  /// The constant type of the wrapped type.
  public typealias QueryConstant = Wrapped.QueryConstant
  /// The value of the wrapped type.
  public static var sortsByBytes: Bool { Wrapped.sortsByBytes }
}

/// A type of property that is stored as a text, in which you can search for texts.
public protocol _QueryText {}
extension String: _QueryText {}
extension Substring: _QueryText {}
extension Value: _QueryText {}
extension URL: _QueryText {}
extension Optional: _QueryText where Wrapped: _QueryText {}

/// A type of property that is stored as a text or an array of texts: a full-text index can have it.
public protocol _QueryFullText {}
extension String: _QueryFullText {}
extension Substring: _QueryFullText {}
extension Value: _QueryFullText {}
extension Array: _QueryFullText where Element: _QueryText {}
extension Set: _QueryFullText where Element: _QueryText {}
extension Optional: _QueryFullText where Wrapped: _QueryFullText {}

/// A type of property that is stored as an array, in which you can search for elements.
public protocol _QueryElements {
  /// The type of an element.
  associatedtype QueryElement
}
extension Array: _QueryElements {
  /// The array's element type.
  public typealias QueryElement = Element
}
extension Set: _QueryElements {
  /// The set's element type.
  public typealias QueryElement = Element
}
extension Value: _QueryElements {
  /// Any value.
  public typealias QueryElement = Value
}
extension Optional: _QueryElements where Wrapped: _QueryElements {
  /// The element type of the wrapped type.
  public typealias QueryElement = Wrapped.QueryElement
}
