import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What workloads work on: the documents, and stores that several of them share.
struct Bench: Sendable {
  /// Documents of the loaded store.
  var count: Int
  /// The number of the sample, from 0 on.
  var repetition = 0
  /// Where stores are made; it exists.
  var directory: String
  /// The documents.
  var samples = Samples()

  /// Documents in one transaction of a load.
  static let transactionSize = 1000

  /// The store of this name within the directory.
  func path(_ name: String) -> String { directory + "/" + name + ".divan" }

  /// Opens the store of this name, and makes it if there is none.
  func open(
    _ name: String, _ durability: Durability = .full, reads: ReadMode = .mapped,
    remembersFilters: Bool = true
  ) throws -> Database {
    var configuration = Configuration()
    if !remembersFilters { configuration.filterMemorySize = 0 }
    configuration.durability = durability
    configuration.reads = reads
    return try Database(at: path(name), configuration: configuration)
  }

  /// Removes the store of this name, if there is one.
  func remove(_ name: String) throws {
    guard FileManager.default.fileExists(atPath: path(name)) else { return }
    try FileManager.default.removeItem(atPath: path(name))
  }

  /// Fills an open store, and returns the seconds spent in it; the documents are made before the
  /// clock starts, a transaction's worth at a time.
  @discardableResult
  func fill(_ database: Database) throws -> Double {
    var elapsed = 0.0
    for start in stride(from: 0, to: count, by: Self.transactionSize) {
      let documents = samples.documents(start..<min(start + Self.transactionSize, count))
      elapsed += try seconds {
        try database.write(durability: Durability.none) { try $0.put(contentsOf: documents) }
      }
    }
    return elapsed + (try seconds { try database.flush() })
  }

  /// Makes sure that there is a store of this name with all documents, closed.
  func load(_ name: String = "loaded") throws {
    guard !FileManager.default.fileExists(atPath: path(name)) else { return }
    if name == "loaded" {
      let database = try open(name, .none)
      try fill(database)
      try database.close()
    } else {
      try load()
      try FileManager.default.copyItem(atPath: path("loaded"), toPath: path(name))
    }
  }

  /// How many documents a workload of random reads reads.
  var readCount: Int { min(count, 100_000) }

  /// IDs to read, other ones in each repetition.
  var readIDs: [String] { samples.randomIDs(readCount, among: count, seed: 100 + repetition) }
}
