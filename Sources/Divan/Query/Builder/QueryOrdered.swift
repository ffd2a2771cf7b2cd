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
public protocol QueryOrdered: Encodable, SendableMetatype {
  /// The type that the property is compared with: the type itself, or an optional's wrapped type.
  associatedtype QueryConstant: Encodable = Self
  /// Whether texts are always sorted by their bytes: for dates, that is the order of time.
  static var sortsByBytes: Bool { get }
}

extension QueryOrdered {
  /// False: texts are sorted by collation.
  public static var sortsByBytes: Bool { false }
}

extension Bool: QueryOrdered {}
extension Int: QueryOrdered {}
extension Int8: QueryOrdered {}
extension Int16: QueryOrdered {}
extension Int32: QueryOrdered {}
extension Int64: QueryOrdered {}
extension UInt: QueryOrdered {}
extension UInt8: QueryOrdered {}
extension UInt16: QueryOrdered {}
extension UInt32: QueryOrdered {}
extension UInt64: QueryOrdered {}
extension Float: QueryOrdered {}
extension Double: QueryOrdered {}
extension String: QueryOrdered {}
extension Value: QueryOrdered {}
extension Date: QueryOrdered {
  /// True: dates are stored as texts that are in the order of time.
  public static var sortsByBytes: Bool { true }
}
extension Optional: QueryOrdered where Wrapped: QueryOrdered {
  /// The constant type of the wrapped type.
  public typealias QueryConstant = Wrapped.QueryConstant
  /// The value of the wrapped type.
  public static var sortsByBytes: Bool { Wrapped.sortsByBytes }
}

/// A type of property that is stored as a text, in which you can search for texts.
public protocol QueryText {}
extension String: QueryText {}
extension Substring: QueryText {}
extension Value: QueryText {}
extension URL: QueryText {}
extension Optional: QueryText where Wrapped: QueryText {}

/// A type of property that is stored as an array, in which you can search for elements.
public protocol QueryElements {
  /// The type of an element.
  associatedtype QueryElement
}
extension Array: QueryElements {
  /// The array's element type.
  public typealias QueryElement = Element
}
extension Set: QueryElements {
  /// The set's element type.
  public typealias QueryElement = Element
}
extension Value: QueryElements {
  /// Any value.
  public typealias QueryElement = Value
}
extension Optional: QueryElements where Wrapped: QueryElements {
  /// The element type of the wrapped type.
  public typealias QueryElement = Wrapped.QueryElement
}
