import DivanTesting
import Testing

@testable import Divan

/// Tests of the plans for searches in text, according to the explanation.
struct FullTextPlanTests {
  private let database: Database
  private let notes = Query<Document>()

  /// Stores 2,000 notes: half of them are about milk, 1 of 100 is urgent, and each has a number.
  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<2000 {
        let text =
          "\(number % 2 == 0 ? "milk" : "tea") \(number % 100 == 0 ? "urgent" : "later") note"
        _ = try transaction.put(
          Document(
            id: "n\(10_000 + number)",
            [
              "text": .string(text), "n": .int(Int64(number)), "list": .int(Int64(number % 40)),
            ]))
      }
    }
    try database.addIndex(DocumentIndex("text", fullText: "text"))
  }

  private func explain(_ query: Query<Document>) throws -> QueryExplanation {
    try database.snapshot().explain(query)
  }

  private func matching(_ text: String) -> Query<Document> {
    notes.filter { $0["text"].matches(.fullText(text)) }
  }

  @Test func `an explanation shows the search with its rows, and estimates`() throws {
    let found = try explain(matching("urgent milk"))
    #expect(
      "\(found.plan)" == """
        full-text index "text": urgent AND milk: 20 rows
        """)
    #expect(found.access == "full-text index \"text\": urgent AND milk")
    #expect(found.indexes == ["text"] && found.residual == nil && found.order == "by the IDs")
    #expect(found.estimatedRows >= 20 && found.estimatedRows <= 1000, "\(found)")
    #expect(found.results == 20 && found.documentsRead == 0 && found.entriesRead == 20)
    let ranked = try explain(
      matching("urgent milk").filter { $0["n"] > 500 }.sort(.relevance).limit(5))
    #expect(
      "\(ranked.plan)".hasPrefix(
        """
        limit 5: 5 rows
        └ filter n > 500: 5 rows
          └ ranked full-text index "text": urgent AND milk: 
        """))
    #expect(ranked.order == "by relevance" && ranked.results == 5 && ranked.rows < 20, "\(ranked)")
  }

  @Test func `a count reads no documents if searches answer the filter`() throws {
    let snapshot = try database.snapshot()
    let before = database.metrics
    #expect(try snapshot.count(matching("milk")) == 1000)
    #expect(try snapshot.count(matching("milk").limit(7)) == 7)
    #expect(database.metrics.queries == before.queries + 2)
    #expect(try explain(matching("urgent").limit(3)).documentsRead == 0)
    // Half of all documents match, so the first three are soon found by reading some.
    let few = try explain(matching("milk").limit(3))
    #expect(few.indexes.isEmpty && few.documentsRead < 20 && few.results == 3, "\(few)")
  }

  @Test func `a ranked query reads only the documents of the results`() throws {
    let ranked = matching("milk").sort(.relevance)
    #expect(try explain(ranked.limit(5)).documentsRead == 0)
    let found = try explain(ranked.filter { $0["n"] > 300 }.limit(5))
    #expect(found.results == 5 && found.documentsRead < 400, "\(found)")
  }

  @Test func `the cheapest of a search and other indexes finds the candidates`() throws {
    try database.addIndex(DocumentIndex("n", on: "n"))
    let few = try explain(matching("milk").filter { $0["n"].isIn(100...110) })
    #expect(few.indexes == ["n"] && few.residual == "text matches \"milk\"", "\(few)")
    #expect(few.results == 6 && few.documentsRead == 11)
    let rare = try explain(matching("urgent").filter { $0["n"] > 100 })
    #expect(rare.indexes == ["text"] && rare.residual == "n > 100" && rare.results == 18, "\(rare)")
    // Text is analysed last.
    let order = try explain(
      notes.filter { $0["text"].matches(.fullText("milk")) && $0["n"] == 8 && $0["list"] == 8 })
    #expect(order.residual == "list = 8 and text matches \"milk\"", "\(order)")
  }

  @Test func `searches take part in intersections and unions`() throws {
    try database.addIndex(DocumentIndex("list", on: "list"))
    try database.addIndex(DocumentIndex("n", on: "n"))
    let both = try explain(matching("urgent OR later").filter { $0["list"] == 3 })
    #expect(both.results == 50, "\(both)")
    let either = try explain(
      notes.filter { $0["text"].matches(.fullText("urgent")) || $0["n"] == 7 })
    #expect(either.access.hasPrefix("the union of: full-text index \"text\""), "\(either)")
    #expect(Set(either.indexes) == ["text", "n"] && either.results == 21 && either.residual == nil)
    #expect("\(either.plan)".contains("full-text index \"text\": urgent"))
    let two = try explain(
      notes.filter {
        $0["text"].matches(.fullText("milk")) && $0["text"].matches(.fullText("urgent"))
      })
    #expect(two.results == 20 && two.indexes.first == "text", "\(two)")
    let negated = try explain(matching("urgent").filter { !$0["text"].matches(.fullText("milk")) })
    #expect(negated.results == 0 && negated.indexes == ["text"], "\(negated)")
  }

  @Test func `a sort beside a search takes the order of an index if that is cheaper`() throws {
    try database.addIndex(DocumentIndex("n", on: "n"))
    let many = try explain(matching("milk").sorted(by: "n").limit(3))
    let few = try explain(matching("urgent").sorted(by: "n"))
    #expect(many.results == 3 && few.results == 20)
    #expect(few.indexes == ["text"] && few.order == "sorted", "\(few)")
    let descending = try explain(matching("milk").sorted(by: "n", .descending).limit(3))
    #expect(descending.results == 3)
    #expect(
      try database.snapshot().ids(matching("milk").sorted(by: "n", .descending).limit(2)) == [
        "n11998", "n11996",
      ])
  }

  @Test func `a search is not cached, and other filters still are`() throws {
    for _ in 0..<2 {
      let found = try explain(notes.filter { !$0["text"].matches(.fullText("milk")) })
      #expect(found.rowsRemembered == 0 && found.results == 1000, "\(found)")
    }
    let ranked = matching("milk").filter { $0["list"] > 3 }.sort(.relevance)
    #expect(try explain(ranked).rowsRemembered == 0)
    #expect(try explain(ranked).rowsRemembered == 1000)
  }

  @Test func `a cancelled search stops`() throws {
    let view = try database.snapshot().view
    for query in [matching("milk"), matching("milk").sort(.relevance)] {
      var checks = 0
      let execution = try QueryExecution(view, query.core) {
        checks += 1
        return checks > 10
      }
      let error = #expect(throws: DatabaseError.self) { try execution.forEach { _ in true } }
      #expect(error?.code == .cancelled && checks == 11)
    }
  }
}
