import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of live queries that search text.
struct FullTextLiveTests {
  private let database: Database
  private let milk = Query<Document>().filter { $0["text"].matches(.fullText("milk")) }

  init() throws {
    database = try Database.inMemory()
    try database.addIndex(DocumentIndex("text", fullText: "text"))
    for (id, text) in [("a", "milk and honey"), ("b", "tea"), ("c", "milk milk")] {
      try put(id, text)
    }
  }

  private func put(_ id: String, _ text: String) throws {
    try database.write { _ = try $0.replace(id, with: ["text": .string(text)]) }
  }

  private func ids(_ rows: LiveRows) -> [String] {
    (0..<rows.window.count).map { rows.row(at: $0).id }
  }

  @Test func `a search follows changes of documents without being executed again`() throws {
    var rows = LiveRows(milk.core, load: nil)
    #expect(try rows.advance(to: database.snapshot().view).insertions == [0, 1])
    #expect(ids(rows) == ["a", "c"])
    let executed = database.metrics.queries
    try put("b", "tea with milk")
    #expect(try rows.advance(to: database.snapshot().view).insertions == [1])
    try put("a", "honey")
    #expect(try rows.advance(to: database.snapshot().view).deletions == [0])
    try put("c", "more milk")
    #expect(try rows.advance(to: database.snapshot().view).updates.map(\.to) == [1])
    try database.write { _ = try $0.purge("b") }
    #expect(try rows.advance(to: database.snapshot().view).deletions == [0])
    try put("a", "honey only")
    #expect(try rows.advance(to: database.snapshot().view).isEmpty)
    #expect(ids(rows) == ["c"] && database.metrics.queries == executed)
  }

  @Test func `a ranked search is executed again if a change concerns it, and reports moves`() throws
  {
    var rows = LiveRows(milk.sort(.relevance).core) { LiveContent($0) }
    #expect(try rows.advance(to: database.snapshot().view).insertions == [0, 1])
    #expect(ids(rows) == ["c", "a"])
    var executed = database.metrics.queries
    try put("b", "more tea")
    #expect(try rows.advance(to: database.snapshot().view).isEmpty)
    #expect(database.metrics.queries == executed)
    // The document that changed moves to the end; the other one's rank is new, and it stays.
    try put("c", "milk for the long list of things that no one needs")
    let moved = try rows.advance(to: database.snapshot().view)
    #expect(ids(rows) == ["a", "c"] && moved.moves.count == 1 && moved.updates.map(\.to) == [1])
    #expect(moved.insertions.isEmpty && moved.deletions.isEmpty)
    #expect(database.metrics.queries == executed + 1)
    executed += 1
    try put("d", "milk")
    #expect(try rows.advance(to: database.snapshot().view).insertions == [0])
    #expect(ids(rows) == ["d", "a", "c"])
    try database.write { _ = try $0.delete("d") }
    #expect(try rows.advance(to: database.snapshot().view).deletions == [0])
    try database.write { _ = try $0.purge("c") }
    #expect(try rows.advance(to: database.snapshot().view).deletions == [1])
    #expect(ids(rows) == ["a"] && database.metrics.queries == executed + 3)
  }

  @Test func `a limited ranked search shows the best, with their content`() throws {
    for number in 0..<20 {
      try put("n\(number)", "milk" + String(repeating: " word", count: 3 + number))
    }
    let query = milk.sort(.relevance).limit(3).offset(1)
    var rows = LiveRows(query.core) { LiveContent($0) }
    var shown: [String] = []
    func step() throws {
      let difference = try rows.advance(to: database.snapshot().view)
      let new = ids(rows)
      #expect(try new == database.snapshot().ids(query) && new.count == 3)
      #expect(TableView.show(shown, new, difference) == new)
      shown = new
      for index in 0..<rows.window.count {
        let content = rows.row(at: index).content as? LiveContent<Document>
        #expect(content?.content.id == new[index])
      }
    }
    try step()
    try put("n19", "milk milk milk")
    try step()
    try database.write { _ = try $0.delete(shown[0]) }
    try step()
    try put("n18", "milk")
    try step()
    // A document that is not among the rows stops to match.
    try put("n12", "tea")
    _ = try rows.advance(to: database.snapshot().view)
    #expect(ids(rows).count == 3)
  }

  @Test func `an index with other options gives other results, and one that is removed an error`()
    throws
  {
    var rows = LiveRows(
      Query<Document>().filter { $0["text"].matches(.fullText("drinking")) }.core, load: nil)
    try put("d", "drinks")
    #expect(try rows.advance(to: database.snapshot().view).isEmpty)
    try database.removeIndex(named: "text")
    try database.addIndex(
      DocumentIndex("text", fullText: "text", options: FullTextOptions(stemming: .english)))
    try put("x", "no such word")
    #expect(try rows.advance(to: database.snapshot().view).insertions == [0])
    #expect(ids(rows) == ["d"])
    try database.removeIndex(named: "text")
    try put("x", "still none")
    let view = try database.snapshot().view
    #expect(code { _ = try rows.advance(to: view) } == .notFound)
    #expect(ids(rows) == ["d"])
    try database.addIndex(DocumentIndex("text", fullText: "text"))
    try put("x", "none at all")
    #expect(try rows.advance(to: database.snapshot().view).deletions == [0])
  }

  @Test func `live results of a ranked search come with their ranks`() async throws {
    var results = database.liveResults(of: milk.sort(.relevance).limit(2)).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.map(\.id) == ["c", "a"])
    try put("b", "milk milk milk")
    let second = try #require(try await results.next())
    #expect(second.count == 2 && second.contains { $0.id == "b" })
    #expect(second.changes.insertions.count == 1 && second.changes.deletions == [1])
  }
}
