/// A type of property whose values can be added.
///
/// The sum of a type with a limited range, such as `Int8`, is an `Int`.
public protocol _QueryNumber: SendableMetatype {
  /// The type of a sum of values.
  associatedtype QuerySum
  /// Returns a computed sum as the type of sums; nil if it is beyond its range.
  static func _querySum(_ sum: Value) -> QuerySum?
}

extension _QueryNumber where QuerySum: FixedWidthInteger {
  /// Returns a computed sum; nil if it is beyond the range of the type.
  public static func _querySum(_ sum: Value) -> QuerySum? {
    switch sum {
    case .int(let number): QuerySum(exactly: number)
    case .unsigned(let number): QuerySum(exactly: number)
    default: nil
    }
  }
}

extension _QueryNumber where QuerySum == Double {
  /// Returns a computed sum as the nearest `Double`.
  public static func _querySum(_ sum: Value) -> Double? { sum.doubleValue }
}

extension Int8: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension Int16: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension Int32: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension Int: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension Int64: _QueryNumber {
  /// Sums are of the type `Int64`.
  public typealias QuerySum = Int64
}
extension UInt8: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension UInt16: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension UInt32: _QueryNumber {
  /// Sums are of the type `Int`.
  public typealias QuerySum = Int
}
extension UInt: _QueryNumber {
  /// Sums are of the type `UInt`.
  public typealias QuerySum = UInt
}
extension UInt64: _QueryNumber {
  /// Sums are of the type `UInt64`.
  public typealias QuerySum = UInt64
}
extension Float: _QueryNumber {
  /// Sums are of the type `Double`.
  public typealias QuerySum = Double
}
extension Double: _QueryNumber {
  /// Sums are of the type `Double`.
  public typealias QuerySum = Double
}

extension Value: _QueryNumber {
  /// Returns a computed sum, an integer or a `Double`.
  public static func _querySum(_ sum: Value) -> Value? { sum }
}

extension Optional: _QueryNumber where Wrapped: _QueryNumber {
  /// Returns a computed sum as that of the wrapped type.
  public static func _querySum(_ sum: Value) -> Wrapped.QuerySum? { Wrapped._querySum(sum) }
}
