import DivanLog
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of databases that are suspended, and resumed after others had the store.
struct SuspensionTests {
  private let disk = SimulatedDisk(seed: 1)
  private let path = "/s.divan"

  private func open(
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = disk.configuration()
    change(&configuration)
    return try Database(at: path, configuration: configuration)
  }

  private func put(_ ids: String..., to database: Database) throws {
    try database.write { transaction in
      for id in ids { try transaction.replace(id, with: ["n": 1]) }
    }
  }

  private func ids(_ database: Database) throws -> [String] {
    try database.snapshot().ids().collect()
  }

  private func expect(
    _ code: DatabaseError.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: DatabaseError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
  }

  @Test func `a suspended database has no lock, and continues with what others wrote`() throws {
    let database = try open()
    try put("a", "b", to: database)
    expect(.storeInUse) { _ = try open() }
    try database.suspend()
    #expect(database.isSuspended && disk.files.lockCount == 0)
    let other = try open()
    #expect(other.openingReport.ending == .closed)
    try put("c", to: other)
    try other.write { try _ = $0.purge("a") }
    expect(.storeInUse) { try database.resume() }
    #expect(database.isSuspended)
    try other.close()
    try database.resume()
    #expect(!database.isSuspended && disk.files.lockCount == 1)
    #expect(try ids(database) == ["b", "c"])
    try put("d", to: database)
    try database.close()
    #expect(try ids(try open()) == ["b", "c", "d"])
  }

  @Test func `calls throw while suspended, and snapshots can be read`() throws {
    let database = try open()
    try put("a", to: database)
    let snapshot = try database.snapshot()
    let calls = { [disk] in disk.changingCallCount }
    try database.suspend()
    let before = calls()
    expect(.suspended) { try put("b", to: database) }
    expect(.suspended) { _ = try database.snapshot() }
    expect(.suspended) { _ = try database.read { try $0.count } }
    expect(.suspended) { try database.flush() }
    expect(.suspended) { try database.compact() }
    expect(.suspended) { _ = try database.check() }
    expect(.suspended) { try database.backup(to: "/backup.divan") }
    expect(.suspended) { _ = try database.statistics }
    expect(.suspended) { try database.addIndex(DocumentIndex("n", on: "n")) }
    expect(.suspended) { _ = try database.purgeExpiredDocuments() }
    expect(.suspended) { _ = try database.refresh() }
    expect(.suspended) {
      _ = try database.storeAttachment(contentType: "x/y") { () -> [UInt8]? in nil }
    }
    #expect(try snapshot.document("a")?["n"] == 1)
    try database.suspend()
    #expect(calls() == before)
    try database.resume()
    try database.resume()
    #expect(try snapshot.document("a")?["n"] == 1)
    try put("b", to: database)
    #expect(try ids(database) == ["a", "b"] && snapshot.count == 1)
  }

  @Test func `a suspended database can be closed, and a closed one cannot be suspended`() throws {
    let database = try open()
    try put("a", to: database)
    let snapshot = try database.snapshot()
    try database.suspend()
    let before = disk.changingCallCount
    try database.close()
    #expect(disk.changingCallCount == before)
    expect(.closed) { try database.suspend() }
    expect(.closed) { try database.resume() }
    expect(.closed) { _ = try snapshot.document("a") }
    #expect(try ids(try open()) == ["a"])
  }

  @Test func `a database cannot be suspended or resumed inside write`() throws {
    let database = try open()
    try database.write { transaction in
      try transaction.replace("a", with: [:])
      expect(.nestedWrite) { try database.suspend() }
      expect(.nestedWrite) { try database.resume() }
      expect(.nestedWrite) { _ = try database.refresh() }
    }
    #expect(try ids(database) == ["a"])
  }

  @Test func `a suspended database keeps no files open unless a snapshot reads them`() throws {
    let database = try open { $0.readMode = .buffered }
    for number in 0..<200 { try put("\(number)", to: database) }
    try database.suspend()
    #expect(disk.files.openFileCount == 0)
    try database.resume()
    let snapshot = try database.snapshot()
    try database.suspend()
    #expect(disk.files.openFileCount > 0)
    #expect(try snapshot.count == 200)
  }

