/// The plan for answering a query in one version of the store.
struct QueryPlan {
  /// The source of candidates.
  var access: AccessPath
  /// The residual predicate on each candidate's document; `.all` if the access answers the filter.
  var residual: FilterExpression
  /// How results are ordered.
  var order: Order
  /// The estimate; nil if the plan did not need it, so that it is made only on request.
  var estimate: QueryEstimate?

  enum Order: Sendable {
    /// By the bytes of the IDs: there is no sort key.
    case byID
    /// The candidates are sorted.
    case sorted
    /// They come in the order of an index, and those that are equal in the index are sorted.
    case fromIndex(IndexOrder)
    /// They come in the order of a search for text, the best match first.
    case byRelevance
  }
}

/// The estimates for a query before it is executed.
struct QueryEstimate: Sendable {
  /// The estimated number of candidates to examine.
  var rows = 0.0
  /// The estimated number of results.
  var results = 0.0
  /// The estimated cost.
  var cost = QueryCost()

  /// Applies the query's offset and limit.
  mutating func limitResults(_ query: QueryCore) {
    let left = max(0, results - Double(query.offset))
    results = query.limit.map { min(Double($0), left) } ?? left
  }
}

/// The access path of a query: the source of its candidates.
enum AccessPath {
  /// Every document, in the order of IDs.
  case everything
  /// The documents whose IDs are in a range.
  case ids(IDRange)
  /// The documents with certain IDs.
  case named([String])
  case index(IndexAccess)
  /// The documents whose text matches.
  case fullText(FullTextAccess)
  /// The documents that all of some searches in indexes find, the smallest first.
  case intersection([AccessPath])
  /// The documents that any of them finds.
  case union([AccessPath])
  case nothing
}

/// A look-up in an index.
///
/// It is an object, because plans and executions pass it on.
final class IndexAccess: Sendable {
  let definition: IndexDefinition
  /// The ranges, no two of which share an entry; each has a condition on each first property.
  let ranges: IndexRanges
  /// The key range of each of them, nil for an empty one; an empty array if not known yet.
  private let keys: [IndexKeyRange?]
  /// Whether all entries found have the same values, so that they are in the order of IDs.
  let isOneValue: Bool
  /// Whether documents without an entry, or with null, come after all others.
  let endsWithMissing: Bool

  init(_ match: IndexMatch, keys: [IndexKeyRange?] = [], endsWithMissing: Bool = false) {
    definition = match.definition
    ranges = match.ranges
    isOneValue = match.isOneValue
    self.keys = keys
    self.endsWithMissing = endsWithMissing
  }

  /// Whether a scan of the ranges yields each document once.
  var yieldsEachOnce: Bool { !definition.index.eachElement || ranges.count == 1 }

  /// Returns the entries of one range.
  func entries(
    _ number: Int, in view: ReadView, descending: Bool = false
  ) throws(DatabaseError) -> IndexEntryCursor {
    try .over(
      definition, IndexRange(ranges[number]), try keyRange(number), in: view, descending: descending
    )
  }

  /// Returns the key range of one range; nil if it is empty.
  func keyRange(_ number: Int) throws(DatabaseError) -> IndexKeyRange? {
    guard keys.isEmpty else { return keys[number] }
    return try IndexKeyRange(IndexRange(ranges[number]), of: definition)
  }
}

extension AccessPath {
  /// Whether candidates are known to exist; a document that is named by its ID may not.
  var isKnownToExist: Bool {
    switch self {
    case .named: false
    case .union(let accesses): accesses.allSatisfy(\.isKnownToExist)
    case .everything, .ids, .index, .fullText, .intersection, .nothing: true
    }
  }
}

// MARK: - Description

extension IndexRange: CustomStringConvertible {
  /// The range as text; conditions on further properties follow a comma.
  public var description: String { parts.map(\.description).joined(separator: ", ") }
}

extension IndexRange.Kind: CustomStringConvertible {
  /// The condition on one property, as text.
  var description: String {
    switch self {
    case .all: return "everything"
    case .equal(let value): return "= \(value.json)"
    case .prefix(let text): return "begins with \(Value.string(text).json)"
    case .between(let lower, let upper):
      let ends = [
        lower.map { ($0.isIncluded ? "≥ " : "> ") + $0.value.json },
        upper.map { ($0.isIncluded ? "≤ " : "< ") + $0.value.json },
      ]
      return ends.compactMap { $0 }.joined(separator: " and ")
    }
  }
}

extension AccessPath: CustomStringConvertible {
  var description: String {
    switch self {
    case .everything: "every document"
    case .ids: "the documents in a range of IDs"
    case .named(let ids): ids.count == 1 ? "one document by its ID" : "\(ids.count) documents by ID"
    case .index(let access): access.description
    case .fullText(let access): access.description
    case .intersection(let accesses):
      "the intersection of: " + accesses.map(\.description).joined(separator: "; ")
    case .union(let accesses):
      "the union of: " + accesses.map(\.description).joined(separator: "; ")
    case .nothing: "nothing, because no document can match the filter"
    }
  }
}

extension IndexAccess: CustomStringConvertible {
  var description: String { "index " + nameAndRanges }

  /// The name of the index, and its ranges as text.
  var nameAndRanges: String {
    var text = definition.index.name.debugDescription
    if ranges.count <= 3 {
      text += " " + ranges.map(words).joined(separator: " or ")
    } else {
      text += " for \(ranges.count) values"
    }
    if endsWithMissing { text += ", then documents without the property" }
    return text
  }

  /// Returns one range as text, with the names of properties if the index has several.
  private func words(_ range: [IndexRange.Kind]) -> String {
    if range.isEmpty { return "everything" }
    guard definition.index.paths.count > 1 else { return range[0].description }
    return zip(definition.index.paths, range)
      .map { path, part in path.joined(separator: ".") + " \(part)" }.joined(separator: ", ")
  }
}
