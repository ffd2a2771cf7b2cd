import DivanTesting
import Testing

@testable import Divan

/// Tests of queries that search text: forms of filters, what they throw, and what runs them.
struct FullTextQueryTests {
  private final class Note: Model {
    @Persisted var title = ""
    @Persisted var text: String?
    @Persisted var tags: [String] = []
    @Persisted var isDone = false
  }

  private struct Memo: DocumentCodable {
    @DocumentID var id: String? = nil
    var title: String
    var lines: [String]
    var place: Place
    struct Place: Codable { var city: String }
  }

  private let database: Database
  private let documents = Query<Document>()

  init() throws {
    database = try Database.inMemory()
    try database.addIndex(
      DocumentIndex(
        "text", fullText: "title", "body", "tags", options: FullTextOptions(weights: ["title": 3])))
    try put("a", ["title": "Urgent", "body": "Buy fresh milk and honey", "n": 3])
    try put("b", ["title": "Milk", "body": "Not urgent: order the milk", "n": 1, "done": true])
    try put("c", ["title": "Garden", "body": "Milkweed for butterflies", "n": 2])
    try put("d", ["title": "Shopping", "tags": ["milk powder", "urgent errands"], "n": 4])
    try put("e", ["title": "Nothing of it", "n": 5])
    try put("f", ["n": 6])
  }

  private func put(_ id: String, _ properties: Value.Object) throws {
    try database.write { _ = try $0.replace(id, with: properties) }
  }

  private func ids(_ query: Query<Document>) throws -> [String] {
    try database.snapshot().ids(query)
  }

  private func error(_ query: Query<Document>) throws -> DatabaseError? {
    let snapshot = try database.snapshot()
    return #expect(throws: DatabaseError.self) { try snapshot.ids(query) }
  }

  // MARK: Forms