  @Test func `commits of weaker durability are flushed before the lock is released`() throws {
    let database = try open()
    try database.write(durability: .none) { try _ = $0.replace("a", with: [:]) }
    try database.write(durability: .relaxed(maxDelay: .seconds(100))) {
      try _ = $0.replace("b", with: [:])
    }
    try database.suspend()
    let after = disk.restarted(.strict)
    let opened = try Database(at: path, configuration: after.configuration())
    #expect(try ids(opened) == ["a", "b"])
    #expect(opened.openingReport.ending == .closed)
  }

  @Test(arguments: [false, true])
  func `after a failed flush, resuming finds out what is durable`(isLost: Bool) throws {
    let database = try open()
    try put("a", to: database)
    disk.failFlush(isLost ? .revertsToOldBytes(afterCalls: 0) : .takesEffect)
    expect(.outcomeUnknown) { try put("b", to: database) }
    expect(.writerStopped) { try put("c", to: database) }
    #expect(try ids(database) == ["a"])
    expect(.outcomeUnknown) { try database.suspend() }
    #expect(database.isSuspended && disk.files.lockCount == 0)
    try database.resume()
    let found = try ids(database)
    #expect(found == (isLost ? ["a"] : ["a", "b"]))
    // Writing continues, which it would not without the suspension.
    try put("c", to: database)
    let after = disk.restarted(.strict)
    let opened = try Database(at: path, configuration: after.configuration())
    #expect(try ids(opened) == found + ["c"])
  }

  @Test func `a database that has shown a commit of weaker durability that is lost is not resumed`()
    throws
  {
    let database = try open()
    try put("a", to: database)
    try database.write(durability: .none) { try _ = $0.replace("b", with: [:]) }
    #expect(try ids(database) == ["a", "b"])
    disk.failFlush(.revertsToOldBytes(afterCalls: 0))
    expect(.outcomeUnknown) { try database.suspend() }
    expect(.outcomeUnknown) { try database.resume() }
    #expect(database.isSuspended && disk.files.lockCount == 0)
    try database.close()
    #expect(try ids(try open()) == ["a"])
  }

  /// Regression: the commits were only counted, and others were taken for them.
  @Test(arguments: [1, 2])
  func `a database is not resumed if others replaced lost commits that it has shown`(
    count: Int
  ) throws {
    let database = try open()
    try put("a", to: database)
    try database.write(durability: .none) { try _ = $0.replace("b", with: [:]) }
    disk.failFlush(.revertsToOldBytes(afterCalls: 0))
    expect(.outcomeUnknown) { try database.suspend() }
    let other = try open()
    #expect(try ids(other) == ["a"])
    for number in 1...count { try put("x\(number)", to: other) }
    try other.close()
    expect(.outcomeUnknown) { try database.resume() }
    #expect(database.isSuspended && disk.files.lockCount == 0)
  }

  @Test(arguments: [false, true])
  func `a database is resumed if others found all commits that it has shown`(
    isWritten: Bool
  ) throws {
    let database = try open()
    try put("a", to: database)
    try database.write(durability: .none) { try _ = $0.replace("b", with: [:]) }
    let snapshot = try database.snapshot()
    disk.failFlush(.takesEffect)
    expect(.outcomeUnknown) { try database.suspend() }
    let other = try open()
    #expect(try ids(other) == ["a", "b"])
    if isWritten { try put("c", to: other) }
    try other.close()
    try database.resume()
    #expect(try ids(database) == (isWritten ? ["a", "b", "c"] : ["a", "b"]))
    // Observers look for documents that are gone: the number of the commit proves nothing.
    let now = try database.snapshot()
    #expect(now.view.state.purgeCount > snapshot.view.state.purgeCount)
  }

