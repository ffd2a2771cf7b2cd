import Divan
import DivanLog
import DivanTesting
import TestSupport
import Testing

struct MaintenanceTests {
  /// Returns a store with a long history of changes, compactions and openings.
  private static func agedStore(
    _ fileSystem: any FileSystem, seed: UInt64 = 11
  ) throws -> (Database, PlainStore) {
    var random = SeededGenerator(seed: seed)
    let database = try Database(at: "/store.divan", configuration: .small(on: fileSystem))
    var model = PlainStore()
    for _ in 0..<150 {
      model = try database.write { try model.changed(by: $0, &random) }
    }
    return (database, model)
  }

  @Test func `an aged store has checkpoints and compacted segments, and is sound`() throws {
    let (database, model) = try MaintenanceTests.agedStore(MemoryFileSystem())
    let statistics = try database.statistics
    #expect(statistics.documentCount == model.liveIDs.count)
    #expect(statistics.checkpointSize > 0)
    #expect(statistics.segments.contains { $0.name.contains("-") })
    let report = try database.check()
    #expect(report.isSound, "\(report.problems)")
    #expect(report.documentCount == model.entries.count)
  }

  @Test func `compaction leaves no dead bytes in segments that are full`() throws {
    let (database, model) = try MaintenanceTests.agedStore(MemoryFileSystem())
    try database.compact()
    try database.compact()
    let full = try database.statistics.segments.filter { !$0.isActive }
    #expect(full.allSatisfy { $0.deadSize == 0 })
    try model.compare(with: database.snapshot())
  }

