import Foundation
import GRDB

/// The benchmark's document as a GRDB record; its `Codable` conformance does the mapping.
extension SampleDocument: FetchableRecord, PersistableRecord {
  static var databaseTableName: String { "documents" }
}

/// SQLite through GRDB, with `Codable` records.
///
/// The choices, and the parts of GRDB's documentation that they follow:
/// - a `DatabasePool`, which is in WAL mode (`DatabasePool`, "Database Connections");
/// - a `Codable` struct that is `FetchableRecord` and `PersistableRecord`, with a column for each
///   property and JSON text for the array (README, "Codable Records");
/// - many writes in one `write`, which is one transaction (README, "Transactions and Savepoints");
/// - a cursor where rows are visited once (README, "Fetching Methods").
///
/// GRDB sets `synchronous=NORMAL`; if commits must be durable, it is raised to `FULL`.
final class GRDBEngine: RecordEngine, @unchecked Sendable {
  static let name = "grdb"
  static let workloads: Set<Workload> = [.load, .read, .scan, .commit, .records, .query, .text]
  static let reads: [ReadKind] = [.property]
  static let scans: [ScanOrder] = [.id, .sequence]
  static let form = DocumentForm.record

  let pool: DatabasePool

  init(directory: String, purpose: Purpose, cacheBytes: Int) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA cache_size = -\(cacheBytes / 1024)")
      try database.execute(sql: "PRAGMA mmap_size = \(1 << 34)")
    }
    pool = try DatabasePool(path: directory + "/store.sqlite", configuration: configuration)
    try pool.writeWithoutTransaction { database in
      try database.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS documents(
            id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, year INTEGER NOT NULL,
            rating REAL NOT NULL, done INTEGER NOT NULL, tags TEXT NOT NULL, note TEXT NOT NULL,
            created TEXT NOT NULL);
          PRAGMA synchronous = \(purpose == .durable ? "FULL" : "NORMAL");
          """)
      if purpose == .bulk { try database.execute(sql: "PRAGMA wal_autocheckpoint = 16384") }
    }
  }

  func load(_ batch: Batch) throws {
    try pool.write { database in
      for document in batch.documents { try document.record?.insert(database) }
    }
  }

  func flush() throws {
    try pool.writeWithoutTransaction { database in
      _ = try database.checkpoint(.truncate)
    }
  }

  func commit(_ document: Document) throws {
    try pool.write { database in try document.record?.insert(database) }
  }

  func read(_ ids: IDList, _ kind: ReadKind) throws -> UInt64 {
    try pool.read { database in
      var sum: UInt64 = 0
      for key in ids.strings {
        guard let record = try SampleDocument.fetchOne(database, key: key) else {
          throw PeerError("no document \(key)")
        }
        sum &+= UInt64(record.title.utf8.count)
      }
      return sum
    }
  }

  func scan(_ order: ScanOrder) throws -> (count: Int, sum: UInt64) {
    try pool.read { database in
      let column = order == .id ? Column("id") : Column.rowID
      let records = try SampleDocument.order(column).fetchCursor(database)
      var result = (count: 0, sum: UInt64(0))
      while let record = try records.next() {
        result.count += 1
        result.sum &+= UInt64(record.title.utf8.count)
      }
      return result
    }
  }

  func close() throws { try pool.close() }

  func insertRecords(_ records: [SampleDocument]) throws {
    try pool.write { database in
      for record in records { try record.insert(database) }
    }
  }

  func loadRecords() throws -> Int {
    try pool.read { database in
      try SampleDocument.fetchAll(database).reduce(0) { $0 + $1.year }
    }
  }

  func loadRecords(ids: [String]) throws -> Int {
    try pool.read { database in
      try ids.reduce(0) { try $0 + (SampleDocument.fetchOne(database, key: $1)?.year ?? 0) }
    }
  }
}