  @Test func `a store that is gone is not made again`() throws {
    let database = try open()
    try put("a", to: database)
    try database.suspend()
    try disk.files.rename(path, to: "/moved.divan")
    expect(.notFound) { try database.resume() }
    #expect(try !disk.files.exists(path))
    // Another store at its path is not taken for it, and not changed.
    let other = try open()
    try put("x", to: other)
    try other.close()
    let before = disk.contentHash
    expect(.notFound) { try database.resume() }
    #expect(disk.files.lockCount == 0)
    let afterwards = try Database(at: path, configuration: disk.configuration())
    #expect(try ids(afterwards) == ["x"])
    try afterwards.close()
    #expect(before != 0)
    try Database.delete(at: path, configuration: disk.configuration())
    try disk.files.rename("/moved.divan", to: path)
    try database.resume()
    #expect(try ids(database) == ["a"])
  }

  @Test func `an older copy of the store is refused`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/s.divan"
    let copy = directory.path + "/copy.divan"
    let database = try Database(at: path)
    try put("a", to: database)
    try database.suspend()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try database.resume()
    try put("b", to: database)
    try database.suspend()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: copy, toPath: path)
    expect(.damaged) { try database.resume() }
    #expect(database.isSuspended)
    // Its lock is free.
    #expect(try ids(try Database(at: path)) == ["a"])
  }

  @Test func `a store that was damaged meanwhile is refused, and the database stays suspended`()
    throws
  {
    let database = try open()
    for number in 0..<5 { try put("\(number)", to: database) }
    try database.suspend()
    let segment = path + "/0000000001.segment"
    try disk.corrupt(segment, atOffset: 300, mask: 1)
    expect(.damaged) { try database.resume() }
    #expect(database.isSuspended && disk.files.lockCount == 0)
    try disk.corrupt(segment, atOffset: 300, mask: 1)
    try database.resume()
    #expect(try database.snapshot().count == 5)
  }

  @Test func `a store without a commit can be suspended, and another opening writes first`() throws
  {
    let database = try open()
    try database.suspend()
    try database.resume()
    #expect(try ids(database).isEmpty)
    try database.suspend()
    let other = try open()
    try put("a", to: other)
    try other.close()
    try database.resume()
    #expect(try ids(database) == ["a"] && database.storeID == other.storeID)
    try put("b", to: database)
    try database.close()
    #expect(try ids(try open()) == ["a", "b"])
  }

  @Test func `a database in memory and one that is read only can be suspended`() throws {
    let memory = try Database.inMemory()
    try put("a", to: memory)
    try memory.suspend()
    try memory.resume()
    #expect(try ids(memory) == ["a"])
    let database = try open()
    try put("a", to: database)
    let reader = try open { $0.isReadOnly = true }
    try reader.suspend()
    try put("b", to: database)
    expect(.suspended) { _ = try reader.snapshot() }
    try reader.resume()
    #expect(try ids(reader) == ["a", "b"])
  }

  @Test func `a named snapshot, an index and history are there after resuming`() throws {
    let database = try open { $0.history = .unlimited }
    try database.addIndex(DocumentIndex("n", on: "n"))
    try put("a", to: database)
    try database.saveSnapshot(named: "first")
    try put("b", to: database)
    try database.suspend()
    let other = try open { $0.history = .unlimited }
    try put("c", to: other)
    try other.removeIndex(named: "n")
    try other.addIndex(DocumentIndex("m", on: "m"))
    try other.close()
    try database.resume()
    #expect(try database.indexes().map(\.name) == ["m"])
    #expect(try database.snapshot(named: "first").ids().collect() == ["a"])
    #expect(try database.snapshot(at: 2).ids().collect() == ["a", "b"])
    if let problem = try database.check().problems.first { throw problem }
  }

  // MARK: Attachments

  /// Returns content that gets a file of its own.
  private func long(_ seed: UInt8) -> [UInt8] { [UInt8](repeating: seed, count: 300_000) }

  @Test func `storing an attachment ends with the suspension`() throws {
    let database = try open()
    var count = 0
    expect(.suspended) {
      _ = try database.storeAttachment(contentType: "x/y") { () -> [UInt8]? in
        count += 1
        if count == 3 {
          try database.suspend()
          #expect(try disk.files.list(path + "/tmp").isEmpty)
          // The next opening uses the same names.
          try database.resume()
          _ = try database.storeAttachment(contentType: "x/y") { () -> [UInt8]? in nil }
        }
        return count < 5 ? long(UInt8(count)) : nil
      }
    }
    #expect(try disk.files.list(path + "/tmp").isEmpty)
  }

  @Test(arguments: [false, true])
  func `an attachment that was stored before is referred to afterwards only if it is there`(
    isRemoved: Bool
  ) throws {
    let database = try open()
    var pieces = [long(1)]
    let attachment = try database.storeAttachment(contentType: "x/y") { pieces.popLast() }
    try database.suspend()
    let other = try open()
    try put("a", to: other)
    // It deletes files that no document refers to.
    if isRemoved { try other.compact() }
    try other.close()
    try database.resume()
    var document = Document(id: "d", [:])
    document.attachments["x"] = attachment
    if isRemoved {
      #expect(throws: DatabaseError.self) { try database.write { try $0.put(document) } }
      #expect(try ids(database) == ["a"])
    } else {
      try database.write { try _ = $0.put(document) }
      let found = try database.snapshot().document("d")?.attachments["x"]?.data()
      #expect(found.map { Array($0) } == long(1))
    }
    if let problem = try database.check().problems.first { throw problem }
  }

  /// Regression: they were reported as damage.
  @Test func `attachments that another process removed meanwhile are not found, and no damage`()
    throws
  {
    let database = try open()
    try database.write { transaction in
      for (id, seed) in [("kept", 1), ("purged", 2)] as [(String, UInt8)] {
        var document = Document(id: id, [:])
        document.attachments["x"] = Document.Attachment(contentType: "x/y", long(seed))
        try transaction.put(document)
      }
    }
    let snapshot = try database.snapshot()
    let purged = try #require(try snapshot.document("purged")?.attachments["x"])
    let kept = try #require(try snapshot.document("kept")?.attachments["x"])
    var pieces = [long(3)]
    let stored = try database.storeAttachment(contentType: "x/y") { pieces.popLast() }
    try database.suspend()
    let other = try open()
    try other.write { try _ = $0.purge("purged") }
    try other.compact()
    try other.close()
    let before = disk.changingCallCount
    expect(.notFound) { _ = try purged.data() }
    expect(.notFound) { _ = try stored.data() }
    #expect(disk.changingCallCount == before && disk.files.lockCount == 0)
    try database.resume()
    expect(.notFound) { _ = try purged.data() }
    expect(.notFound) { _ = try stored.data() }
    #expect(Array(try kept.data()) == long(1))
    #expect(database.metrics.damageReports == 0)
    // A file that the newest version needs is still missed.
    try disk.vanish(try #require(disk.filePaths.first { $0.contains("/attachments/") }))
    expect(.damaged) { _ = try kept.data() }
    #expect(database.metrics.damageReports == 1)
  }

  /// Regression: the first read noted that the file is bad, and the next one took it for removed.
  @Test func `content stored after resuming whose file is gone is damage at each read`() throws {
    let database = try open()
    try put("a", to: database)
    try database.suspend()
    try database.resume()
    var pieces = [long(1)]
    let stored = try database.storeAttachment(contentType: "x/y") { pieces.popLast() }
    try disk.vanish(try #require(disk.filePaths.first { $0.contains("/attachments/") }))
    for _ in 0..<2 { expect(.damaged) { _ = try stored.data() } }
  }

  @Test func `a snapshot keeps attachments that are dropped after resuming`() throws {
    let database = try open()
    var document = Document(id: "d", [:])
    document.attachments["x"] = Document.Attachment(contentType: "x/y", long(1))
    try database.write { try _ = $0.put(document) }
    let snapshot = try database.snapshot()
    try database.suspend()
    try database.resume()
    try database.write { try _ = $0.purge("d") }
    try database.compact()
    let found = try snapshot.document("d")?.attachments["x"]?.data()
    #expect(found.map { Array($0) } == long(1))
  }
}
