#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The types of properties whose stored values are in the order of the values themselves, so that `<` and its like can be
/// asked for.
///
/// Numbers, texts, truth values, dates and optionals of them are; `Decimal`, `URL`, `UUID` and `Data`, which are stored as
/// texts, are not. An enumeration of yours may be, if what it is stored as is in its order.
public protocol QueryOrdered: Encodable, SendableMetatype {
  /// What the property is compared with: the type itself, or what is in an optional.
  associatedtype QueryConstant: Encodable = Self
  /// Whether texts are always sorted by their bytes: of a date that is the order of time.
  static var sortsByBytes: Bool { get }
}

extension QueryOrdered {
  /// False: texts are sorted as people do.
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
  /// What is in the optional.
  public typealias QueryConstant = Wrapped.QueryConstant
  /// As what is in the optional.
  public static var sortsByBytes: Bool { Wrapped.sortsByBytes }
}

/// The types of properties that are stored as texts, so that texts can be looked for in them.
public protocol QueryText {}
extension String: QueryText {}
extension Substring: QueryText {}
extension Value: QueryText {}
extension URL: QueryText {}
extension Optional: QueryText where Wrapped: QueryText {}

/// The types of properties that are stored as arrays, so that elements can be looked for in them.
public protocol QueryElements {
  /// The type of an element.
  associatedtype QueryElement
}
extension Array: QueryElements {
  /// The array's own.
  public typealias QueryElement = Element
}
extension Set: QueryElements {
  /// The set's own.
  public typealias QueryElement = Element
}
extension Value: QueryElements {
  /// Any value.
  public typealias QueryElement = Value
}
extension Optional: QueryElements where Wrapped: QueryElements {
  /// That of what is in the optional.
  public typealias QueryElement = Wrapped.QueryElement
}
