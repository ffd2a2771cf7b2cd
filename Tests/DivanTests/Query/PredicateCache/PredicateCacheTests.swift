import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of the predicate cache.
///
/// Repeated filters give the same results and read only changed documents.
struct PredicateCacheTests {
  private let todos = Query<Document>()

  /// Creates a database of numbered documents, of which every third is open.
  private func database(
    _ count: Int = 100, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = Configuration()
    change(&configuration)
    let database = try Database.inMemory(configuration: configuration)
    try database.write { transaction in
      for number in 0..<count { try put(number, isOpen: number % 3 == 0, in: transaction) }
    }
    return database
  }

  private func put(_ number: Int, isOpen: Bool, in transaction: WriteTransaction) throws {
    _ = try transaction.replace(
      "todo \(1000 + number)", with: ["open": .bool(isOpen), "n": .int(Int64(number))])
  }

  private var open: Query<Document> { todos.filter { $0["open"] == true } }

  // MARK: Repeated filters

  @Test
  func
    `a repeated filter reads only changed documents`()
    throws
  {
    let database = try database()
    let first = try database.snapshot().explain(open)
    #expect(first.rows == 100 && first.rowsRemembered == 0 && first.documentsRead == 100)
    #expect(!first.description.contains("predicate cache"))
    let again = try database.snapshot().explain(open)
    #expect(again.rows == 100 && again.rowsRemembered == 100 && again.documentsRead == 0)
    #expect(again.results == 34 && again.description.contains("100 decided by the predicate cache"))
    try database.write { transaction in
      try put(1, isOpen: true, in: transaction)
      try put(100, isOpen: true, in: transaction)
      _ = try transaction.delete("todo 1000")
    }
    let later = try database.snapshot().explain(open)
    #expect(later.rows == 100 && later.rowsRemembered == 98 && later.documentsRead == 2, "\(later)")
    #expect(later.results == 35)
    let found = try database.snapshot().find(open)
    #expect(found.count == 35 && found.allSatisfy { $0["open"] == true })
  }

  @Test func `counting, sorting and aggregating share cached match results`()
    throws
  {
    let database = try database()
    let snapshot = try database.snapshot()
    #expect(try snapshot.count(open) == 34)
    let sorted = try snapshot.explain(open.sorted(by: "n", .descending).limit(5))
    #expect(sorted.rowsRemembered == 100 && sorted.results == 5)
    let few = todos.filter { $0["n"] < 7 }
    #expect(try snapshot.sum(few) { $0["n"] } == 21)
    #expect(try snapshot.explain(few).rowsRemembered == 100)
    #expect(try snapshot.count(few) == 7 && snapshot.sum(few) { $0["n"] } == 21)
  }

