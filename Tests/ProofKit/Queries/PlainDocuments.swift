import Divan
import DivanTesting

/// Documents of three properties, as plain values.
struct PlainDocuments {
  struct Properties: Equatable {
    var number: Int?
    var text: String?
    var tags: [String] = []

    var object: Value.Object {
      var object: Value.Object = [:]
      if let number { object["n"] = .int(Int64(number)) }
      if let text { object["t"] = .string(text) }
      if !tags.isEmpty { object["tags"] = .array(tags.map(Value.string)) }
      return object
    }
  }

  static let tags = ["red", "green", "blue", "dim"]

  /// The documents by their IDs.
  var all: [String: Properties] = [:]

  /// Returns random properties; few different values, so that many documents match.
  static func properties(_ random: inout SeededGenerator) -> Properties {
    var properties = Properties()
    if random.below(8) > 0 { properties.number = random.below(24) }
    if random.below(8) > 0 { properties.text = text(&random) }
    properties.tags = tags.filter { _ in random.below(3) == 0 }
    return properties
  }

  static func text(_ random: inout SeededGenerator) -> String {
    ["", "a", "ab", "abc", "b", "ba", "z"][random.below(7)]
  }

  /// Returns the IDs of a query's results, in its order.
  func ids(_ query: PlainQuery) -> [String] {
    let found = all.filter { query.filter?.accepts($0.key, $0.value) ?? true }
    let sorted = found.sorted { a, b in
      for sort in query.sorts {
        let order = sort.order(a.value, b.value)
        if order != 0 { return order < 0 }
      }
      return Array(a.key.utf8).lexicographicallyPrecedes(Array(b.key.utf8))
    }
    return sorted.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.key)
  }
}

/// A query that can be put to Divan, and to plain documents.
///
/// It uses the public API only, unlike the queries that `QueryAgreementTests` make.
struct PlainQuery {
  /// A property to sort by; documents without it come first.
  enum Sort {
    case number(isDescending: Bool)
    case text(isDescending: Bool)

    /// Returns a negative number, zero or a positive number, as the first comes before the second.
    func order(_ a: PlainDocuments.Properties, _ b: PlainDocuments.Properties) -> Int {
      switch self {
      case .number(let isDescending):
        let order = (a.number ?? -1) - (b.number ?? -1)
        return isDescending ? -order : order
      case .text(let isDescending):
        let (x, y) = (a.text.map { "t" + $0 } ?? "", b.text.map { "t" + $0 } ?? "")
        let order = x == y ? 0 : x < y ? -1 : 1
        return isDescending ? -order : order
      }
    }
  }

  /// The condition; nil if all documents meet it.
  var filter: PlainFilter?
  var sorts: [Sort] = []
  var limit: Int?
  var offset = 0

  init(_ random: inout SeededGenerator) {
    filter = random.below(16) == 0 ? nil : PlainFilter(&random, depth: 0)
    for _ in 0..<[0, 1, 1, 2][random.below(4)] {
      let isDescending = random.below(2) == 0
      sorts.append(
        random.below(2) == 0
          ? .number(isDescending: isDescending) : .text(isDescending: isDescending))
    }
    if random.below(2) == 0 { limit = random.below(12) }
    if random.below(4) == 0 { offset = random.below(6) }
  }

  /// The same query for Divan.
  var query: Query<Document> {
    var query = Query<Document>()
    if let filter { query = query.filter { filter.filter(of: $0) } }
    for sort in sorts {
      switch sort {
      case .number(let isDescending):
        query = query.sorted(by: "n", isDescending ? .descending : .ascending)
      case .text(let isDescending):
        query = query.sorted(by: "t", isDescending ? .descending : .ascending, texts: .bytes)
      }
    }
    if let limit { query = query.limit(limit) }
    return offset > 0 ? query.offset(offset) : query
  }
}

/// A condition that can be put to Divan, and to plain documents.
indirect enum PlainFilter {
  case isBelow(Int)
  case isAtLeast(Int)
  case isOneOf([Int])
  case hasNoNumber
  case equals(String)
  case hasPrefix(String)
  case hasTag(String)
  case hasOneTag(of: [String])
  case hasID([String])
  case not(PlainFilter)
  case and(PlainFilter, PlainFilter)
  case or(PlainFilter, PlainFilter)

  init(_ random: inout SeededGenerator, depth: Int) {
    switch random.below(depth > 2 ? 10 : 16) {
    case 0: self = .isBelow(random.below(26))
    case 1: self = .isAtLeast(random.below(26))
    case 2: self = .isOneOf((0..<(1 + random.below(3))).map { _ in random.below(24) })
    case 3: self = .hasNoNumber
    case 4: self = .equals(PlainDocuments.text(&random))
    case 5: self = .hasPrefix(PlainDocuments.text(&random))
    case 6, 7: self = .hasTag(PlainDocuments.tags[random.below(PlainDocuments.tags.count)])
    case 8:
      self = .hasID((0..<(1 + random.below(3))).map { _ in QueryTrial.id(random.below(90)) })
    case 9:
      self = .hasOneTag(of: PlainDocuments.tags.filter { _ in random.below(2) == 0 })
    case 10: self = .not(PlainFilter(&random, depth: depth + 1))
    case 11...13:
      self = .and(
        PlainFilter(&random, depth: depth + 1), PlainFilter(&random, depth: depth + 1))
    default:
      self = .or(PlainFilter(&random, depth: depth + 1), PlainFilter(&random, depth: depth + 1))
    }
  }

  func accepts(_ id: String, _ properties: PlainDocuments.Properties) -> Bool {
    switch self {
    case .isBelow(let number): properties.number.map { $0 < number } ?? false
    case .isAtLeast(let number): properties.number.map { $0 >= number } ?? false
    case .isOneOf(let numbers): properties.number.map(numbers.contains) ?? false
    case .hasNoNumber: properties.number == nil
    case .equals(let text): properties.text == text
    case .hasPrefix(let text): properties.text?.hasPrefix(text) ?? false
    case .hasTag(let tag): properties.tags.contains(tag)
    case .hasOneTag(let tags): properties.tags.contains(where: tags.contains)
    case .hasID(let ids): ids.contains(id)
    case .not(let part): !part.accepts(id, properties)
    case .and(let a, let b): a.accepts(id, properties) && b.accepts(id, properties)
    case .or(let a, let b): a.accepts(id, properties) || b.accepts(id, properties)
    }
  }

  func filter(of document: QuerySubject<Document>) -> Filter {
    switch self {
    case .isBelow(let number): document["n"] < .int(Int64(number))
    case .isAtLeast(let number): document["n"] >= .int(Int64(number))
    case .isOneOf(let numbers): document["n"].isIn(numbers.map { Value.int(Int64($0)) })
    case .hasNoNumber: document["n"].isMissing
    case .equals(let text): document["t"] == .string(text)
    case .hasPrefix(let text): document["t"].hasPrefix(text)
    case .hasTag(let tag): document["tags"].contains(.string(tag))
    case .hasOneTag(let tags):
      document["tags"].contains { $0.isIn(tags.map(Value.string)) }
    case .hasID(let ids): document.id.isIn(ids)
    case .not(let part): !part.filter(of: document)
    case .and(let a, let b): a.filter(of: document) && b.filter(of: document)
    case .or(let a, let b): a.filter(of: document) || b.filter(of: document)
    }
  }
}
