import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A range of the values of an index: an ``IndexRange``, or one of Swift's ranges.
///
/// ```swift
/// snapshot.documents(by: "by year", 1920..<1930)
/// snapshot.documents(by: "by year", 1927...)
/// snapshot.documents(by: "by title", ..<"M")
/// snapshot.documents(by: "by title", .prefix("The "))
/// ```
///
/// A range of Swift has bounds of the types `Int`, `Double`, `String` or `Date`. Making one whose
/// bounds are in the wrong order ends the process, as always in Swift. For bounds that the program
/// does not choose itself, use ``IndexRange/init(from:upTo:)``, which is empty then.
public protocol IndexRangeExpression {
  /// The range.
  var indexRange: IndexRange { get }
}

extension IndexRange: IndexRangeExpression {
  /// The range itself.
  public var indexRange: IndexRange { self }
}

extension IndexRangeExpression where Self == IndexRange {
  /// Every document that has the property.
  public static var all: IndexRange { IndexRange.all }

  /// The documents with this value; numbers compare by value, however they are written.
  public static func equal(to value: Value) -> IndexRange { IndexRange.equal(to: value) }

  /// The values greater than `value`, of the same type.
  public static func greater(than value: Value) -> IndexRange { IndexRange.greater(than: value) }

  /// The strings that begin with `prefix`, compared by UTF-8 bytes.
  public static func prefix(_ prefix: String) -> IndexRange { IndexRange.prefix(prefix) }
}

// MARK: - Ranges of Swift

/// A type of values that can be bounds of ranges: only Divan makes types conform.
public protocol _ValueBound: Comparable {
  /// The bound as a value.
  var _value: Value { get }
}

extension Int: _ValueBound {
  /// The bound as a value.
  public var _value: Value { Value(self) }
}

extension Double: _ValueBound {
  /// The bound as a value.
  public var _value: Value { Value(self) }
}

extension String: _ValueBound {
  /// The bound as a value.
  public var _value: Value { Value(self) }
}

extension Date: _ValueBound {
  /// The bound as a value.
  public var _value: Value { Value(self) }
}

/// A range of Swift with bounds that are values: only Divan makes types conform.
public protocol _ValueRange: IndexRangeExpression {
  /// The range.
  var indexRange: IndexRange { get }
}

extension Range: IndexRangeExpression, _ValueRange where Bound: _ValueBound {
  /// The values from the lower bound up to the upper one, which is not included.
  public var indexRange: IndexRange {
    IndexRange(from: lowerBound._value, upTo: upperBound._value)
  }
}

extension ClosedRange: IndexRangeExpression, _ValueRange where Bound: _ValueBound {
  /// The values from the lower bound through the upper one, which is included.
  public var indexRange: IndexRange {
    IndexRange(from: lowerBound._value, through: upperBound._value)
  }
}

extension PartialRangeFrom: IndexRangeExpression, _ValueRange where Bound: _ValueBound {
  /// The values from the lower bound onward, of the same type.
  public var indexRange: IndexRange { IndexRange(from: lowerBound._value) }
}

extension PartialRangeUpTo: IndexRangeExpression, _ValueRange where Bound: _ValueBound {
  /// The values up to the upper bound, which is not included, of the same type.
  public var indexRange: IndexRange { IndexRange(upTo: upperBound._value) }
}

extension PartialRangeThrough: IndexRangeExpression, _ValueRange where Bound: _ValueBound {
  /// The values through the upper bound, which is included, of the same type.
  public var indexRange: IndexRange { IndexRange(through: upperBound._value) }
}
