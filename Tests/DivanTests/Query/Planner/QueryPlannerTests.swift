import Divan
import DivanTesting
import Testing

/// Tests of the indexes that queries use, according to the explanation.
struct QueryPlannerTests {
  private let database: Database
  /// The same documents, in a snapshot from before the first index.
  private let plain: Snapshot
  private let todos = Query<Document>()

  /// Stores 3,000 documents in 30 lists; one in ten is open, and one in three has no date.
  init() throws {
    database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<3000 {
        var todo: Value.Object = [
          "list": .string("list \(number % 30)"), "done": .bool(number / 7 % 10 > 0),
          "rank": .int(Int64(number)), "kind": .string(number % 3 == 0 ? "x" : "y"),
          "tags": [.string("t\(number % 50)"), "all"],
          "title": .string("Todo \(number * 7 % 3000)"),
        ]
        if number % 3 > 0 { todo["due"] = .int(Int64(number * 11 % 1000)) }
        _ = try transaction.put(Document(id: "d\(10_000 + number)", todo))
      }
    }
    plain = try database.snapshot()
  }

  private func explain(_ query: Query<Document>) throws -> QueryExplanation {
    try database.snapshot().explain(query)
  }

  /// Expects the same results as without indexes, and returns the explanation.
  private func explainAgreeing(_ query: Query<Document>) throws -> QueryExplanation {
    let explanation = try explain(query)
    #expect(try database.snapshot().ids(query) == plain.ids(query), "\(explanation)")
    return explanation
  }

  @Test func `equalities and a range on the next property use one range of a compound index`()
    throws
  {
    try database.addIndex(DocumentIndex("list and due", on: "list", "due"))
    let query = todos.filter { $0["list"] == "list 4" && $0["due"] < 300 }
    let found = try explainAgreeing(query)
    #expect(found.indexes == ["list and due"] && found.residual == nil && found.documentsRead == 0)
    #expect(found.entriesRead == found.results && found.results > 0, "\(found)")
    #expect(found.access.contains("list = \"list 4\", due < 300"))
    #expect(try database.snapshot().count(query) == found.results)
    // The index does not order entries by the second property alone.
    #expect(try explain(todos.filter { $0["due"] < 3 }).indexes.isEmpty)
  }

  @Test func `missing values are indexed as null except in the first property`() throws {
    try database.addIndex(DocumentIndex("list and due", on: "list", "due"))
    let none = try explainAgreeing(todos.filter { $0["list"] == "list 3" && $0["due"] == .null })
    #expect(none.indexes == ["list and due"] && none.documentsRead == 0 && none.results == 100)
    let missing = try explainAgreeing(
      todos.filter { $0["list"] == "list 3" && $0["due"].isMissing })
    #expect(missing.indexes == ["list and due"] && missing.residual == "due is missing")
    let first = try explain(todos.filter { $0["list"] == .null })
    #expect(first.indexes.isEmpty && first.results == 0)
  }

  @Test
  func `sorting by the property after equalities reads the index up to the limit`()
    throws
  {
    try database.addIndex(DocumentIndex("list and due", on: "list", "due"))
    let query = todos.filter { $0["list"] == "list 4" }
    for descending in [false, true] {
      let sorted = query.sorted(by: "due", descending ? .descending : .ascending).limit(5)
      let found = try explainAgreeing(sorted)
      #expect(found.order == "as in the index" && found.results == 5, "\(found)")
      #expect(found.entriesRead < 10 && found.documentsRead == 0, "\(found)")
    }
    // A property with a single value does not affect the order.
    let list = try explainAgreeing(query.sorted(by: "list").sorted(by: "due").limit(5))
    #expect(list.order == "as in the index" && list.entriesRead < 10)
    let ranks = try explainAgreeing(query.sorted(by: "due").sorted(by: "rank").limit(5))
    #expect(ranks.results == 5, "\(ranks)")
  }

  @Test func `sorting by several properties in one direction uses a compound index`() throws {
    try database.addIndex(DocumentIndex("done, due and rank", on: "done", "due", "rank"))
    for descending in [false, true] {
      let query = todos.filter { $0["done"] == false && $0["due"] != .null }
        .sorted(by: "due", descending ? .descending : .ascending).sorted(
          by: "rank", descending ? .descending : .ascending)
      let found = try explainAgreeing(query.limit(10))
      #expect(found.order == "as in the index" && found.results == 10, "\(found)")
      // Documents without a date come first and are skipped.
      #expect(found.documentsRead < 200, "\(found)")
    }
    let mixed = try explainAgreeing(
      todos.filter { $0["done"] == false }.sorted(by: "due", .descending).sorted(by: "rank").limit(
        10))
    #expect(mixed.results == 10)
  }

  @Test func `an index with large groups of ties does not serve a limited sort`() throws {
    try database.addIndex(DocumentIndex("done", on: "done"))
    let found = try explainAgreeing(
      todos.sorted(by: "done", .descending).sorted(by: "title").limit(3))
    #expect(found.indexes.isEmpty && found.documentsRead <= 3003, "\(found)")
    // If ties are ordered by ID, no group is sorted.
    for descending in [false, true] {
      let byID = try explainAgreeing(
        todos.filter { $0["done"] != .null }.sorted(
          by: "done", descending ? .descending : .ascending
        ).limit(3))
      #expect(byID.indexes == ["done"] && byID.documentsRead <= 3, "\(byID)")
    }
  }

  @Test func `an index provides the order of texts only by bytes`() throws {
    try database.addIndex(DocumentIndex("title", on: "title"))
    let titled = todos.filter { $0["title"] != .null }
    let byBytes = try explainAgreeing(titled.sorted(by: "title", texts: .bytes).limit(3))
    #expect(byBytes.indexes == ["title"] && byBytes.documentsRead <= 3, "\(byBytes)")
    // All texts form one group, and reading it along the index costs more than reading everything.
    let collated = try explainAgreeing(titled.sorted(by: "title").limit(3))
    #expect(collated.indexes.isEmpty && collated.order.contains("sorted"), "\(collated)")
  }

  @Test func `a partial index answers filters that imply its conditions, and no others`() throws {
    try database.addIndex(
      DocumentIndex("open by rank", on: "rank", where: [.equal("done", false)]))
    let open = try explainAgreeing(
      todos.filter { $0["done"] == false && $0["rank"].isIn(100..<200) })
    #expect(open.indexes == ["open by rank"] && open.residual == nil && open.documentsRead == 0)
    #expect(try explain(todos.filter { $0["rank"].isIn(100..<200) }).indexes.isEmpty)
    #expect(
      try explain(todos.filter { $0["done"] == true && $0["rank"] == 5 }).indexes.isEmpty)
    // Open documents with a rank are counted by index entries. Open documents alone are not, since
    // some might have no rank.
    let ranked = todos.filter { $0["done"] == false && $0["rank"] != .null }
    #expect(try explainAgreeing(ranked).indexes == ["open by rank"])
    #expect(try explain(todos.filter { $0["done"] == false }).indexes.isEmpty)
    let next = try explainAgreeing(ranked.sorted(by: "rank").limit(4))
    #expect(next.order == "as in the index" && next.entriesRead <= 4, "\(next)")
  }

  @Test
  func `narrower filters imply comparison, prefix and presence conditions of partial indexes`()
    throws
  {
    try database.addIndex(DocumentIndex("low", on: "list", where: [.less("rank", 1000)]))
    try database.addIndex(DocumentIndex("few", on: "list", where: [.hasPrefix("title", "Todo 1")]))
    try database.addIndex(DocumentIndex("dated", on: "list", where: [.isPresent("due")]))
    let list = todos.filter { $0["list"] == "list 4" }
    func indexes(_ condition: (QuerySubject<Document>) -> Filter) throws -> [String] {
      try explainAgreeing(list.filter(condition)).indexes
    }
    #expect(try indexes { $0["rank"] < 1000 } == ["low"])
    #expect(try indexes { $0["rank"] <= 999 } == ["low"])
    #expect(try indexes { $0["rank"] == 34 } == ["low"])
    #expect(try indexes { $0["rank"].isIn(10..<1000) } == ["low"])
    #expect(try indexes { $0["rank"] <= 1000 } == [])
    #expect(try indexes { $0["rank"] > 10 } == [])
    #expect(try indexes { $0["title"].hasPrefix("Todo 12") } == ["few"])
    #expect(try indexes { $0["title"] == "Todo 1001" } == ["few"])
    #expect(try indexes { $0["title"].hasPrefix("Todo ") } == [])
    #expect(try indexes { $0["due"] != .null } == ["dated"])
    #expect(try indexes { $0["due"] > 3 } == ["dated"])
    #expect(try indexes { $0["due"] == 5 || $0["due"] == 7 } == ["dated"])
    #expect(try indexes { $0["due"] == .null } == [])
  }

  @Test func `a compound multikey index answers an element and another property in one range`()
    throws
  {
    try database.addIndex(
      DocumentIndex("tag and rank", on: "tags", "rank", eachElement: true))
    let query = todos.filter { $0["tags"].contains("t7") && $0["rank"] >= 2000 }
    let found = try explainAgreeing(query)
    #expect(found.indexes == ["tag and rank"] && found.documentsRead == 0 && found.results == 20)
    let last = try explainAgreeing(
      todos.filter { $0["tags"].contains("all") }.sorted(by: "rank", .descending).limit(3))
    #expect(last.indexes == ["tag and rank"] && last.entriesRead <= 4, "\(last)")
  }

  @Test func `isIn looks up each value unless a scan costs less`() throws {
    try database.addIndex(DocumentIndex("rank", on: "rank", isUnique: true))
    let few = (0..<40).map { Value.int(Int64($0 * 3)) }
    let found = try explainAgreeing(todos.filter { $0["rank"].isIn(few) })
    #expect(found.indexes == ["rank"] && found.results == 40 && found.access.contains("40 values"))
    let many = (0..<2500).map { Value.int(Int64($0)) }
    let all = try explainAgreeing(todos.filter { $0["rank"].isIn(many) })
    #expect(all.indexes.isEmpty && all.results == 2500, "\(all)")
  }

  @Test func `each alternative is looked up together with the other conjuncts`() throws {
    try database.addIndex(DocumentIndex("list and rank", on: "list", "rank"))
    let found = try explainAgreeing(
      todos.filter { ($0["list"] == "list 1" || $0["list"] == "list 2") && $0["rank"] < 300 })
    #expect(found.indexes == ["list and rank", "list and rank"], "\(found)")
    #expect(found.documentsRead == 0 && found.results == 20, "\(found)")
  }

  @Test
  func `a limited query scans if many documents match and uses an index if few do`()
    throws
  {
    try database.addIndex(DocumentIndex("rank", on: "rank"))
    let much = try explainAgreeing(
      todos.filter { $0["kind"] == "y" && $0["rank"] >= 30 }.limit(3))
    #expect(much.indexes.isEmpty && much.documentsRead < 100, "\(much)")
    let little = try explainAgreeing(
      todos.filter { $0["kind"] == "y" && $0["rank"] >= 2990 }.limit(3))
    #expect(little.indexes == ["rank"] && little.documentsRead < 12, "\(little)")
  }

  @Test
  func `an index without a residual predicate is preferred, and its estimates are reported`()
    throws
  {
    try database.addIndex(DocumentIndex("list", on: "list"))
    try database.addIndex(DocumentIndex("list and kind", on: "list", "kind"))
    try database.addIndex(DocumentIndex("rank", on: "rank", isUnique: true))
    let list = todos.filter { $0["list"] == "list 4" }
    let all = try explainAgreeing(list)
    #expect(all.indexes == ["list"] && all.residual == nil && all.rows == 100, "\(all)")
    #expect((50...200).contains(all.estimatedRows) && all.estimatedCost > 10, "\(all)")
    #expect(all.estimatedResults == all.estimatedRows)
    let some = try explainAgreeing(list.sorted(by: "list").offset(10).limit(5))
    #expect(some.indexes == ["list"] && some.order == "by the IDs" && some.rows == 15, "\(some)")
    #expect(some.estimatedRows == 15 && some.estimatedResults == 5, "\(some)")
    let both = try explainAgreeing(list.filter { $0["kind"] == "y" })
    #expect(both.indexes == ["list and kind"] && both.residual == nil && both.documentsRead == 0)
    let one = try explainAgreeing(todos.filter { $0["rank"] == 77 })
    #expect(one.indexes == ["rank"] && one.estimatedRows <= 1 && one.results == 1, "\(one)")
    // The planner has a choice when the query needs an order that the index does not have.
    let sorted = try explainAgreeing(list.sorted(by: "rank").limit(3))
    #expect(sorted.results == 3 && sorted.order != "by the IDs", "\(sorted)")
  }

  @Test func `several conditions on one property are combined`() throws {
    try database.addIndex(DocumentIndex("list and rank", on: "list", "rank"))
    try database.addIndex(DocumentIndex("rank", on: "rank"))
    let filters: [(QuerySubject<Document>) -> Filter] = [
      { $0["rank"].isIn([7]) }, { $0["rank"].isIn([7, 9, 7]) }, { $0["rank"].isIn([]) },
      { $0["rank"].isIn([]) && $0["rank"] == 7 }, { $0["rank"] == 7 && $0["rank"].isIn([]) },
      { $0["rank"].isIn([7, 9]) && $0["rank"] == 7 }, { $0["rank"] == 7 && $0["rank"] == 9 },
      { $0["rank"] >= 5 && $0["rank"] == 7 }, { $0["rank"] == 7 && $0["rank"] < 5 },
      { $0["rank"] == .double(.nan) }, { $0["rank"] == 7 && $0["rank"] == .double(.nan) },
      { $0["rank"] == .null }, { $0["list"] == "list 7" && $0["rank"].isIn([7, 37, 9]) },
      { $0["list"].isIn(["list 7", "list 9"]) && $0["rank"] == 7 },
      { $0["list"] == "list 7" && $0["rank"] == .null },
      { $0["list"] == "list 7" && $0["rank"] > 2000 },
    ]
    for filter in filters {
      let found = try explainAgreeing(todos.filter(filter))
      #expect(found.results <= 40, "\(found)")
    }
  }

  @Test func `an explanation shows estimates beside the actual numbers`() throws {
    try database.addIndex(DocumentIndex("list", on: "list"))
    let found = try explain(todos.filter { $0["list"] == "list 4" && $0["kind"] == "y" })
    #expect((50...200).contains(found.estimatedRows) && found.rows == 100, "\(found)")
    #expect(found.estimatedResults > 0 && found.estimatedCost > 100, "\(found)")
    #expect(found.description.contains("Estimate: \(found.estimatedRows) candidates"))
    #expect(found.description.contains("Actual: 100 candidates"))
  }
}
