import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests that compare queries, with and without indexes, with a plain search through all documents.
struct QueryAgreementTests {
  /// Compares a query's results with those of the plain search.
  private func expect(
    _ source: some QuerySource, _ plain: PlainQuery, _ core: QueryCore, _ note: String
  ) throws {
    var query = Query<Document>()
    query.core = core
    let expected = plain.ids(core)
    let explanation = try source.explain(query)
    let comment = "\(note): \(query)\n\(explanation)"
    let found = try source.ids(query)
    #expect(found == expected, "\(comment)")
    #expect(try source.find(query).map(\.id) == expected, "\(comment)")
    #expect(try source.count(query) == expected.count, "\(comment)")
    #expect(try source.exists(query) == !expected.isEmpty, "\(comment)")
    #expect(try source.first(query)?.id == expected.first, "\(comment)")
    #expect(explanation.results == expected.count, "\(comment)")
  }

  /// Gives some documents several branches, one of which wins.
  private func branch(
    in transaction: WriteTransaction, _ generator: inout RandomQueries, _ plain: inout PlainQuery
  ) throws {
    for _ in 0..<10 {
      let id = "doc-\(generator.random.below(80))"
      guard let base = try transaction.document(id) else { continue }
      for _ in 0..<2 {
        var mine = base
        for name in ["a", "n", "t", "tags"] { mine[name] = nil }
        for (name, value) in generator.document() where name != "u" { mine[name] = value }
        try transaction.put(mine, onConflict: .branch)
      }
      let winner = try #require(try transaction.document(id))
      plain.documents[id] = winner.properties
    }
  }

  private func run(seed: UInt64, indexes: [DocumentIndex]) throws {
    var generator = RandomQueries(seed: seed)
    var plain = PlainQuery(documents: [:])
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<80 {
        let document = generator.document()
        plain.documents["doc-\(number)"] = document
        _ = try transaction.put(Document(id: "doc-\(number)", document))
      }
    }
    for index in indexes { try database.addIndex(index) }
    try database.write { try branch(in: $0, &generator, &plain) }
    let snapshot = try database.snapshot()
    let before = plain
    for _ in 0..<50 { try expect(snapshot, plain, generator.query(), "seed \(seed)") }
    // A transaction reads its own changes; the snapshot stays unchanged.
    try database.write { transaction in
      for _ in 0..<30 {
        let id = "doc-\(generator.random.below(100))"
        if generator.random.below(3) == 0 {
          _ = try transaction.delete(id)
        } else {
          _ = try transaction.replace(id, with: generator.document())
        }
        // If the document had several branches, another one may win.
        plain.documents[id] = try transaction.document(id)?.properties
      }
      for _ in 0..<20 { try expect(transaction, plain, generator.query(), "seed \(seed), changed") }
    }
    for _ in 0..<10 { try expect(snapshot, before, generator.query(), "seed \(seed), before") }
    let newest = try database.snapshot()
    for _ in 0..<10 { try expect(newest, plain, generator.query(), "seed \(seed), newest") }
    try database.close()
  }

  @Test(arguments: 1...12)
  func `random queries without indexes agree with a plain search`(seed: UInt64) throws {
    try run(seed: seed, indexes: [])
  }

  @Test(arguments: 101...130)
  func `random queries with indexes agree with a plain search`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let all = RandomQueries.indexes
    let indexes =
      seed % 5 == 0 ? all : all.filter { _ in random.below(3) == 0 }
    try run(seed: seed, indexes: indexes)
  }

  @Test func `random queries of a past version agree with a plain search`() throws {
    var configuration = Configuration()
    configuration.history = .unlimited
    let database = try Database.inMemory(configuration: configuration)
    var generator = RandomQueries(seed: 7)
    var plain = PlainQuery(documents: [:])
    for index in RandomQueries.indexes { try database.addIndex(index) }
    try database.write { transaction in
      for number in 0..<40 {
        let document = generator.document()
        plain.documents["doc-\(number)"] = document
        _ = try transaction.put(Document(id: "doc-\(number)", document))
      }
    }
    try database.saveSnapshot(named: "then")
    try database.write { transaction in
      for number in 0..<20 {
        _ = try transaction.replace("doc-\(number)", with: generator.document())
      }
    }
    let past = try database.snapshot(named: "then")
    for _ in 0..<40 { try expect(past, plain, generator.query(), "past") }
    try database.close()
  }

  @Test(arguments: 201...206)
  func `evaluating documents one by one gives the matches and the order of the query`(
    seed: UInt64
  ) throws {
    var generator = RandomQueries(seed: seed)
    var plain = PlainQuery(documents: [:])
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<60 {
        let document = generator.document()
        plain.documents["doc-\(number)"] = document
        _ = try transaction.put(Document(id: "doc-\(number)", document))
      }
    }
    let snapshot = try database.snapshot()
    for _ in 0..<60 {
      var query = generator.query()
      (query.limit, query.offset) = (nil, 0)
      let evaluator = try DocumentEvaluator(query, in: snapshot.view)
      var matches: [(key: [UInt8], id: String)] = []
      for id in plain.documents.keys {
        let document = try #require(try snapshot.document(id))
        if let key = try evaluator.key(of: document, in: snapshot.view) {
          matches.append((key, id))
        }
      }
      matches.sort { $0.key.lexicographicallyPrecedes($1.key) }
      #expect(matches.map(\.id) == plain.ids(query), "seed \(seed): \(query)")
    }
    try database.close()
  }

  @Test(.partOfProof)
  func `every operator yields what a plain search finds`() throws {
    let run = ProofRun(QueryProof.name, budget: .test)
    try QueryProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3).joined(separator: "\n"))")
  }
}
