import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The environment of workloads: the documents, and stores that several workloads share.
struct Bench: Sendable {
  /// The number of documents in the loaded store.
  var count: Int
  /// The number of the sample, from 0.
  var repetition = 0
  /// The directory for stores; it exists.
  var directory: String
  /// The documents.
  var samples = Samples()

  /// The number of documents in one transaction of a load.
  static let transactionSize = 1000

  /// Returns the path of the store with this name.
  func path(_ name: String) -> String { directory + "/" + name + ".divan" }

  /// Opens the store with this name; creates it if there is none.
  func open(
    _ name: String, _ durability: Durability = .full, reads: ReadMode = .mapped,
    cachesPredicates: Bool = true
  ) throws -> Database {
    var configuration = Configuration()
    if !cachesPredicates { configuration.predicateCacheSize = 0 }
    configuration.durability = durability
    configuration.readMode = reads
    return try Database(at: path(name), configuration: configuration)
  }

  /// Whether there is a store with this name.
  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// Removes the store with this name, if there is one.
  func remove(_ name: String) throws {
    guard exists(name) else { return }
    try FileManager.default.removeItem(atPath: path(name))
  }

  /// Fills an open store, and returns the seconds spent in it.
  ///
  /// The documents of each transaction are created before the clock starts.
  @discardableResult
  func fill(_ database: Database) throws -> Double {
    var elapsed = 0.0
    for start in stride(from: 0, to: count, by: Self.transactionSize) {
      let documents = samples.documents(start..<min(start + Self.transactionSize, count))
      elapsed += try seconds {
        try database.write(durability: Durability.none) { _ = try $0.put(contentsOf: documents) }
      }
    }
    return elapsed + (try seconds { try database.flush() })
  }

  /// Ensures that there is a closed store with this name and all documents.
  func load(_ name: String = "loaded") throws {
    guard !exists(name) else { return }
    if name == "loaded" {
      let database = try open(name, .none)
      try fill(database)
      try database.close()
    } else {
      try load()
      try FileManager.default.copyItem(atPath: path("loaded"), toPath: path(name))
    }
  }

  /// The number of documents that a workload of random reads reads.
  var readCount: Int { min(count, 100_000) }

  /// The IDs to read, which differ in each repetition.
  var readIDs: [String] { samples.randomIDs(readCount, among: count, seed: 100 + repetition) }
}
