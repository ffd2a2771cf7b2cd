/// How a query is answered in one version of the store.
struct QueryPlan: Sendable {
  /// Where candidates come from.
  var access: QueryAccess
  /// What is asked of each candidate's document; `.all` if the access has answered the filter.
  var rest: FilterExpression
  /// How results come into their order.
  var order: Order
  /// About how many candidates there are.
  var estimate: Int

  enum Order: Sendable {
    /// By the bytes of the IDs: nothing is said to sort by.
    case byID
    /// The candidates are sorted.
    case sorted
    /// They come in the order of the first thing to sort by, and those of one value are sorted by the others.
    case fromIndex
  }
}

/// Where the candidates of a query come from.
indirect enum QueryAccess: Sendable {
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
struct IndexAccess: Sendable {
  let kept: KeptIndex
  /// The ranges, of which no two have a value in common.
  let ranges: [IndexRange]
  /// About how many entries they have.
  let estimate: Int
  /// Whether documents that have no entry, or null, belong behind all others.
  var isFollowedByNone = false

  /// Whether all that is found has one value.
  var isOneValue: Bool { ranges.count == 1 && ranges[0].isOneValue }
}

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
      text += " " + ranges.map(\.description).joined(separator: " or ")
    } else {
      text += " for \(ranges.count) values"
    }
    if isFollowedByNone { text += ", then documents without the property" }
    return text
  }
}