  @Test func `deleted documents are not counted from the cache`() throws {
    let database = try database()
    try database.write { transaction in
      for number in 0..<50 { _ = try transaction.delete("todo \(1000 + number)") }
    }
    for _ in 0..<3 { #expect(try database.snapshot().count(open) == 17) }
    try database.write { try put(7, isOpen: true, in: $0) }
    #expect(try database.snapshot().count(open) == 18)
  }

  @Test func `superseded sequence numbers in a sorted run are not counted`() throws {
    // The run of the later documents is merged with that of their changes, but not with the large
    // one below. So it keeps the entries that mark sequence numbers as removed.
    let database = try database(1000) {
      $0.fileSystem = MemoryFileSystem()
      $0.maintenance = .manual
    }
    let all = todos.filter { $0["n"] >= 0 }
    try database.writeCheckpoint()
    try database.write { transaction in
      for number in 1000..<1040 { try put(number, isOpen: true, in: transaction) }
    }
    #expect(try database.snapshot().count(all) == 1040)
    try database.writeCheckpoint()
    try database.write { transaction in
      for number in stride(from: 1001, to: 1040, by: 2) {
        try put(number, isOpen: false, in: transaction)
      }
    }
    try database.writeCheckpoint()
    for _ in 0..<3 { #expect(try database.snapshot().count(all) == 1040) }
  }

  @Test func `a filter that accepts everything does not count deleted documents`() throws {
    let database = try database()
    let n = QueryPath(steps: [.key("n")])
    for filter: FilterExpression in [
      .or([.all, .test(n, .equal(1))]), .not(.and([.nothing, .test(n, .equal(1))])),
    ] {
      var query = todos
      query.core.filter = filter
      for _ in 0..<3 {
        let count = try database.snapshot().count
        #expect(try database.snapshot().count(query) == count)
        try database.write { transaction in
          _ = try transaction.delete(try #require(try transaction.ids(query).first))
        }
        #expect(try database.snapshot().count(query) == count - 1)
      }
    }
  }

  @Test func `a cached count respects limit and offset`() throws {
    let database = try database()
    let snapshot = try database.snapshot()
    for _ in 0..<3 {
      #expect(try snapshot.count(open.limit(10)) == 10)
      #expect(try snapshot.count(open.offset(30)) == 4)
      #expect(try snapshot.count(open.offset(30).limit(2)) == 2)
      #expect(try snapshot.exists(open) && !snapshot.exists(todos.filter { $0["n"] > 1000 }))
      #expect(try snapshot.count(open) == 34)
    }
  }

  // MARK: Results that must not be cached

  @Test func `match results of a transaction's own changes are not cached`() throws {
    struct Refusal: Error {}
    let database = try database()
    let many = todos.filter { $0["n"] >= 0 }
    // Both give their changes the same sequence numbers.
    for isRefused in [true, false] {
      try? database.write { transaction in
        for number in 0..<100 {
          _ = try transaction.replace(
            "todo \(1000 + number)", with: ["n": .int(isRefused ? -1 : 5)])
        }
        #expect(try transaction.count(many) == (isRefused ? 0 : 100))
        if isRefused { throw Refusal() }
      }
    }
    #expect(try database.snapshot().count(many) == 100)
    let explanation = try database.snapshot().explain(many)
    #expect(explanation.results == 100)
  }

  @Test func `filters that follow references are not cached`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      _ = try transaction.put(Document(id: "home", ["name": "Home"]))
      for number in 0..<50 {
        _ = try transaction.put(Document(id: "todo \(number)", ["list": "home"]))
      }
    }
    let query = todos.filter { $0["list"].reference["name"] == "Home" }
    #expect(try database.snapshot().count(query) == 50)
    try database.write { _ = try $0.replace("home", with: ["name": "House"]) }
    #expect(try database.snapshot().count(query) == 0)
    #expect(try database.snapshot().explain(query).rowsRemembered == 0)
  }

  @Test func `queries of a past version do not use the cache`() throws {
    let database = try database { $0.history = .unlimited }
    #expect(try database.snapshot().count(open) == 34)
    try database.saveSnapshot(named: "then")
    try database.write { transaction in
      for number in 0..<100 { try put(number, isOpen: true, in: transaction) }
    }
    let past = try database.snapshot(named: "then")
    for _ in 0..<2 {
      #expect(try database.snapshot().count(open) == 100)
      #expect(try past.count(open) == 34)
      #expect(try past.explain(open).rowsRemembered == 0)
    }
  }

  @Test func `a cache of size zero caches nothing`() throws {
    let database = try database { $0.predicateCacheSize = 0 }
    for _ in 0..<2 {
      let explanation = try database.snapshot().explain(open)
      #expect(explanation.rowsRemembered == 0 && explanation.documentsRead == 100)
    }
  }

  @Test func `documents beyond the cache's size are evaluated again`() throws {
    // A page of 4,096 changes takes about a kibibyte.
    let database = try database(10_000) { $0.predicateCacheSize = 2100 }
    for _ in 0..<3 { #expect(try database.snapshot().count(open) == 3334) }
    let explanation = try database.snapshot().explain(open)
    #expect((4000..<9000).contains(explanation.rowsRemembered), "\(explanation)")
    #expect(explanation.results == 3334)
  }

  // MARK: Filter identity

  /// Filters that all differ.
  private static let filters: [FilterExpression] = {
    func test(_ keys: [String], _ test: ComparisonOperator) -> FilterExpression {
      .test(QueryPath(steps: keys.map { .key($0) }), test)
    }
    let n = QueryPath(steps: [.key("n")])
    let one = FilterExpression.test(n, .equal(1))
    return [
      .all, .nothing, one, .not(one), .and([one]), .or([one]), .and([one, one]),
      .and([.and([one]), one]), .test(n, .equal(1.5)), .test(n, .equal("1")),
      .test(n, .equal(.null)),
      .test(n, .isMissing), .test(n, .order(.less, 1)), .test(n, .order(.lessOrEqual, 1)),
      .test(n, .order(.greater, 1)), .test(n, .oneOf([1])), .test(n, .oneOf([])),
      .test(n, .oneOf([1, 2])), .test(QueryPath(steps: [.key("n")], measure: .count), .equal(1)),
      .test(.documentID, .equal(1)), test(["a", "b"], .equal(1)), test(["a.b"], .equal(1)),
      test(["ab"], .equal(1)), test(["a"], .equal("b")), test(["\u{E9}"], .equal(1)),
      test(["e\u{301}"], .equal(1)), .test(n, .equal("\u{E9}")), .test(n, .equal("e\u{301}")),
      .test(n, .text(.beginning, "a", [])), .test(n, .text(.end, "a", [])),
      .test(n, .text(.anywhere, "a", [])), .test(n, .text(.whole, "a", [])),
      .test(n, .text(.pattern, "a", [])), .test(n, .text(.beginning, "a", .letterCase)),
      .test(n, .text(.beginning, "a", .diacritics)), .test(n, .text(.beginning, "ab", [])),
      .test(QueryPath(steps: [.key("n"), .element(0)]), .equal(1)),
      .test(QueryPath(steps: [.key("n"), .element(1)]), .equal(1)),
      .test(QueryPath(steps: [.key("n"), .element(-1)]), .equal(1)),
      test(["n", "0"], .equal(1)), .anyElement(n, one), .everyElement(n, one),
      .anyElement(n, .all), .or([one, .test(n, .equal(2))]), .and([one, .test(n, .equal(2))]),
      .not(.and([one, .test(n, .equal(2))])), .and([.not(one), .test(n, .equal(2))]),
    ]
  }()

  @Test func `filters have equal identities exactly if they are equal`() throws {
    let identities = try PredicateCacheTests.filters.map { try #require(FilterIdentity($0)) }
    for (index, identity) in identities.enumerated() {
      let same = identities.indices.filter { identities[$0] == identity }
      #expect(same == [index], "\(same.map { PredicateCacheTests.filters[$0] })")
      #expect(FilterIdentity(PredicateCacheTests.filters[index]) == identity)
    }
  }

  @Test
  func `filters with closures, references, NaN or many constants have no identity`() {
    let n = QueryPath(steps: [.key("n")])
    #expect(FilterIdentity(.custom("odd") { _ in true }) == nil)
    #expect(FilterIdentity(.and([.all, .not(.custom("odd") { _ in true })])) == nil)
    #expect(FilterIdentity(.test(n.appending(.reference), .equal(1))) == nil)
    #expect(FilterIdentity(.test(n, .equal(.double(.nan)))) == nil)
    #expect(FilterIdentity(.test(n, .oneOf([1, .double(.infinity)]))) == nil)
    #expect(FilterIdentity(.refused(DatabaseError(.invalidQuery, "no"))) == nil)
    #expect(FilterIdentity(.test(n, .oneOf((0..<1000).map { .int($0 + 1000) }))) == nil)
    #expect(FilterIdentity(.test(n, .oneOf((0..<100).map { .int($0 + 1000) }))) != nil)
  }

  @Test func `the cache evicts the least recently used filters to stay within its size`() throws {
    let cache = PredicateCache(lastSequence: 10, sizeLimit: 40_000)
    let n = QueryPath(steps: [.key("n")])
    let identities = try (0..<100).map { number in
      try #require(FilterIdentity(.test(n, .equal(.int(Int64(number))))))
    }
    for identity in identities {
      var matchResults = cache.matchResults(of: identity)
      #expect(matchResults.isEmpty)
      matchResults.note(.accepted, of: 5)
      cache.store(matchResults, of: identity)
      // The first filter is used all the time.
      #expect(cache.matchResults(of: identities[0])[5] == .accepted)
    }
    let known = identities.filter { !cache.matchResults(of: $0).isEmpty }
    #expect(known.count > 20 && known.count < 40_000 / 1024, "\(known.count)")
    #expect(known.first == identities[0] && known.last == identities[99])
    // The number of filters is limited, however little space they take.
    let large = PredicateCache(lastSequence: 10, sizeLimit: 1 << 30)
    for identity in identities {
      var matchResults = large.matchResults(of: identity)
      matchResults.note(.refused, of: 7)
      large.store(matchResults, of: identity)
    }
    #expect(
      identities.filter { !large.matchResults(of: $0).isEmpty }.count == PredicateCache.countLimit)
  }

  // MARK: Match results

  @Test(arguments: 1...8)
  func `match results keep what was noted, in copies and after merging them`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (whole, plain) = (
      MatchResults(firstPage: 0, sizeLimit: 1 << 20), [UInt64: MatchResult]()
    )
    for _ in 0..<10 {
      // Two copies begin with the known match results, and find more.
      var copies = [whole, whole]
      for _ in 0..<200 {
        let sequence = UInt64(random.below([50, 5000, 200_000][random.below(3)]))
        let matchResult = MatchResult(rawValue: sequence % 3 + 1) ?? .refused
        copies[random.below(2)].note(matchResult, of: sequence)
        plain[sequence] = matchResult
      }
      for copy in copies { whole.add(copy) }
    }
    for sequence in 0..<(200_000 as UInt64) where whole[sequence] != plain[sequence] {
      Issue.record("seed \(seed): \(sequence) is \(String(describing: whole[sequence]))")
      return
    }
  }

  @Test func `sequence numbers far from the newest are not cached and take no cache`() {
    let span = UInt64(PredicateCacheSlot.pageLimit * PredicateCacheSlot.pageSize)
    let firstPage = PredicateCacheSlot.firstPage(lastSequence: 10 * span)
    var matchResults = MatchResults(firstPage: firstPage, sizeLimit: 4 << 20)
    for sequence in [0, 9 * span, 10 * span + span, .max] {
      matchResults.note(.accepted, of: sequence)
      #expect(matchResults[sequence] == nil)
    }
    #expect(matchResults.isEmpty && !matchResults.isModified)
    for sequence in [10 * span, 10 * span + 1, 10 * span - span / 4] {
      matchResults.note(.refused, of: sequence)
      #expect(matchResults[sequence] == .refused)
    }
    #expect(matchResults.size < 1 << 20)
  }

  @Test func `another filter on the same property reads each document once`() throws {
    let database = try database()
    #expect(try database.snapshot().count(open) == 34)
    let closed = todos.filter { $0["open"] != true }
    for readCount in [100, 0] {
      let snapshot = try database.snapshot()
      let before = database.metrics
      #expect(try snapshot.count(closed) == 66)
      let metrics = database.metrics.delta(since: before)
      #expect(metrics.predicateCacheMisses == readCount)
    }
  }

  @Test func `filters for similar and long values are told apart, also when repeated`() throws {
    let long = String(repeating: "l", count: 80)
    let values: [Value] = [
      .null, false, true, 0, 1, -1, 63, 64, 1.5, "", "1", "l", "\u{E9}", "e\u{301}", [], [1],
      [1, 2],
      ["a": 1], ["a": .null], .string("12345678"), .string("12345679"), .string(long + "1"),
      .string(long + "2"), .double(-0.0), .int(.max), .unsigned(.max),
    ]
    let database = try Database.inMemory()
    try database.write { transaction in
      for (number, value) in values.enumerated() {
        for copy in 0..<3 {
          _ = try transaction.put(Document(id: "\(100 + number) \(copy)", ["v": value]))
        }
      }
      for copy in 0..<3 { _ = try transaction.put(Document(id: "none \(copy)")) }
    }
    let snapshot = try database.snapshot()
    for value in values {
      let query = todos.filter { $0["v"] == value }
      var plain = 0
      var documents = snapshot.documents()
      while let document = try documents.next() {
        if PlainQuery(documents: [:]).accepts(
          query.core.filter, .object(document.properties), document.id)
        {
          plain += 1
        }
      }
      #expect(try snapshot.count(query) == plain, "\(value.json)")
      #expect(try snapshot.ids(query).count == plain, "\(value.json)")
    }
  }
}
