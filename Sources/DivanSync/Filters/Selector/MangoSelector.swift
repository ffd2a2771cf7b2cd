public import Divan

/// A condition on documents, in the JSON of CouchDB's Mango queries and with its meaning.
///
/// ```swift
/// let selector = try MangoSelector(["type": "note", "words": ["$gte": 100]])
/// selector.matches(["_id": "a", "type": "note", "words": 250])  // true
///
/// let recent = ReplicationFilter.selector(selector)
/// ```
///
/// The same selector chooses the same documents here and in CouchDB, with these operators:
/// - of values: `$lt`, `$lte`, `$eq`, `$ne`, `$gte`, `$gt`, `$in`, `$nin`, `$exists`, `$type`,
///   `$mod`, `$regex`, `$beginsWith`
/// - of arrays and objects: `$size`, `$all`, `$elemMatch`, `$allMatch`, `$keyMapMatch`
/// - of conditions: `$and`, `$or`, `$nor`, `$not`
///
/// A name such as `author.name` or `tags.0` is a path; a dot that belongs to a name is written as
/// `\\.`. Several members of an object must all be true, and a value without an operator must be
/// equal. An empty selector matches all documents.
///
/// Some results may surprise:
/// - A property that is missing matches no operator but `"$exists": false`. So `$ne` and `$not`
///   want it to be there, too.
/// - Values of all types are compared: null, false, true, numbers, texts, arrays, objects. `$lt` of
///   a number also matches null.
/// - An empty `$and`, `$or` or `$nor` is true beside another condition. Alone, it matches nothing.
/// - CouchDB cannot evaluate `$nor` in `$elemMatch`, `$allMatch` and `$keyMapMatch`. They are then
///   false, here too.
///
/// ### Differences from CouchDB
///
/// - Texts are ordered by `Collation`, which differs from CouchDB's order for a few
///   scalars: it sorts emoji after `$`, not before it. Texts are equal as they are there: scalars
///   without width are ignored, and `é` is one scalar or two.
/// - Objects are compared property by property in the order of their names. CouchDB uses the order
///   in which they were written.
/// - `$text` and a `$mod` by zero are refused. CouchDB accepts them in a filter, and cannot
///   evaluate them.
/// - Regular expressions are those of Swift, with the classes `\d`, `\w` and `\s` restricted to
///   ASCII, and with at most 4,096 bytes and 100 opening brackets. CouchDB's are those of PCRE.
///   There, lookbehind is allowed, `$` also matches before a final line feed, and `.` is a byte and
///   not a Unicode scalar.
///
/// ### What it costs
///
/// A selector is prepared once. Evaluating it takes time in proportion to its size and to that of
/// the document; a condition on elements is evaluated for each of them.
///
/// Regular expressions are the exception: one like `(a+)+$` tries exponentially many ways to match
/// a long text, and no limit ends that. CouchDB gives up after ten million steps. So do not use
/// expressions that you did not write. A ``CouchDBService`` matches those of its users in linear
/// time: see ``CouchDBService/Configuration/allowsBacktracking``.
public struct MangoSelector: Sendable {
  /// The selector in JSON.
  public let value: Value

  /// Nil if the selector is empty.
  private let condition: SelectorCondition?

  /// The maximum number of names and operators, or of arrays and objects, in each other.
  public static let depthLimit = DocumentLimits.depth

  /// Creates a selector from JSON.
  ///
  /// - Parameter value: An object with conditions.
  /// - Throws: ``ReplicationError`` with the code ``ReplicationError/Code/invalidSelector``, with
  ///   the path to the cause in its message.
  public init(_ value: Value) throws(ReplicationError) {
    try self.init(value, .backtracking)
  }

  init(_ value: Value, _ matching: PatternMatching) throws(ReplicationError) {
    self.value = value
    condition = try SelectorParser.condition(of: value, matching)
    guard matching == .linear, let size = condition?.patternSize, size > LinearPattern.sizeLimit
    else { return }
    throw ReplicationError(
      .invalidSelector,
      "the selector is invalid: its regular expressions have \(size) steps, and may have "
        + "\(LinearPattern.sizeLimit) together")
  }

  /// Returns whether a document matches.
  ///
  /// - Parameter members: The members of the document as CouchDB has them: the properties with
  ///   `_id`, `_rev`, `_attachments`, and `_deleted` in a deleted one.
  /// - Returns: Whether it matches.
  public func matches(_ members: Value.Object) -> Bool {
    var clock = SelectorClock(deadline: nil)
    return (try? matches(members, &clock)) ?? false
  }

  /// Returns whether a document matches, unless that takes too long.
  ///
  /// - Throws: ``SelectorFailure/timeIsOver``.
  private func matches(
    _ members: Value.Object, _ clock: inout SelectorClock
  ) throws(SelectorFailure) -> Bool {
    guard let condition else { return true }
    guard !condition.isEmptyCombination else { return false }
    do {
      return try condition.matches(.found(.object(members)), &clock)
    } catch .unevaluated {
      return false
    }
  }

  /// Returns whether a document or a tombstone matches.
  ///
  /// Decodes its properties; the content of attachments is not read.
  public func matches(_ document: Document) -> Bool {
    guard condition != nil else { return true }
    return matches(CouchDBDocument.members(of: document))
  }

  func matches(_ document: Document, _ clock: inout SelectorClock) throws(SelectorFailure) -> Bool {
    guard condition != nil else { return true }
    return try matches(CouchDBDocument.members(of: document), &clock)
  }
}

extension MangoSelector {
  /// What a server is sent, so that it chooses the documents that match here.
  ///
  /// In a query, CouchDB finds nothing with an empty combination; in a feed of changes, everything.
  var valueForChanges: Value {
    condition?.isEmptyCombination ?? false ? ["_id": ["$in": []]] : value
  }
}

extension MangoSelector: Hashable {
  /// Whether both have the same JSON.
  public static func == (a: MangoSelector, b: MangoSelector) -> Bool { a.value == b.value }

  /// Feeds the JSON into the hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension MangoSelector: CustomStringConvertible {
  /// The selector as JSON text.
  public var description: String { value.json }
}
