import Testing

@testable import Divan

/// Tests of the equality of queries.
struct QueryEqualityTests {
  private class Note: Model {
    @Persisted var text: String
    @Persisted var count: Int
    @Persisted var tags: [String]
    @Persisted var other: Note?
  }

  /// Different queries, each built again with each call.
  private func queries() -> [Query<Note>] {
    let all = Query<Note>()
    let filters: [(QuerySubject<Note>) -> Filter] = [
      { $0.count == 1 }, { $0.count == 2 }, { $0.count < 1 }, { $0.count <= 1 }, { $0.count > 1 },
      { !($0.count == 1) }, { $0.count == 1 && $0.text == "a" },
      { $0.count == 1 || $0.text == "a" },
      { $0.text == "a" }, { $0.text == "b" }, { $0.text == "\u{e9}" }, { $0.text == "e\u{301}" },
      { $0.text.hasPrefix("a") }, { $0.text.hasSuffix("a") }, { $0.text.containsText("a") },
      { $0.text.containsText("a", ignoring: .letterCase) }, { $0.text.like("a*") },
      { $0.tags.contains("a") }, { $0.tags.contains { $0.hasPrefix("a") } },
      { $0.tags.allSatisfy { $0.hasPrefix("a") } }, { $0.tags.count == 1 },
      { $0.count.isIn([1, 2]) }, { $0.count.isIn([2, 1]) }, { $0.other == nil },
      { $0.other.text == "a" },
      { $0.text.like(String(repeating: "*a", count: 5000)) },
    ]
    return [
      all, all.limit(1), all.limit(2), all.offset(1), all.offset(1).limit(1),
      all.sorted(by: \.count), all.sorted(by: \.count, .descending), all.sorted(by: \.text),
      all.sorted(by: \.text, texts: .bytes), all.sorted(by: \.count).sorted(by: \.text),
      all.sorted(by: \.text).sorted(by: \.count), all.filter(.none),
    ] + filters.map { all.filter($0) }
  }

  @Test func `queries are equal exactly if they were built in the same way`() {
    for (row, a) in queries().enumerated() {
      for (column, b) in queries().enumerated() {
        #expect((a == b) == (row == column), "\(a) and \(b)")
      }
    }
  }

  @Test func `queries of documents with different types are not equal`() {
    let text = Query<Document>().filter { $0["type"] == "Note" }
    #expect(text == Query<Document>().filter { $0["type"] == "Note" })
    #expect(text != Query<Document>().filter { $0["type"] == 1 })
    #expect(text != Query<Document>().filter { $0["Type"] == "Note" })
  }
}
