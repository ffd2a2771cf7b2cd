import Divan
import DivanTesting

/// Compares random queries with a plain search, whatever indexes there are.
package struct QueryProof: Proof {
  package static let name = "queries"
  package static let claim =
    "a query returns what a plain search finds, with any indexes and by any operators"

  package init() {}

  package func gather(_ run: ProofRun) throws {
    let count = run.budget.choose(test: 40, ci: 400, night: 20_000, release: 400_000)
    let seeds = (0..<UInt64(count)).map { run.seed &+ $0 }
    run.forEach(seeds, name: { "store \($0)." }) { seed in
      var trial = QueryTrial(seed: seed)
      try trial.play()
      run.count("queries", trial.queryCount)
      for (name, count) in trial.operatorCounts { run.count("times the operator: \(name)", count) }
    }
    run.require("queries", atLeast: 40 * count)
    for name in QueryTrial.operators { run.require("times the operator: \(name)", atLeast: 1) }
  }
}

/// A store with random documents and indexes, and random queries of its versions.
struct QueryTrial {
  /// The operators that a plan can have, but for `nothing`, which needs no search.
  static let operators = [
    "limit", "offset", "sort", "filter", "ordered index scan", "index scan", "sequence scan",
    "ID scan", "ID list", "intersection", "union",
  ]

  private static let indexes = [
    DocumentIndex("n", on: "n"), DocumentIndex("t", on: "t"), DocumentIndex("n, t", on: "n", "t"),
    DocumentIndex("t, n", on: "t", "n"), DocumentIndex("tags", on: "tags", eachElement: true),
    DocumentIndex("few", on: "n", where: [.less("n", 12)]),
  ]

  private var random: SeededGenerator
  private var plain = PlainDocuments()
  /// The documents of a version with a name, which loses those that are purged later.
  private var past = PlainDocuments()
  private(set) var queryCount = 0
  private(set) var operatorCounts: [String: Int] = [:]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static func id(_ number: Int) -> String { "document \(number)" }

  mutating func play() throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    defer { try? database.close() }
    for index in Self.indexes where random.below(3) == 0 { try database.addIndex(index) }
    try database.write { try change($0, times: 120) }
    try database.saveSnapshot(named: "then")
    let then = plain
    past = plain
    let before = try database.snapshot()
    for _ in 0..<12 { try compare(before, plain, "newest") }
    // An index of documents that are there already.
    if random.below(2) == 0 { try database.addIndex(DocumentIndex("late", on: "n")) }
    try database.write { transaction in
      try change(transaction, times: 40)
      for _ in 0..<8 { try compare(transaction, plain, "transaction") }
    }
    let newest = try database.snapshot()
    for _ in 0..<12 { try compare(newest, plain, "changed") }
    let named = try database.snapshot(named: "then")
    for _ in 0..<6 {
      try compare(before, then, "before the change")
      try compare(named, past, "past")
    }
  }

  /// Puts, deletes and purges documents.
  private mutating func change(_ transaction: WriteTransaction, times: Int) throws {
    for _ in 0..<times {
      let id = Self.id(random.below(90))
      switch random.below(8) {
      case 0:
        plain.all[id] = nil
        _ = try transaction.delete(id)
      case 1:
        plain.all[id] = nil
        past.all[id] = nil
        _ = try transaction.purge(id)
      default:
        let properties = PlainDocuments.properties(&random)
        plain.all[id] = properties
        _ = try transaction.replace(id, with: properties.object)
      }
    }
  }

  /// Asks a random query in every way, and once more, when its filter may be cached.
  private mutating func compare(
    _ source: some QuerySource, _ documents: PlainDocuments, _ moment: String
  ) throws {
    let plain = PlainQuery(&random)
    let query = plain.query
    let expected = documents.ids(plain)
    queryCount += 1
    for _ in 0..<2 {
      let explanation = try source.explain(query)
      note(explanation.plan)
      func require<T: Equatable>(_ found: T, _ expected: T, _ what: String) throws {
        guard found != expected else { return }
        throw CrashOracle.Mismatch(
          "\(moment), \(query): \(what) \(found), expected \(expected)\n\(explanation)")
      }
      try require(try source.ids(query), expected, "IDs")
      let found = try source.find(query)
      try require(found.map(\.id), expected, "documents")
      try require(
        found.map(\.properties), expected.map { documents.all[$0]?.object ?? [:] },
        "properties")
      try require(try source.count(query), expected.count, "count")
      try require(try source.exists(query), !expected.isEmpty, "existence")
      try require(explanation.plan.rows, expected.count, "rows of the plan")
      let numbers = expected.compactMap { documents.all[$0]?.number }
      try require(
        try source.maximum(query) { $0["n"] }, numbers.max().map { Value.int(Int64($0)) }, "maximum"
      )
    }
  }

  private mutating func note(_ plan: QueryExplanation.Operator) {
    operatorCounts[plan.name, default: 0] += 1
    for input in plan.inputs { note(input) }
  }
}
