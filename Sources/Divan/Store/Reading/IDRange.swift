import DivanLog

/// A range of document IDs, in the order of their UTF-8 bytes.
///
/// Wherever one is expected, you can also use a range of Swift with strings as bounds:
///
/// ```swift
/// snapshot.documents("film:b"..<"film:c")
/// snapshot.documents(.prefix("film:"))
/// snapshot.documents(.after(last))          // the next page
/// ```
public struct IDRange: Sendable, Equatable {
  let lower: KeyBound
  let upper: KeyBound

  init(lower: KeyBound, upper: KeyBound) {
    self.lower = lower
    self.upper = upper
  }

  /// Creates the range of the IDs from `first`, if given, up to `end`, which is not included.
  ///
  /// It is empty if the two are in the wrong order.
  public init(from first: String? = nil, upTo end: String? = nil) {
    lower = first.map { .inclusive(Array($0.utf8)) } ?? .unbounded
    upper = end.map { .exclusive(Array($0.utf8)) } ?? .unbounded
  }

  /// Creates the range of the IDs from `first`, if given, through `last`, which is included.
  ///
  /// It is empty if the two are in the wrong order.
  public init(from first: String? = nil, through last: String) {
    lower = first.map { .inclusive(Array($0.utf8)) } ?? .unbounded
    upper = .inclusive(Array(last.utf8))
  }

  /// Every ID.
  public static let all = IDRange(lower: .unbounded, upper: .unbounded)

  /// The IDs that begin with `prefix`.
  public static func prefix(_ prefix: String) -> IDRange {
    let bytes = Array(prefix.utf8)
    return IDRange(lower: .inclusive(bytes), upper: .end(ofPrefix: bytes))
  }

  /// The IDs after `last`, as for the next page of a list.
  public static func after(_ last: String) -> IDRange {
    IDRange(lower: .exclusive(Array(last.utf8)), upper: .unbounded)
  }
}

/// A range of document IDs: an ``IDRange``, or a range of Swift with strings as bounds.
///
/// ```swift
/// func titles(in range: some IDRangeExpression, of snapshot: Snapshot) throws -> [String] {
///   try snapshot.documents(range).compactMap { $0["title"]?.stringValue }.collect()
/// }
/// ```
///
/// Making a range of Swift whose bounds are in the wrong order ends the process. For bounds that
/// the program does not choose itself, use ``IDRange/init(from:upTo:)``, which is empty then.
public protocol IDRangeExpression {
  /// The range.
  var idRange: IDRange { get }
}

extension IDRange: IDRangeExpression {
  /// The range itself.
  public var idRange: IDRange { self }
}

extension IDRangeExpression where Self == IDRange {
  /// Every ID.
  public static var all: IDRange { IDRange.all }

  /// The IDs that begin with `prefix`.
  public static func prefix(_ prefix: String) -> IDRange { IDRange.prefix(prefix) }

  /// The IDs after `last`, as for the next page of a list.
  public static func after(_ last: String) -> IDRange { IDRange.after(last) }
}

extension Range: IDRangeExpression where Bound == String {
  /// The IDs from the lower bound up to the upper one, which is not included.
  public var idRange: IDRange { IDRange(from: lowerBound, upTo: upperBound) }
}

extension ClosedRange: IDRangeExpression where Bound == String {
  /// The IDs from the lower bound through the upper one, which is included.
  public var idRange: IDRange { IDRange(from: lowerBound, through: upperBound) }
}

extension PartialRangeFrom: IDRangeExpression where Bound == String {
  /// The IDs from the lower bound onward.
  public var idRange: IDRange { IDRange(from: lowerBound) }
}

extension PartialRangeUpTo: IDRangeExpression where Bound == String {
  /// The IDs up to the upper bound, which is not included.
  public var idRange: IDRange { IDRange(upTo: upperBound) }
}

extension PartialRangeThrough: IDRangeExpression where Bound == String {
  /// The IDs through the upper bound, which is included.
  public var idRange: IDRange { IDRange(through: upperBound) }
}
