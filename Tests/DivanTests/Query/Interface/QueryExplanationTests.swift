import Divan
import Testing

/// Tests of the operators that an explanation shows.
struct QueryExplanationTests {
  private let films = Query<Document>()

  /// A store of 100 films, of which every fourth is silent; every film has one of five genres.
  private func store() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<100 {
        let isSilent = number % 4 == 0
        let year = Value.int(Int64(1900 + number))
        try transaction.put(
          Document(
            id: "film-\(number)",
            ["year": year, "silent": .bool(isSilent), "genre": .int(Int64(number % 5))]))
      }
    }
    return database
  }

  private func plan(_ query: Query<Document>, in database: Database) throws -> String {
    "\(try database.snapshot().explain(query).plan)"
  }

  @Test func `operators form a tree, and each says how many rows it has yielded`() throws {
    let database = try store()
    let silent = films.filter { $0["silent"] == true }
    let filtered = try plan(silent, in: database)
    #expect(
      filtered == """
        filter silent = true: 25 rows
        └ ID scan: 100 rows
        """)
    let limited = try plan(
      silent.sorted(by: "year", .descending).limit(3).offset(2), in: database)
    #expect(
      limited == """
        limit 3, after 2: 3 rows
        └ sort by year descending: 5 rows
          └ filter silent = true: 25 rows
            └ sequence scan: 100 rows
        """)
    let late = try plan(films.offset(98), in: database)
    #expect(
      late == """
        offset 98: 2 rows
        └ ID scan: 100 rows
        """)
    let all = try plan(films, in: database)
    #expect(all == "ID scan: 100 rows")
    let none = try plan(films.filter { $0["silent"] == true && .none }, in: database)
    #expect(none == "nothing no document can match the filter: 0 rows")
  }

  @Test func `a scan of an index takes the place of a filter and of a sort`() throws {
    let database = try store()
    try database.addIndex(DocumentIndex("by year", on: "year"))
    let one = try plan(films.filter { $0["year"] == 1927 }, in: database)
    #expect(one == "index scan \"by year\" = 1927: 1 row")
    let first = try plan(films.sorted(by: "year", .descending).limit(5), in: database)
    #expect(
      first == """
        limit 5: 5 rows
        └ ordered index scan "by year" everything, then documents without the property: 5 rows
        """)
  }

  @Test func `documents without the property are rows of an ordered scan, and others are not`()
    throws
  {
    let database = try store()
    try database.write { transaction in
      for number in 0..<3 { try transaction.put(Document(id: "none-\(number)", ["n": 1])) }
    }
    try database.addIndex(DocumentIndex("by year", on: "year"))
    let all = try database.snapshot().explain(films.sorted(by: "year", .descending).limit(102))
    #expect(all.results == 102)
    let scan = try #require(all.plan.inputs.first)
    #expect(scan.name == "ordered index scan" && scan.rows == 103, "\(all)")
    #expect(all.plan.rows == 102)
  }

  @Test func `operators that find IDs have one input for each look-up`() throws {
    let database = try store()
    try database.addIndex(DocumentIndex("by year", on: "year"))
    let indexed = try plan(
      films.filter { $0["year"] == 1907 || $0["year"] > 1998 }, in: database)
    #expect(
      indexed == """
        union: 2 rows
        └ index scan "by year" = 1907
        └ index scan "by year" > 1998
        """)
    let mixed = try plan(films.filter { $0.id == "film-7" || $0["year"] == 1908 }, in: database)
    #expect(
      mixed == """
        union: 2 rows
        └ ID list film-7
        └ index scan "by year" = 1908
        """)
    let named = try plan(
      films.filter { $0.id.isIn(["film-1", "film-2", "other"]) }, in: database)
    #expect(named == "ID list of 3: 2 rows")
  }

  @Test func `control characters in a query are escaped in its operators`() throws {
    let database = try store()
    let text = try plan(films.filter { $0["title"] == "a\u{1B}[2J" }, in: database)
    #expect(!text.unicodeScalars.contains("\u{1B}"), "\(text)")
  }
}
