/// A query for rows of a view: which rows, in which order, and how they are reduced.
///
/// ```swift
/// try database.rows(of: byYear, .keys(in: 1920..<1930))
/// try database.rows(of: byActor, .beginning(with: ["Welles"]).reversed().limit(10))
/// try database.rows(of: byYearAndGenre, .all.grouped(byFirst: 1))
/// ```
///
/// Keys are in the order of ``Collation``; rows with equal keys are in the order of the bytes of
/// their documents' IDs.
public struct ViewQuery: Sendable, Hashable {
  /// The key of the first rows; nil for no bound.
  ///
  /// With ``isDescending`` it is the greatest key.
  public var start: Value?
  /// The key of the last rows; nil for no bound.
  ///
  /// With ``isDescending`` it is the least key.
  public var end: Value?
  /// The ID of the document to begin with, among the rows with the key ``start``.
  public var startID: String?
  /// The ID of the document to end with, among the rows with the key ``end``.
  public var endID: String?
  /// Whether the rows at ``start`` are included.
  public var includesStart = true
  /// Whether the rows at ``end`` are included.
  public var includesEnd = true
  /// The keys of the rows, in the order of the result; if set, ``start`` and ``end`` are ignored.
  public var keys: [Value]?
  /// Whether the greatest keys come first.
  public var isDescending = false
  /// The number of rows, or groups of them, to skip at the beginning.
  public var skip = 0
  /// The maximum number of rows, or groups of them, after that; nil for all.
  public var limit: Int?
  /// The depth of the prefix within the last key; 0 for none.
  ///
  /// The last key is ``end``, or with ``isDescending`` ``start``.
  ///
  /// 1 means that the key itself is a prefix: of all strings that begin with it, ignoring accents
  /// and case, or of all arrays that begin with its elements. 2 means that the key is an array
  /// whose last element is a prefix; and so on. If both ends are equal, only rows with the prefix
  /// match. If the value at that depth is neither a string nor an array, this is ignored.
  public var prefixLevel = 0
  /// The number of leading elements of array keys by which rows are grouped for reduction.
  ///
  /// `Int.max` groups by all elements. Each distinct other key is a group. Nil reduces all rows to
  /// one value.
  public var groupLevel: Int?
  /// Whether rows are reduced; nil for the view's default.
  public var isReduced: Bool?

  /// Creates a query for every row.
  public init() {}

  /// Creates a query for the rows with keys from `start`, if given, up to `end`, which is excluded.
  public init(from start: Value?, upTo end: Value? = nil) {
    self.start = start
    self.end = end
    includesEnd = end == nil
  }

  /// Creates a query for the rows with keys from `start`, if given, through `end`, which is
  /// included.
  public init(from start: Value? = nil, through end: Value) {
    self.start = start
    self.end = end
  }
}

extension ViewQuery {
  /// Every row.
  public static let all = ViewQuery()

  /// The rows with a key.
  public static func key(_ key: Value) -> ViewQuery { ViewQuery(from: key, through: key) }

  /// The rows with any of some keys, in the order of these keys.
  public static func keys(_ keys: [Value]) -> ViewQuery {
    var query = ViewQuery()
    query.keys = keys
    return query
  }

  /// The rows with keys in a range of Swift.
  ///
  /// For other keys, such as arrays, use ``init(from:upTo:)``.
  public static func keys(in range: some _ValueRange) -> ViewQuery {
    guard case .between(let lower, let upper) = range.indexRange.kind else { return .all }
    var query = ViewQuery(from: lower?.value)
    query.end = upper?.value
    query.includesEnd = upper?.isIncluded ?? true
    return query
  }

  /// The rows whose keys begin with a string or with the elements of an array.
  ///
  /// Strings are compared without regard to accents and case.
  public static func beginning(with prefix: Value) -> ViewQuery {
    var query = ViewQuery.key(prefix)
    query.prefixLevel = 1
    return query
  }

  /// Returns a query for the same rows in reverse order.
  public func reversed() -> ViewQuery {
    var query = self
    query.isDescending.toggle()
    (query.start, query.end) = (end, start)
    (query.startID, query.endID) = (endID, startID)
    (query.includesStart, query.includesEnd) = (includesEnd, includesStart)
    if let keys { query.keys = keys.reversed() }
    return query
  }

  /// Returns the query limited to at most `count` rows, or groups of them.
  public func limit(_ count: Int) -> ViewQuery {
    var query = self
    query.limit = count
    return query
  }

  /// Returns the query without the first `count` rows, or groups of them.
  public func skip(_ count: Int) -> ViewQuery {
    var query = self
    query.skip = count
    return query
  }

  /// Returns the query with rows grouped by equal keys, or by the first elements of array keys.
  public func grouped(byFirst count: Int = .max) -> ViewQuery {
    var query = self
    query.groupLevel = count
    return query
  }

  /// Returns the query for the rows themselves, even if the view reduces them.
  public func unreduced() -> ViewQuery {
    var query = self
    query.isReduced = false
    query.groupLevel = nil
    return query
  }
}
