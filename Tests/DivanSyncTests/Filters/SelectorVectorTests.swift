import Divan
import DivanSync
import Foundation
import Testing

/// Tests with queries that CouchDB 3.4 answered.
struct SelectorVectorTests {
  /// What is found here, where that differs.
  private static let differences = [
    // Objects have no order of their properties here.
    "$eq of an object with other key order": ["p01"]
  ]

  @Test func `selectors find what CouchDB finds`() throws {
    guard let file = try Vectors.read("mango-queries.json") else { return }
    let vectors = try Value(json: file)
    // A query returns no design documents.
    let documents = (vectors["documents"]?.arrayValue ?? []).compactMap(\.objectValue)
      .filter { $0["_id"]?.stringValue?.hasPrefix("_design/") == false }
    var count = 0
    for query in vectors["cases"]?.arrayValue ?? [] where query["status"] == nil {
      let note = query["note"]?.stringValue ?? ""
      let selector = try MangoSelector(try #require(query["query"]?["selector"]))
      let found = documents.filter { document in
        var members = document
        members["_rev"] = "1-967a00dff5e02add41819138abb3284d"
        return selector.matches(members)
      }.compactMap { $0["_id"]?.stringValue }
      try check(found, query, note)
      count += 1
    }
    #expect(count > 100)
  }

  private func check(_ found: [String], _ query: Value, _ note: String) throws {
    let skip = query["query"]?["skip"]?.intValue ?? 0
    let limit = query["query"]?["limit"]?.intValue ?? .max
    guard let ids = query["ids"]?.arrayValue?.compactMap(\.stringValue) else {
      // Some queries return parts of documents.
      let documents = try #require(query["docs"]?.arrayValue)
      #expect(found.count == documents.count, "\(note)")
      return
    }
    let expected = Self.differences[note] ?? ids
    if query["query"]?["sort"] == nil {
      #expect(Array(found.dropFirst(skip).prefix(limit)) == expected, "\(note)")
    } else {
      #expect(Set(expected).isSubset(of: found), "\(note)")
      #expect(expected.count == min(limit, found.count - skip), "\(note)")
    }
  }

  @Test func `selectors that CouchDB refuses are refused`() throws {
    guard let file = try Vectors.read("mango-queries.json") else { return }
    var count = 0
    for query in try Value(json: file)["invalid"]?.arrayValue ?? [] {
      // Other queries have an invalid limit, sort or field.
      guard let body = query["body"]?.objectValue, body.count == 1, let selector = body["selector"]
      else { continue }
      count += 1
      guard query["error"] != .null else {
        _ = try MangoSelector(selector)
        continue
      }
      let error = #expect(throws: ReplicationError.self, "\(selector.json)") {
        try MangoSelector(selector)
      }
      #expect(error?.code == .invalidSelector)
    }
    #expect(count > 30)
  }

  // MARK: Order

  private struct Order: Decodable {
    struct List: Decodable {
      let name: String
      let groups: [[Value]]
    }
    struct Pair: Decodable {
      let name: String
      let a: Value
      let b: Value
      let couchdb: Int
    }

    let lists: [List]
    let pairs: [Pair]
    let raw: [Value]
    let documentIDs: [String]

    enum CodingKeys: String, CodingKey {
      case lists, pairs, raw
      case documentIDs = "document_ids"
    }
  }

  /// Returns the order of two values, as the operators of a property have it.
  private func order(_ a: Value, _ b: Value, _ name: String = "a") throws -> Int? {
    let matches = try ["$lt", "$eq", "$gt"].map { comparison in
      try MangoSelector([name: [comparison: b]] as Value).matches([name: a])
    }
    return switch matches {
    case [true, false, false]: -1
    case [false, true, false]: 0
    case [false, false, true]: 1
    default: nil
    }
  }

  @Test func `values compare in CouchDB's order`() throws {
    guard let file = try Vectors.read("collation-order.json") else { return }
    let vectors = try JSONDecoder().decode(Order.self, from: file)
    var count = 0
    for list in vectors.lists {
      // Other lists have numbers and texts that are ordered otherwise here.
      let isSame = [
        "couchdb-specification", "ascii-printable", "zero-width-and-canonical-equivalence",
        "nesting", "deep-nesting",
      ].contains(list.name)
      guard isSame else { continue }
      // CouchDB compares objects in the order in which their properties were written.
      // Marks in another order are the same text in Unicode, and not in CouchDB.
      let groups = list.groups.filter {
        $0[0].objectValue?.count ?? 0 <= 1 && $0[0] != "s\u{307}\u{323}"
      }
      for (group, next) in zip(groups, groups.dropFirst()) {
        for value in group {
          count += 1
          #expect(try order(value, group[0]) == 0, "\(list.name): \(value.json)")
          #expect(try order(value, next[0]) == -1, "\(value.json) < \(next[0].json)")
          #expect(try order(next[0], value) == 1, "\(next[0].json) > \(value.json)")
        }
      }
    }
    #expect(count > 150)
    for pair in vectors.pairs where pair.name != "object key order" {
      guard pair.a.objectValue?.count ?? 0 <= 1 else { continue }
      #expect(try order(pair.a, pair.b) == pair.couchdb, "\(pair.name)")
    }
  }

  @Test func `identifiers compare in the order of their bytes`() throws {
    guard let file = try Vectors.read("collation-order.json") else { return }
    let vectors = try JSONDecoder().decode(Order.self, from: file)
    let raw = vectors.raw.filter { $0.objectValue?.count ?? 0 <= 1 }
    for values in [raw, vectors.documentIDs.map { .string($0) }] {
      #expect(values.count > 20)
      for (index, value) in values.enumerated() {
        for (other, second) in values.enumerated() {
          let expected = (index - other).signum()
          #expect(try order(value, second, "_id") == expected, "\(value.json) \(second.json)")
        }
      }
    }
  }
}
