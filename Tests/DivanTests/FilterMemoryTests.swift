import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// What is remembered of filters: a filter that is asked again answers as if it had never been asked, and reads only what has
/// changed.
struct FilterMemoryTests {
  private let todos = Query<Document>()

  /// A database of numbered documents, of which every third is open.
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
    _ = try transaction.overwrite(
      "todo \(1000 + number)", with: ["open": .bool(isOpen), "n": .int(Int64(number))])
  }

  private var open: Query<Document> { todos.filter { $0["open"] == true } }

  // MARK: Asked again

  @Test
  func
    `a filter that is asked again reads only documents that have changed, and those that are wanted`()
    throws
  {
    let database = try database()
    let first = try database.snapshot().explain(open)
    #expect(first.rows == 100 && first.rowsRemembered == 0 && first.documentsRead == 100)
    #expect(!first.description.contains("remembered"))
    let again = try database.snapshot().explain(open)
    #expect(again.rows == 100 && again.rowsRemembered == 100 && again.documentsRead == 0)
    #expect(again.results == 34 && again.description.contains("of which 100 were remembered"))
    try database.write { transaction in
      try put(1, isOpen: true, in: transaction)
      try put(100, isOpen: true, in: transaction)
      _ = try transaction.delete(id: "todo 1000")
    }
    let later = try database.snapshot().explain(open)
    #expect(later.rows == 100 && later.rowsRemembered == 98 && later.documentsRead == 2, "\(later)")
    #expect(later.results == 35)
    let found = try database.snapshot().find(open)
    #expect(found.count == 35 && found.allSatisfy { $0["open"] == true })
  }

  @Test func `what was found out by counting is known to whoever sorts, and the other way round`()
    throws
  {
    let database = try database()
    let snapshot = try database.snapshot()
    #expect(try snapshot.count(open) == 34)
    let sorted = try snapshot.explain(open.sort("n", descending: true).limit(5))
    #expect(sorted.rowsRemembered == 100 && sorted.results == 5)
    let few = todos.filter { $0["n"] < 7 }
    #expect(try snapshot.sum(few) { $0["n"] } == 21)
    #expect(try snapshot.explain(few).rowsRemembered == 100)
    #expect(try snapshot.count(few) == 7 && snapshot.sum(few) { $0["n"] } == 21)
  }

  @Test func `documents that are deleted are not met again`() throws {
    let database = try database()
    try database.write { transaction in
      for number in 0..<50 { _ = try transaction.delete(id: "todo \(1000 + number)") }
    }
    for _ in 0..<3 { #expect(try database.snapshot().count(open) == 17) }
    try database.write { try put(7, isOpen: true, in: $0) }
    #expect(try database.snapshot().count(open) == 18)
  }

  @Test func `a count with a limit or an offset counts as it says`() throws {
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

  // MARK: What must not be remembered

  @Test func `what a transaction has found of its own changes is nothing that others know`() throws
  {
    struct Refusal: Error {}
    let database = try database()
    let many = todos.filter { $0["n"] >= 0 }
    // Both give their changes the same numbers.
    for isRefused in [true, false] {
      try? database.write { transaction in
        for number in 0..<100 {
          _ = try transaction.overwrite(
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

  @Test func `filters that ask other documents are asked each time`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      _ = try transaction.put(Document(id: "home", ["name": "Home"]))
      for number in 0..<50 {
        _ = try transaction.put(Document(id: "todo \(number)", ["list": "home"]))
      }
    }
    let query = todos.filter { $0["list"].reference["name"] == "Home" }
    #expect(try database.snapshot().count(query) == 50)
    try database.write { _ = try $0.overwrite("home", with: ["name": "House"]) }
    #expect(try database.snapshot().count(query) == 0)
    #expect(try database.snapshot().explain(query).rowsRemembered == 0)
  }

  @Test func `a past version is asked anew`() throws {
    let database = try database { $0.history = .everything }
    #expect(try database.snapshot().count(open) == 34)
    try database.nameSnapshot("then")
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

  @Test func `nothing is remembered where no memory is to be taken`() throws {
    let database = try database { $0.filterMemorySize = 0 }
    for _ in 0..<2 {
      let explanation = try database.snapshot().explain(open)
      #expect(explanation.rowsRemembered == 0 && explanation.documentsRead == 100)
    }
  }

  @Test func `where memory does not suffice, the rest is asked anew`() throws {
    // A page of 4,096 changes takes about a kibibyte.
    let database = try database(10_000) { $0.filterMemorySize = 2100 }
    for _ in 0..<3 { #expect(try database.snapshot().count(open) == 3334) }
    let explanation = try database.snapshot().explain(open)
    #expect((4000..<9000).contains(explanation.rowsRemembered), "\(explanation)")
    #expect(explanation.results == 3334)
  }

  // MARK: Which filter it is

  /// Filters of which no two say the same.
  private static let filters: [FilterExpression] = {
    func test(_ keys: [String], _ test: FilterTest) -> FilterExpression {
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

  @Test func `filters that differ in anything are different ones, and the same is the same`() throws
  {
    let identities = try FilterMemoryTests.filters.map { try #require(FilterIdentity($0)) }
    for (index, identity) in identities.enumerated() {
      let same = identities.indices.filter { identities[$0] == identity }
      #expect(same == [index], "\(same.map { FilterMemoryTests.filters[$0] })")
      #expect(FilterIdentity(FilterMemoryTests.filters[index]) == identity)
    }
  }

  @Test
  func `filters that ask code or other documents have no identity, and none that is very long`() {
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

  @Test func `of many filters those that were asked last are remembered, within the memory`() throws
  {
    let memory = FilterMemory(sizeLimit: 20_000)
    let identities = try (0..<100).map { number in
      let path = QueryPath(steps: [.key("n")])
      return try #require(FilterIdentity(.test(path, .equal(.int(Int64(number))))))
    }
    for identity in identities {
      var verdicts = memory.verdicts(of: identity, lastSequence: 10)
      #expect(verdicts.isEmpty)
      verdicts.note(.accepted, of: 5)
      memory.keep(verdicts, of: identity)
      // The first is asked for all the time.
      #expect(memory.verdicts(of: identities[0], lastSequence: 10)[5] == .accepted)
    }
    let known = identities.filter { !memory.verdicts(of: $0, lastSequence: 10).isEmpty }
    #expect(known.count > 10 && known.count < 20_000 / 1024 + 1, "\(known.count)")
    #expect(known.first == identities[0] && known.last == identities[99])
  }

  // MARK: Verdicts

  @Test(arguments: 1...8)
  func `verdicts are those that were noted, in copies and when joined`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (whole, plain) = (
      FilterVerdicts(lastSequence: 0, sizeLimit: 1 << 20), [UInt64: FilterVerdict]()
    )
    for _ in 0..<10 {
      // Two begin with what is known, and find out more.
      var copies = [whole, whole]
      for _ in 0..<200 {
        let sequence = UInt64(random.below([50, 5000, 200_000][random.below(3)]))
        let verdict = FilterVerdict(rawValue: sequence % 3 + 1) ?? .refused
        copies[random.below(2)].note(verdict, of: sequence)
        plain[sequence] = verdict
      }
      for copy in copies { whole.add(copy) }
    }
    for sequence in 0..<(200_000 as UInt64) where whole[sequence] != plain[sequence] {
      Issue.record("seed \(seed): \(sequence) is \(String(describing: whole[sequence]))")
      return
    }
  }

  @Test func `numbers from far back or far ahead are not remembered, and cost nothing`() {
    let pageSpan: UInt64 = 4096
    let span = UInt64(FilterVerdicts.pageLimit) * pageSpan
    var verdicts = FilterVerdicts(lastSequence: 10 * span, sizeLimit: 4 << 20)
    for sequence in [0, 9 * span, 10 * span + span, .max] {
      verdicts.note(.accepted, of: sequence)
      #expect(verdicts[sequence] == nil)
    }
    #expect(verdicts.isEmpty && !verdicts.hasNews)
    for sequence in [10 * span, 10 * span + 1, 10 * span - span / 4] {
      verdicts.note(.refused, of: sequence)
      #expect(verdicts[sequence] == .refused)
    }
    #expect(verdicts.size < 1 << 20)
    // Another one began elsewhere, and has nothing in common.
    var other = FilterVerdicts(lastSequence: 0, sizeLimit: 4 << 20)
    other.add(verdicts)
    #expect(other.isEmpty)
  }
}
