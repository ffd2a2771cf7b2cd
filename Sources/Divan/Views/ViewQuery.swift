/// Which rows of a view are wanted, in which order, and how they are reduced.
///
/// ```swift
/// try database.rows(of: byYear, .from(1920, upTo: 1930))
/// try database.rows(of: byActor, .beginning(with: ["Welles"]).reversed().limit(10))
/// try database.rows(of: byYearAndGenre, .all.grouped(byFirst: 1))
/// ```
///
/// Keys are in the order of ``Collation``, rows with equal keys in that of the bytes of their documents' IDs.
public struct ViewQuery: Sendable, Hashable {
  /// The key of the first rows; no bound if nil.
  ///
  /// With ``isDescending`` it is the greatest key.
  public var start: Value?
  /// The key of the last rows; no bound if nil.
  ///
  /// With ``isDescending`` it is the least key.
  public var end: Value?
  /// Where to begin among the rows with the key ``start``: at those of this document.
  public var startID: String?
  /// Where to end among the rows with the key ``end``: with those of this document.
  public var endID: String?
  /// Whether what is just at ``start`` is wanted.
  public var includesStart = true
  /// Whether what is just at ``end`` is wanted.
  public var includesEnd = true
  /// The keys that are wanted, in the order in which they are wanted; then ``start`` and ``end`` mean nothing.
  public var keys: [Value]?
  /// Whether the greatest keys come first.
  public var isDescending = false
  /// How many rows, or groups of them, are left out at the beginning.
  public var skip = 0
  /// How many rows, or groups of them, are wanted after that; all if nil.
  public var limit: Int?
  /// How deep within the last key, ``end`` or with ``isDescending`` ``start``, there is a prefix; 0 for none.
  ///
  /// 1 means that the key itself is one: all texts are wanted that begin with that text, whatever accents and capitals
  /// they have, or all arrays that begin with these elements. 2 means that the key is an array, and its last element a
  /// prefix; and so on. If both ends are the same, just what begins with it is wanted. Where there is neither a text nor
  /// an array, it means nothing.
  public var prefixLevel = 0
  /// By how many elements of keys that are arrays rows are grouped, to be reduced group by group.
  ///
  /// With `Int.max` it is by all of them. Other keys are each a group. Nil for no groups, and one value for all rows.
  public var groupLevel: Int?
  /// Whether rows are reduced; nil for what the view does.
  public var isReduced: Bool?

  /// Every row.
  public init() {}
}

extension ViewQuery {
  /// Every row.
  public static let all = ViewQuery()

  /// The rows with a key.
  public static func key(_ key: Value) -> ViewQuery { .from(key, through: key) }

  /// The rows with some keys, in the order of these.
  public static func keys(_ keys: [Value]) -> ViewQuery {
    var query = ViewQuery()
    query.keys = keys
    return query
  }

  /// The rows with keys from one on.
  public static func from(_ start: Value) -> ViewQuery {
    var query = ViewQuery()
    query.start = start
    return query
  }

  /// The rows with keys from one through another.
  public static func from(_ start: Value, through end: Value) -> ViewQuery {
    var query = ViewQuery.from(start)
    query.end = end
    return query
  }

  /// The rows with keys from one up to another, which is not included.
  public static func from(_ start: Value, upTo end: Value) -> ViewQuery {
    var query = ViewQuery.from(start, through: end)
    query.includesEnd = false
    return query
  }

  /// The rows with keys through one.
  public static func through(_ end: Value) -> ViewQuery {
    var query = ViewQuery()
    query.end = end
    return query
  }

  /// The rows with keys up to one, which is not included.
  public static func upTo(_ end: Value) -> ViewQuery {
    var query = ViewQuery.through(end)
    query.includesEnd = false
    return query
  }

  /// The rows whose keys are texts that begin with a text, whatever accents and capitals they have, or arrays that
  /// begin with the elements of an array.
  public static func beginning(with prefix: Value) -> ViewQuery {
    var query = ViewQuery.key(prefix)
    query.prefixLevel = 1
    return query
  }

  /// The same rows in the reverse order.
  public func reversed() -> ViewQuery {
    var query = self
    query.isDescending.toggle()
    (query.start, query.end) = (end, start)
    (query.startID, query.endID) = (endID, startID)
    (query.includesStart, query.includesEnd) = (includesEnd, includesStart)
    if let keys { query.keys = keys.reversed() }
    return query
  }

  /// At most so many rows, or groups of them.
  public func limit(_ count: Int) -> ViewQuery {
    var query = self
    query.limit = count
    return query
  }

  /// Without the first rows, or groups of them.
  public func skip(_ count: Int) -> ViewQuery {
    var query = self
    query.skip = count
    return query
  }

  /// One value for each group of rows whose keys are equal, or of keys that are arrays, their first elements.
  public func grouped(byFirst count: Int = .max) -> ViewQuery {
    var query = self
    query.groupLevel = count
    return query
  }

  /// The rows themselves, though the view reduces them.
  public func unreduced() -> ViewQuery {
    var query = self
    query.isReduced = false
    query.groupLevel = nil
    return query
  }
}