  @Test
  func `a store under repeated overwrites stays within two and a half times its live size`()
    throws
  {
    let fileSystem = MemoryFileSystem()
    let database = try Database(at: "/store.divan", configuration: .small(on: fileSystem))
    var random = SeededGenerator(seed: 5)
    let text = Value.string(String(repeating: "lorem ", count: 50))
    func overwrite(_ number: Int) throws {
      _ = try database.write { transaction in
        try transaction.replace("doc-\(number)", with: ["text": text])
      }
    }
    for number in 0..<400 { try overwrite(number) }
    let live = try database.statistics.liveSize
    var largest = 0
    for _ in 0..<4000 {
      try overwrite(Int.random(in: 0..<400, using: &random))
      largest = max(largest, try database.statistics.directorySize)
    }
    // The live bytes grow by the history that each document carries.
    let final = try database.statistics.liveSize
    // Zeros may follow the end of each segment.
    let zeros = try database.statistics.segments.count * (4 << 10)
    #expect(
      largest <= final * 5 / 2 + 2 * (16 << 10) + zeros, "\(largest) bytes for \(live), \(final)")
  }

  @Test func `the garbage of many short sessions does not accumulate`() throws {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.reserveSize = 0
    let text = Value.string(String(repeating: "lorem ", count: 20_000))
    var sizes: [Int] = []
    for round in 0..<12 as Range<Int64> {
      let database = try Database(at: "/store.divan", configuration: configuration)
      sizes.append(try database.statistics.directorySize)
      try database.write { transaction in
        for number in 0..<11 {
          _ = try transaction.replace("\(number)", with: ["text": text, "round": .int(round)])
        }
      }
      try database.close()
    }
    // Each session rewrites everything. The store has the live records, the records just replaced,
    // and those that wait for compaction.
    #expect(try #require(sizes.max()) < 5 * sizes[1], "\(sizes)")
  }

  @Test func `files of repeatedly replaced attachments do not accumulate`() throws {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.reserveSize = 0
    configuration.checkpointInterval = 1 << 20
    let database = try Database(at: "/store.divan", configuration: configuration)
    var largest = 0
    for round in 0..<30 as Range<UInt8> {
      _ = try database.write { transaction in
        var document = try transaction.document("a") ?? Document(id: "a")
        document.attachments["x"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: round, count: 200_000))
        return try transaction.put(document)
      }
      // Waits for background maintenance.
      try database.compactWhatPays()
      largest = max(largest, try database.statistics.attachmentFileCount)
    }
    #expect(largest <= 8)
  }

  @Test func `a backup of an open store has the same documents and another store ID`()
    throws
  {
    let fileSystem = MemoryFileSystem()
    let (database, model) = try MaintenanceTests.agedStore(fileSystem)
    try database.backup(to: "/copy.divan")
    try database.write { try $0.put(Document(id: "later", [:])) }
    let copy = try Database(at: "/copy.divan", configuration: .small(on: fileSystem))
    try model.compare(with: copy.snapshot())
    #expect(try copy.check().isSound)
    #expect(copy.openingReport.ending == .closed)
    #expect(copy.storeID != database.storeID)
    // Changes continue from the original's sequence number.
    let sequence = try copy.snapshot().sequence
    let stored = try copy.write { try $0.put(Document(id: "new", [:])) }
    #expect(stored.sequence == sequence + 1)
    #expect(throws: DatabaseError.self) { try database.backup(to: "/copy.divan") }
  }

  @Test func `a cancelled backup leaves nothing behind`() throws {
    let fileSystem = MemoryFileSystem()
    let (database, _) = try MaintenanceTests.agedStore(fileSystem)
    #expect(throws: CancellationError.self) {
      try database.backup(to: "/copy.divan") { _ in throw CancellationError() }
    }
    #expect(try fileSystem.list("/") == ["store.divan"])
  }

  /// Regression test: a backup continued from the files that an interrupted one had left.
  ///
  /// It counted documents twice, and would have kept those that were deleted in between. Found by
  /// the crash suite.
  @Test func `a backup that was interrupted at any call can be repeated`() throws {
    let original = SimulatedFileSystem()
    let (old, model) = try MaintenanceTests.agedStore(original)
    try old.close()
    for call in stride(from: 1, to: 60, by: 3) {
      let interrupted = original.restarted(.everything)
      let first = try Database(at: "/store.divan", configuration: .small(on: interrupted))
      interrupted.losePower(atCall: call)
      try? first.backup(to: "/copy.divan")
      let left = interrupted.restarted(.everything)
      guard try !left.exists("/copy.divan") else { continue }
      let database = try Database(at: "/store.divan", configuration: .small(on: left))
      var expected = model
      var random = SeededGenerator(seed: 5)
      for _ in 0..<5 {
        expected = try database.write { try expected.changed(by: $0, &random) }
      }
      try database.backup(to: "/copy.divan")
      let copy = try Database(at: "/copy.divan", configuration: .small(on: left))
      try expected.compare(with: copy.snapshot())
      #expect(try copy.check().isSound, "call \(call)")
      #expect(try left.list("/") == ["copy.divan", "store.divan"])
    }
  }

  @Test func `a restored store has the same documents as the backup`() throws {
    let fileSystem = MemoryFileSystem()
    let (database, model) = try MaintenanceTests.agedStore(fileSystem)
    try database.backup(to: "/backup.divan")
    try database.close()
    let configuration = Configuration.small(on: fileSystem)
    try Database.restore(from: "/backup.divan", to: "/again.divan", configuration: configuration)
    let restored = try Database(at: "/again.divan", configuration: configuration)
    try model.compare(with: restored.snapshot())
  }

  @Test func `a store exists until it is deleted, and deleting an open store fails`() throws {
    let fileSystem = MemoryFileSystem()
    let configuration = Configuration.small(on: fileSystem)
    #expect(!Database.exists(at: "/store.divan", configuration: configuration))
    let (database, _) = try MaintenanceTests.agedStore(fileSystem)
    #expect(Database.exists(at: "/store.divan", configuration: configuration))
    #expect {
      try Database.delete(at: "/store.divan", configuration: configuration)
    } throws: {
      ($0 as? DatabaseError)?.code == .storeInUse
    }
    try database.close()
    try Database.delete(at: "/store.divan", configuration: configuration)
    #expect(!Database.exists(at: "/store.divan", configuration: configuration))
    #expect(try fileSystem.list("/") == [])
  }

  @Test func `a snapshot stays readable while its segments are compacted`() throws {
    let fileSystem = MemoryFileSystem()
    let (database, model) = try MaintenanceTests.agedStore(fileSystem)
    let snapshot = try database.snapshot()
    var random = SeededGenerator(seed: 3)
    var later = model
    for _ in 0..<100 { later = try database.write { try later.changed(by: $0, &random) } }
    try database.compact()
    try model.compare(with: snapshot)
    try later.compare(with: database.snapshot())
  }

  @Test func `a segment without live records is not compacted again and again`() throws {
    // Regression: an emptied segment counted as completely dead, and was compacted into another
    // such segment without end.
    let fileSystem = MemoryFileSystem()
    let database = try Database(at: "/store.divan", configuration: .small(on: fileSystem))
    let text = Value.string(String(repeating: "x", count: 500))
    for round in 0..<200 {
      try database.write { transaction in
        for number in 0..<3 {
          _ = try transaction.replace(
            "doc-\(number)", with: ["text": text, "n": .int(Int64(round))])
        }
      }
    }
    try database.compact()
    #expect(try database.check().isSound)
    #expect(try database.statistics.documentCount == 3)
  }
}
