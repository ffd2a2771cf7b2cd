import DivanLog
import DivanTesting
import Foundation
import Testing

@testable import Divan

/// Tests that compare repeated filters with a plain search during changes of every kind.
struct PredicateCacheRunTests {
  private struct Refusal: Error {}

  /// A database, its expected contents, and filters that are evaluated after each step.
  private struct Run {
    let seed: UInt64
    let fileSystem = MemoryFileSystem()
    var generator: RandomQueries
    var plain = PlainQuery(documents: [:])
    let queries: [QueryCore]
    var database: Database
    /// Older versions and their expected contents.
    var pinned: [(Snapshot, PlainQuery)] = []

    init(seed: UInt64) throws {
      self.seed = seed
      var random = RandomQueries(seed: seed)
      queries = (0..<12).map { _ in random.query() }
      generator = random
      database = try Run.open(fileSystem)
    }

    static func open(_ fileSystem: MemoryFileSystem) throws -> Database {
      var configuration = Configuration()
      configuration.fileSystem = fileSystem
      configuration.maintenance = .manual
      configuration.setFilesSmallForTests()
      return try Database(at: "/run.divan", configuration: configuration)
    }

    private mutating func id() -> String { "doc-\(generator.random.below(90))" }

    /// Makes one change to one document.
    private mutating func change(_ transaction: WriteTransaction) throws {
      let id = id()
      switch generator.random.below(10) {
      case 0: _ = try transaction.delete(id)
      case 1: try transaction.purge(id)
      case 2:
        guard let base = try transaction.document(id) else { break }
        for _ in 0..<2 {
          var mine = base
          for (name, value) in generator.document() { mine[name] = value }
          try transaction.put(mine, onConflict: .branch)
        }
      case 3:
        if try transaction.exists(id) { try transaction.setExpiry(.distantFuture, of: id) }
      default: _ = try transaction.replace(id, with: generator.document())
      }
      plain.documents[id] = try transaction.document(id)?.properties
    }

    mutating func step() throws {
      switch generator.random.below(12) {
      case 0:
        let before = plain
        try? database.write { transaction in
          for _ in 0..<5 { try change(transaction) }
          for query in queries { _ = try transaction.count(typed(query)) }
          throw Refusal()
        }
        plain = before
      case 1: try database.writeCheckpoint()
      case 2: try database.compact()
      case 3:
        pinned = []
        try database.close()
        database = try Run.open(fileSystem)
      case 4: pinned.append((try database.snapshot(), plain))
      default:
        let count = 1 + generator.random.below(6)
        try database.write { transaction in for _ in 0..<count { try change(transaction) } }
      }
    }

    func typed(_ core: QueryCore) -> Query<Document> {
      var query = Query<Document>()
      query.core = core
      return query
    }

    func expect() throws {
      for (snapshot, plain) in pinned + [(try database.snapshot(), plain)] {
        for core in queries {
          let (query, ids) = (typed(core), plain.ids(core))
          #expect(try snapshot.count(query) == ids.count, "seed \(seed): \(query)")
          #expect(try snapshot.ids(query) == ids, "seed \(seed): \(query)")
          #expect(try snapshot.exists(query) == !ids.isEmpty, "seed \(seed): \(query)")
          let groups = try snapshot.groups(query, by: { $0["n"] }, .count)
          #expect(groups.map(\.1).reduce(0, +) == ids.count, "seed \(seed): \(query)")
        }
      }
    }
  }

  @Test(arguments: 1...6)
  func `repeated filters agree with a plain search after any changes`(
    seed: UInt64
  ) throws {
    var run = try Run(seed: seed)
    for _ in 0..<30 {
      try run.step()
      try run.expect()
    }
    try run.database.close()
  }
}
