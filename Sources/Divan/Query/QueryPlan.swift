/// How a query is answered in one version of the store.
struct QueryPlan: Sendable {
  /// Where candidates come from.
  var access: QueryAccess
  /// What is asked of each candidate's document; `.all` if the access has answered the filter.
  var rest: FilterExpression
  /// How results come into their order.
  var order: Order
  /// What is to be expected; nil where that made no difference, so that it is looked up only for those who ask.
  var estimate: QueryEstimate?

  enum Order: Sendable {
    /// By the bytes of the IDs: nothing is said to sort by.
    case byID
    /// The candidates are sorted.
    case sorted
    /// They come in the order of an index, and those that it has as equal are sorted.
    case fromIndex(IndexOrder)
  }

}

/// What is known of the answer to a query before it is given.
struct QueryEstimate: Sendable {
  /// About how many candidates must be looked at.
  var rows = 0.0
  /// About how many results there are.
  var results = 0.0
  /// What all of it takes, about.
  var effort = QueryEffort()

  /// Leaves out what the query's offset and limit leave out.
  mutating func limitResults(_ query: QueryCore) {
    let left = max(0, results - Double(query.offset))
    results = query.limit.map { min(Double($0), left) } ?? left
  }
}

/// Where the candidates of a query come from.
enum QueryAccess: Sendable {
  /// Every document, in the order of IDs.
  case everything
  /// The documents whose IDs are in a range.
  case ids(IDRange)
  /// The documents of some IDs.
  case named([String])
  case index(IndexAccess)
  /// Those of all of them, the smallest first.
  case intersection([IndexAccess])
  /// Those of any of them.
  case union([QueryAccess])
  case nothing
}

/// What is looked up in an index.
///
/// An object, since plans and runs hand it on.
final class IndexAccess: Sendable {
  let kept: KeptIndex
  /// The ranges, of which no two have an entry in common: for the first properties of the index one each.
  let ranges: IndexRanges
  /// Between which keys each of them lies, nil for one that has none; empty if that is not known yet.
  private let keys: [IndexKeyRange?]
  /// Whether all that is found has the same values, so that it comes in the order of IDs.
  let isOneValue: Bool
  /// Whether documents that have no entry, or null, belong behind all others.
  let isFollowedByNone: Bool

  init(_ match: IndexMatch, keys: [IndexKeyRange?] = [], isFollowedByNone: Bool = false) {
    kept = match.kept
    ranges = match.ranges
    isOneValue = match.isOneValue
    self.keys = keys
    self.isFollowedByNone = isFollowedByNone
  }

  /// Whether walking over the ranges meets each document once.
  var hasEachOnce: Bool { !kept.index.eachElement || ranges.count == 1 }

  /// The entries of one range.
  func entries(
    _ number: Int, in view: StoreView, descending: Bool = false
  ) throws(DatabaseError) -> IndexEntryCursor {
    try .over(
      kept, IndexRange(ranges[number]), try keyRange(number), in: view, descending: descending)
  }

  /// Between which keys one range lies; nil if it has none.
  func keyRange(_ number: Int) throws(DatabaseError) -> IndexKeyRange? {
    guard keys.isEmpty else { return keys[number] }
    return try IndexKeyRange(IndexRange(ranges[number]), of: kept)
  }
}

extension QueryAccess {
  /// Whether what is found is there; an ID that somebody names may be nobody's.
  var isKnownToExist: Bool {
    switch self {
    case .named: false
    case .union(let accesses): accesses.allSatisfy(\.isKnownToExist)
    case .everything, .ids, .index, .intersection, .nothing: true
    }
  }
}

// MARK: - In words

extension IndexRange: CustomStringConvertible {
  /// The range in words; what is asked of further properties behind a comma.
  public var description: String { parts.map(\.description).joined(separator: ", ") }
}

extension IndexRange.Kind: CustomStringConvertible {
  /// What is asked of one property, in words.
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

extension QueryAccess: CustomStringConvertible {
  var description: String {
    switch self {
    case .everything: "every document"
    case .ids: "the documents in a range of IDs"
    case .named(let ids): ids.count == 1 ? "one document by its ID" : "\(ids.count) documents by ID"
    case .index(let access): access.description
    case .intersection(let accesses):
      "what is in all of: " + accesses.map(\.description).joined(separator: "; ")
    case .union(let accesses):
      "what is in any of: " + accesses.map(\.description).joined(separator: "; ")
    case .nothing: "nothing, since no document can fulfil the filter"
    }
  }
}

extension IndexAccess: CustomStringConvertible {
  var description: String {
    var text = "index \(kept.index.name.debugDescription)"
    if ranges.count <= 3 {
      text += " " + ranges.map(words).joined(separator: " or ")
    } else {
      text += " for \(ranges.count) values"
    }
    if isFollowedByNone { text += ", then documents without the property" }
    return text
  }

  /// One range in words; of an index of several properties with their names.
  private func words(_ range: [IndexRange.Kind]) -> String {
    if range.isEmpty { return "everything" }
    guard kept.index.paths.count > 1 else { return range[0].description }
    return zip(kept.index.paths, range)
      .map { path, part in path.joined(separator: ".") + " \(part)" }.joined(separator: ", ")
  }
}