  @Test func `a condition on a property searches its words, in the order of IDs`() throws {
    #expect(try ids(documents.filter { $0["body"].matches(.fullText("milk")) }) == ["a", "b"])
    #expect(
      try ids(documents.filter { $0["body"].matches(.fullText("milk*")) }) == ["a", "b", "c"])
    #expect(try ids(documents.filter { $0["body"].matches(.fullText("urgent MILK")) }) == ["b"])
    #expect(try ids(documents.filter { $0["body"].matches(.fullText("\"fresh milk\"")) }) == ["a"])
    #expect(try ids(documents.filter { $0["title"].matches(.fullText("fresh")) }) == [])
    // A query that has no word matches nothing.
    for text in ["", " ", "*", "()"] {
      #expect(try ids(documents.filter { $0["body"].matches(.fullText(text)) }) == [])
    }
  }

  @Test func `a condition on an index searches all of its properties together`() throws {
    #expect(
      try ids(documents.filter(.matches(.fullText("urgent milk"), index: "text"))) == [
        "a", "b", "d",
      ])
    #expect(
      try ids(documents.filter(.matches(.fullText("title:milk OR tags:milk"), index: "text"))) == [
        "b", "d",
      ])
    let late = documents.filter { $0["n"] > 2 && .matches(.fullText("milk*"), index: "text") }
    #expect(try ids(late) == ["a", "d"])
  }

  @Test func `the elements of an array are searched together, and no phrase joins them`() throws {
    #expect(
      try ids(documents.filter { $0["tags"].matches(.fullText("milk urgent")) }) == ["d"])
    #expect(
      try ids(documents.filter { $0["tags"].matches(.fullText("\"powder urgent\"")) }) == [])
  }

  @Test func `the elements of an array are 100 words apart for NEAR`() throws {
    func near(_ distance: Int) throws -> [String] {
      let words = "NEAR(powder urgent, \(distance))"
      return try ids(documents.filter { $0["tags"].matches(.fullText(words)) })
    }
    #expect(try near(99) == [])
    #expect(try near(100) == ["d"])
  }

  @Test func `filters join searches with other conditions, alternatives and negations`() throws {
    let milk = documents.filter { $0["body"].matches(.fullText("milk")) }
    #expect(try ids(milk.filter { $0["done"] == true }) == ["b"])
    #expect(try ids(milk.sorted(by: "n")) == ["b", "a"])
    #expect(try ids(milk.sorted(by: "n").limit(1).offset(1)) == ["a"])
    #expect(try ids(milk.limit(1)) == ["a"])
    let either = documents.filter { $0["body"].matches(.fullText("milk")) || $0["n"] == 6 }
    #expect(try ids(either) == ["a", "b", "f"])
    let two = documents.filter {
      $0["title"].matches(.fullText("urgent")) || $0["tags"].matches(.fullText("urgent"))
    }
    #expect(try ids(two) == ["a", "d"])
    let without = documents.filter { !$0["body"].matches(.fullText("milk*")) }
    #expect(try ids(without) == ["d", "e", "f"])
    let both = documents.filter {
      $0["body"].matches(.fullText("milk")) && !$0["body"].matches(.fullText("honey"))
    }
    #expect(try ids(both) == ["b"])
  }

  @Test func `models are found by their properties, and only those of the class`() throws {
    try database.addIndex(DocumentIndex("notes", fullText: "title", "text", "tags"))
    let context = database.makeContext()
    for (title, text) in [("Milk", nil), ("Garden", "milk for cats"), ("Tea", "no m")] {
      let note = Note()
      (note.title, note.text, note.tags) = (title, text, ["at home", title])
      try context.insert(note)
    }
    try context.save()
    let query = Query<Note>().filter(.matches(.fullText("milk"), index: "notes"))
    #expect(try Set(context.find(query).map(\.title)) == ["Milk", "Garden"])
    let inText = Query<Note>().filter { $0.text.matches(.fullText("milk")) && !$0.isDone }
    #expect(try context.find(inText).map(\.title) == ["Garden"])
    let tagged = Query<Note>().filter { $0.tags.matches(.fullText("\"at home\" tea")) }
    #expect(try context.find(tagged).map(\.title) == ["Tea"])
    let ranked = query.sort(.relevance)
    #expect(try context.find(ranked).map(\.title) == ["Milk", "Garden"])
    #expect(try context.count(ranked) == 2)
  }

  @Test func `values of a type are found by their properties, also within structures`() throws {
    try database.addIndex(DocumentIndex("memos", fullText: "lines", "place.city"))
    try database.write { transaction in
      for (id, city) in [("m1", "Old Berlin"), ("m2", "New York")] {
        let memo = Memo(title: "x", lines: ["one two", "three"], place: .init(city: city))
        try transaction.put(memo, id: id)
      }
    }
    let snapshot = try database.snapshot()
    let inCity = Query<Memo>().filter { $0.place.city.matches(.fullText("berlin")) }
    #expect(try snapshot.find(inCity).map(\.id) == ["m1"])
    let inLines = Query<Memo>().filter { $0.lines.matches(.fullText("two three")) }
    #expect(try snapshot.ids(inLines) == ["m1", "m2"])
  }

  // MARK: Relevance

  @Test func `the most relevant documents come first, and a limit stops there`() throws {
    let milk = documents.filter(.matches(.fullText("milk"), index: "text")).sort(.relevance)
    let all = try ids(milk)
    #expect(all.first == "b" && Set(all) == ["a", "b", "d"])
    #expect(try ids(milk.limit(2)) == Array(all.prefix(2)))
    #expect(try ids(milk.offset(1)) == Array(all.dropFirst()))
    #expect(try ids(milk.limit(1).offset(1)) == [all[1]])
    #expect(try ids(milk.limit(0)) == [])
    #expect(try ids(milk.filter { $0["done"] != true }) == all.filter { $0 != "b" })
    #expect(try database.snapshot().first(milk)?.id == "b")
    let words = milk.filter { !$0["body"].matches(.fullText("honey")) }
    #expect(try ids(words) == all.filter { $0 != "a" })
  }

  @Test func `an order by relevance needs one search that all results meet, and no other key`()
    throws
  {
    let milk = documents.filter { $0["body"].matches(.fullText("milk")) }
    let others = [
      documents, documents.filter { $0["n"] == 1 }, milk.sorted(by: "n"),
      milk.filter { $0["title"].matches(.fullText("milk")) },
      documents.filter { !$0["body"].matches(.fullText("milk")) },
      documents.filter { $0["body"].matches(.fullText("milk")) || $0["n"] == 1 },
    ]
    for query in others.map({ $0.sort(.relevance) }) {
      let found = try error(query)
      #expect(found?.code == .invalidQuery && found?.hint != nil, "\(query)")
      let snapshot = try database.snapshot()
      #expect(code { _ = try snapshot.count(query) } == .invalidQuery)
      #expect(code { _ = try snapshot.explain(query) } == .invalidQuery)
    }
  }

  @Test func `an order by relevance belongs to a query as other orders do`() {
    let milk = documents.filter { $0["body"].matches(.fullText("milk")) }
    #expect(milk.sort(.relevance) == milk.sort(.relevance))
    #expect(milk.sort(.relevance) != milk)
    #expect(milk != documents.filter { $0["body"].matches(.fullText("Milk")) })
    #expect(milk != documents.filter { $0["title"].matches(.fullText("milk")) })
    #expect(milk != documents.filter { $0["body"].matches(.fullText("milk"), index: "text") })
    #expect(milk.sort(.relevance).description == "body matches \"milk\", by relevance")
    let index = documents.filter(.matches(.fullText("a \"b\""), index: "x")).limit(2)
    #expect(index.description == #"text matches "a \"b\"" in index "x", at most 2"#)
  }

  @Test func `a function of the figures of a match can rank the results`() throws {
    let query = documents.filter(.matches(.fullText("milk urgent"), index: "text"))
    let relevant = try ids(query.sort(.relevance))
    #expect(Set(relevant) == ["a", "b", "d"])
    #expect(try ids(query.sort(.score { $0.relevance })) == relevant)
    #expect(try ids(query.sort(.score { -$0.relevance })) == relevant.reversed())
    // Equal scores leave the order in which the index first had the documents.
    #expect(try ids(query.sort(.score { _ in 1 })) == ["a", "b", "d"])
    let byTags = FullTextOrder.score { Double($0.count(in: "tags")) }
    #expect(try ids(query.sort(byTags)) == ["d", "a", "b"])
    #expect(try ids(query.sort(byTags).limit(1)) == ["d"])
    #expect(try ids(query.sort(byTags).offset(2)) == ["b"])
    let shortest = FullTextOrder.score { -Double($0.wordCount(in: "body")) }
    #expect(try ids(query.sort(shortest)) == ["d", "a", "b"])
    // The query has two parts. What is not a number comes last.
    let ofParts = FullTextOrder.score { match in
      guard match.partCount == 2, match.documentCount == 5, match.documentCount(ofPart: 0) == 3,
        match.averageWordCount(in: "title") == 7.0 / 5
      else { return 100 }
      let count = match.count(ofPart: 0, in: "body") + match.count(ofPart: 0, in: "nothing")
      return count == 0 ? .nan : Double(count)
    }
    #expect(try ids(query.sort(ofParts)) == ["a", "b", "d"])
  }

  @Test func `an order by a function equals itself only`() throws {
    let milk = documents.filter { $0["body"].matches(.fullText("milk")) }
    let order = FullTextOrder.score { $0.relevance }
    #expect(order == order && order != .relevance && order != .score { $0.relevance })
    #expect(Set([order, order, .relevance]).count == 2)
    #expect(milk.sort(order) == milk.sort(order))
    #expect(milk.sort(order) != milk.sort(.relevance))
    #expect(milk.sort(order).description == "body matches \"milk\", by a score")
    #expect(try database.snapshot().explain(milk.sort(order)).order == "by a score")
  }

  // MARK: Errors

  @Test func `a search of a property that no index has says how to create one`() throws {
    let found = try error(documents.filter { $0["summary"].matches(.fullText("milk")) })
    #expect(found?.code == .notFound && "\(found as Any)".contains("summary"))
    #expect(found?.hint?.contains("addIndex") == true)
    let named = try error(documents.filter(.matches(.fullText("milk"), index: "texts")))
    #expect(named?.code == .notFound)
    // Also where another part of the filter could decide, and where no document can match.
    for filter in [Filter.none, .all] {
      let query = documents.filter { $0["summary"].matches(.fullText("milk")) && filter }
      #expect(try error(query)?.code == .notFound)
    }
  }

  @Test func `a search of something that is no property of a document is refused`() throws {
    let queries = [
      documents.filter { $0["tags"].contains { $0.matches(.fullText("milk")) } },
      documents.filter { document in
        document["tags"].contains { _ in document["body"].matches(.fullText("milk")) }
      },
      documents.filter {
        $0["tags"].allSatisfy { _ in .matches(.fullText("milk"), index: "text") }
      },
      documents.filter { $0["tags"][0].matches(.fullText("milk")) },
      documents.filter { $0["other"].reference["body"].matches(.fullText("milk")) },
    ]
    for query in queries {
      let found = try error(query)
      #expect(found?.code == .invalidQuery && found?.hint != nil, "\(query)")
    }
  }

  @Test func `a strict query may name only properties of the index`() throws {
    let strict = try FullTextQuery(parsing: "summary:milk")
    #expect(
      try error(documents.filter(.matches(strict, index: "text")))?.code == .invalidQuery)
    // In the language for search fields, it is a word.
    #expect(try ids(documents.filter(.matches(.fullText("summary:milk"), index: "text"))) == [])
  }

  @Test func `a full-text index has no values to read in their order`() throws {
    let snapshot = try database.snapshot()
    #expect(code { _ = try snapshot.documents(by: "text") } == .invalidQuery)
    #expect(code { _ = try snapshot.ids(by: "text") } == .invalidQuery)
    #expect(code { _ = try snapshot.count(by: "text") } == .invalidQuery)
    try database.write { transaction in
      #expect(code { _ = try transaction.ids(by: "text") } == .invalidQuery)
      #expect(code { _ = try transaction.count(by: "text") } == .invalidQuery)
    }
    // Conditions and orders on its properties do not use it.
    let found = try snapshot.explain(
      documents.filter { $0["title"] == "Milk" }.sorted(by: "title", .descending))
    #expect(found.indexes.isEmpty && found.results == 1)
  }

  @Test func `a past version cannot be searched, and says so before it reads anything`() throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    try database.addIndex(DocumentIndex("text", fullText: "body"))
    try database.write { try $0.put(Document(id: "a", ["body": "milk"])) }
    try database.saveSnapshot(named: "then")
    try database.write { _ = try $0.replace("a", with: ["body": "tea"]) }
    let past = try database.snapshot(named: "then")
    let query = documents.filter { $0["body"].matches(.fullText("milk")) }
    #expect(code { _ = try past.ids(query) } == .invalidQuery)
    #expect(code { _ = try past.count(query.sort(.relevance)) } == .invalidQuery)
  }

  // MARK: Partial indexes

  @Test func `a partial index is searched if the filter implies its conditions, or names it`()
    throws
  {
    let database = try Database.inMemory()
    for kind in ["x", "y"] {
      try database.addIndex(
        DocumentIndex(
          "text of \(kind)", fullTextPaths: [["body"]], options: FullTextOptions(),
          where: [IndexCondition(path: ["kind"], .equal(.string(kind)))]))
      try database.write { transaction in
        for number in 0..<3 {
          try transaction.put(
            Document(
              id: "\(kind)\(number)", ["kind": .string(kind), "body": .string("milk \(number)")]))
        }
      }
    }
    let snapshot = try database.snapshot()
    let milk = documents.filter { $0["body"].matches(.fullText("milk")) }
    for kind in ["x", "y"] {
      let own = milk.filter { $0["kind"] == .string(kind) }
      let found = try snapshot.explain(own)
      #expect(found.indexes == ["text of \(kind)"] && found.residual == nil, "\(found)")
      #expect(try snapshot.ids(own.sort(.relevance)).count == 3 && snapshot.count(own) == 3)
    }
    let both = documents.filter {
      $0["kind"] == "x" && $0["body"].matches(.fullText("0"))
        || $0["kind"] == "y" && $0["body"].matches(.fullText("1"))
    }
    #expect(try snapshot.ids(both) == ["x0", "y1"])
    #expect(code { _ = try snapshot.ids(milk) } == .notFound)
    let named = documents.filter { $0["body"].matches(.fullText("milk"), index: "text of y") }
    #expect(try snapshot.ids(named) == ["y0", "y1", "y2"])
    let rest = documents.filter { !$0["body"].matches(.fullText("1"), index: "text of y") }
    #expect(try snapshot.ids(rest) == ["x0", "x1", "x2", "y0", "y2"])
  }

  // MARK: Calls

  @Test func `counts, values and aggregates are those of the documents found`() throws {
    let snapshot = try database.snapshot()
    let milk = documents.filter(.matches(.fullText("milk"), index: "text"))
    #expect(try snapshot.count(milk) == 3 && snapshot.count(milk.limit(2)) == 2)
    #expect(try snapshot.count(milk.sort(.relevance).offset(2)) == 1)
    #expect(try snapshot.exists(milk) && !snapshot.exists(milk.filter { $0["n"] > 4 }))
    #expect(try snapshot.sum(milk) { $0["n"] } == 8)
    #expect(try snapshot.sum(milk.sort(.relevance)) { $0["n"] } == 8)
    #expect(try snapshot.maximum(milk.filter { $0["n"] < 4 }) { $0["n"] } == 3)
    #expect(try snapshot.distinct(milk) { $0["n"] } == [1, 3, 4])
    let groups = try snapshot.groups(milk, by: { $0["done"] }, .count)
    #expect(groups.map(\.1) == [2, 1])
    let ranked = milk.sort(.relevance)
    let titles = try snapshot.values(ranked) { $0["title"] }
    #expect(try titles == snapshot.find(ranked).map { $0["title"] })
    let asCustom = try snapshot.aggregate(milk.limit(2), .count, .minimum { $0["n"] })
    #expect(asCustom.0 == 2 && asCustom.1 == 1)
  }

  @Test func `a transaction finds what it has written, and deletes and updates what it finds`()
    throws
  {
    let milk = documents.filter(.matches(.fullText("milk"), index: "text"))
    try database.write { transaction in
      _ = try transaction.replace("z", with: ["body": "milk milk milk"])
      _ = try transaction.delete("a")
      #expect(try transaction.ids(milk) == ["b", "d", "z"])
      #expect(try Set(transaction.ids(milk.sort(.relevance))) == ["b", "d", "z"])
      #expect(try transaction.update(milk.filter { $0["n"] == 4 }) { $0["tags"] = "tea" } == 1)
      #expect(try transaction.count(milk) == 2)
      #expect(try transaction.delete(milk.filter { !($0["n"] == 1) }) == 1)
      #expect(try transaction.ids(milk) == ["b"])
    }
    #expect(try ids(milk) == ["b"])
    // A change that fails is not searched.
    struct Own: Error {}
    #expect(throws: Own.self) {
      try database.write { transaction in
        _ = try transaction.replace("y", with: ["body": "milk"])
        #expect(try transaction.count(milk) == 2)
        throw Own()
      }
    }
    #expect(try ids(milk) == ["b"])
  }
}
