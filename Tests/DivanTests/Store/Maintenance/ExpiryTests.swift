import DivanLog
import DivanTesting
import TestSupport
import Testing

@testable import Divan

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Tests of documents that are purged when they expire.
struct ExpiryTests {
  private let disk = MemoryFileSystem()
  private let clock = SimulatedClock(stepMilliseconds: 0)

  private func open(
    _ maintenance: Configuration.MaintenanceMode = .manual, isReadOnly: Bool = false,
    transactionSizeLimit: Int? = nil
  ) throws -> Database {
    var configuration = Configuration.small(on: disk)
    if let transactionSizeLimit { configuration.transactionSizeLimit = transactionSizeLimit }
    configuration.maintenance = maintenance
    configuration.now = clock.read
    configuration.isReadOnly = isReadOnly
    return try Database(at: "/s", configuration: configuration)
  }

  /// Returns the time that is `milliseconds` from now.
  private func date(in milliseconds: Int) -> Date {
    Date(timeIntervalSince1970: Double(Int(clock.nextReading) + milliseconds) / 1000)
  }

  private func isGone(_ id: String, from database: Database, within limit: Duration = .seconds(300))
    async throws -> Bool
  {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
      if try database.snapshot().revision(of: id) == nil { return true }
      try await Task.sleep(for: .milliseconds(20))
    }
    return false
  }

  @Test func `an expiry is stored to the millisecond and changes neither revision nor sequence`()
    throws
  {
    let database = try open()
    let stored = try database.write { try $0.put(Document(id: "a", ["n": 1])) }
    let expiry = Date(timeIntervalSince1970: 1_800_000_000.1234)
    try database.write { transaction in
      #expect(try transaction.expiry(of: "a") == nil)
      try transaction.setExpiry(expiry, of: "a")
      #expect(try transaction.expiry(of: "a") == Date(timeIntervalSince1970: 1_800_000_000.123))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.expiry(of: "a") == Date(timeIntervalSince1970: 1_800_000_000.123))
    #expect(try snapshot.expiry(of: "b") == nil)
    let again = try #require(try snapshot.document("a"))
    #expect(again == stored && again.sequence == stored.sequence && snapshot.sequence == 1)
    let changes = snapshot.changes()
    #expect(try changes.collect().map(\.sequence) == [1])
    #expect(try database.check().isSound)
    try database.write { try $0.setExpiry(nil, of: "a") }
    #expect(try database.snapshot().expiry(of: "a") == nil)
    #expect(try database.check().isSound)
  }

  @Test func `expired documents are purged, and no others`() throws {
    let database = try open()
    try database.write { transaction in
      for number in 0..<1200 {
        try transaction.put(Document(id: "\(number)", ["n": .int(Int64(number))]))
        if number % 2 == 0 { try transaction.setExpiry(date(in: number), of: "\(number)") }
      }
      // A deleted document expires as well.
      try transaction.delete("8")
    }
    #expect(try database.purgeExpiredDocuments() == 1)
    clock.advance(by: .milliseconds(1099))
    let before = try database.snapshot()
    #expect(try database.purgeExpiredDocuments() == 549)
    #expect(try database.purgeExpiredDocuments() == 0)
    let snapshot = try database.snapshot()
    #expect(try snapshot.count == 650)
    #expect(try snapshot.revision(of: "8") == nil)
    #expect(try snapshot.exists("1100") && snapshot.exists("7") && !snapshot.exists("1098"))
    #expect(try before.count == 1198)
    #expect(try before.exists("1098"))
    #expect(try database.check().isSound)
  }

  /// One transaction purged 500 documents, however long their IDs were, and failed each time.
  @Test func `expired documents are purged in transactions that are not too large`() throws {
    let database = try open(transactionSizeLimit: 10_000)
    let ids = (0..<300).map { "\($0)-\(String(repeating: "x", count: 200))" }
    for id in ids {
      try database.write { transaction in
        try transaction.put(Document(id: id, ["n": 1]))
        try transaction.setExpiry(date(in: 1), of: id)
      }
    }
    clock.advance(by: .seconds(10))
    #expect(try database.purgeExpiredDocuments() == 300)
    #expect(try database.snapshot().count == 0)
    #expect(try database.check().isSound)
  }

  @Test func `later revisions and branches keep the expiry, and the last expiry set applies`()
    throws
  {
    let database = try open()
    try database.write { transaction in
      try transaction.put(Document(id: "a", ["n": 1]))
      try transaction.setExpiry(date(in: 100), of: "a")
      try transaction.setExpiry(date(in: 300), of: "a")
      try transaction.update("a") { $0["n"] = 2 }
      _ = try transaction.insert(
        Document(id: "a", ["n": 0]),
        history: [try RevisionID(parsing: "1-\(String(repeating: "a", count: 32))")])
      try transaction.setExpiry(date(in: 200), of: "a")
    }
    #expect(try database.snapshot().branches(of: "a").map { $0["n"] } == [2, 0])
    #expect(try database.snapshot().expiry(of: "a") == date(in: 200))
    clock.advance(by: .milliseconds(199))
    #expect(try database.purgeExpiredDocuments() == 0)
    clock.advance(by: .milliseconds(1))
    #expect(try database.purgeExpiredDocuments() == 1)
    // Nothing of it is left, and a new document with its ID does not expire.
    try database.write { _ = try $0.put(Document(id: "a", ["n": 5])) }
    clock.advance(by: .seconds(1000))
    #expect(try database.purgeExpiredDocuments() == 0)
    #expect(try database.snapshot().branches(of: "a").map { $0["n"] } == [5])
    #expect(try database.check().isSound)
  }

  @Test func `an expiry needs an existing document and a valid date`() throws {
    let database = try open()
    try database.write { _ = try $0.put(Document(id: "a")) }
    func code(_ date: Date?, _ id: String) -> DatabaseError.Code? {
      do {
        try database.write { try $0.setExpiry(date, of: id) }
        return nil
      } catch {
        return (error as? DatabaseError)?.code
      }
    }
    #expect(code(Date(timeIntervalSince1970: 0), "b") == .notFound)
    #expect(code(nil, "b") == .notFound)
    #expect(code(Date(timeIntervalSince1970: .infinity), "a") == .invalidValue)
    #expect(code(Date(timeIntervalSince1970: 1e12), "a") == .invalidValue)
    #expect(code(Date(timeIntervalSince1970: -1e300), "a") == nil)
    #expect(try database.snapshot().expiry(of: "a") == Date(timeIntervalSince1970: 0))
  }

  @Test func `an expiry that was rolled back purges nothing`() throws {
    let database = try open()
    try database.write { transaction in
      try transaction.put(Document(id: "a"))
      try? transaction.savepoint {
        try transaction.setExpiry(date(in: -1), of: "a")
        throw CancellationError()
      }
    }
    #expect(try database.purgeExpiredDocuments() == 0)
    #expect(try database.snapshot().exists("a"))
  }

  @Test(.timeLimit(.minutes(20)))
  func `documents are purged in the background when they expire`()
    async throws
  {
    var configuration = Configuration()
    configuration.fileSystem = disk
    let database = try Database(at: "/s", configuration: configuration)
    try await database.write { transaction in
      for id in ["soon", "sooner", "never", "late"] { try transaction.put(Document(id: id)) }
      try transaction.setExpiry(Date().addingTimeInterval(0.5), of: "soon")
      try transaction.setExpiry(Date().addingTimeInterval(1000), of: "late")
    }
    try await database.write { try $0.setExpiry(Date().addingTimeInterval(0.1), of: "sooner") }
    #expect(try await isGone("sooner", from: database))
    #expect(try await isGone("soon", from: database))
    #expect(try database.snapshot().count == 2)
  }

  @Test(.timeLimit(.minutes(20)))
  func `documents that expired while the store was closed are purged after opening`() async throws {
    do {
      let database = try open()
      try await database.write { transaction in
        for id in ["a", "b"] { try transaction.put(Document(id: id)) }
        try transaction.setExpiry(date(in: 1000), of: "a")
      }
      try await database.close()
    }
    clock.advance(by: .seconds(2))
    let reader = try open(isReadOnly: true)
    #expect(throws: DatabaseError.self) { try reader.purgeExpiredDocuments() }
    #expect(reader.count == 2)
    let database = try open(.background)
    #expect(try await isGone("a", from: database))
    #expect(try database.snapshot().count == 1)
    try await database.close()
    let again = try open()
    #expect(try again.snapshot().revision(of: "a") == nil)
  }

  @Test func `an unreadable expired document is reported, and the others are purged`() throws {
    let disk = SimulatedFileSystem()
    func open() throws -> Database {
      var configuration = Configuration.small(on: disk)
      configuration.maintenance = .manual
      configuration.now = clock.read
      return try Database(at: "/s.divan", configuration: configuration)
    }
    let text = String(repeating: "b", count: 50)
    do {
      let database = try open()
      for id in ["a", "b", "c"] {
        try database.write { transaction in
          try transaction.put(Document(id: id, ["text": .string(id == "b" ? text : "")]))
          try transaction.setExpiry(date(in: -10), of: id)
        }
      }
      try database.writeCheckpoint()
      try database.close()
    }
    let name = try #require(try disk.list("/s.divan").first { $0.hasSuffix(".segment") })
    let bytes = try disk.contents(of: "/s.divan/\(name)", limit: 1 << 20).array
    // The document's last record.
    let offset = try #require(
      bytes.indices.dropLast(50).last { bytes[$0..<$0 + 50].elementsEqual(text.utf8) })
    try disk.corrupt("/s.divan/\(name)", atOffset: offset, mask: 1)
    let database = try open()
    #expect {
      try database.purgeExpiredDocuments()
    } throws: {
      ($0 as? DatabaseError)?.code == .damaged
    }
    let ids = try database.snapshot().ids()
    #expect(try ids.collect() == ["b"])
    // In the background the error is recorded, and purging is tried again later.
    #expect(try database.statistics.maintenanceProblem == nil)
    database.store.purgeExpiredInBackground()
    #expect(try database.statistics.maintenanceProblem?.code == .damaged)
  }

  @Test func `an expiry that is set while the database closes starts no maintenance`() throws {
    let database = try open(.background)
    try database.write { _ = try $0.put(Document(id: "a")) }
    let store = database.store
    try database.close()
    store.noteExpiry(1)
    store.maintenance.expiry.arm(1, store)
    store.purgeExpiredInBackground()
    #expect(store.maintenance.problem == nil)
    let again = try open()
    #expect(try again.snapshot().document("a") != nil)
  }
}

extension ExpiryTests {
  @Test func `a pending expiry or flush does not keep a released database open`()
    async throws
  {
    func releasedStore() throws -> Store {
      let database = try open(.background)
      try database.write(durability: .relaxed(maxDelay: .seconds(3600))) { transaction in
        _ = try transaction.put(Document(id: "a"))
        try transaction.setExpiry(date(in: 3_000_000), of: "a")
      }
      return database.store
    }
    weak let store = try releasedStore()
    for _ in 0..<60_000 where store != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(store == nil)
    let again = try open()
    #expect(try again.snapshot().document("a") != nil)
  }
}

extension Database {
  fileprivate var count: Int { (try? snapshot().count) ?? -1 }
}
