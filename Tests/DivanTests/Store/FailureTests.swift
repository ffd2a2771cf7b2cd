import DivanLog
import DivanTesting
import Dispatch
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of mistakes of callers, other programs and the machine.
///
/// Each results in a clear error, and no data is lost.
struct FailureTests {
  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError {
      #expect(!error.message.isEmpty)
      return error.code
    } catch {
      Issue.record("not an error of Divan: \(error)")
      return nil
    }
  }

  /// Runs `body` with a store of one document, which each failure must leave unchanged.
  private func withStore(_ body: (Database, SimulatedFileSystem) throws -> Void) throws {
    let fileSystem = SimulatedFileSystem()
    let fixture = CrashFixture(fileSystem, CrashWriter(seed: 1))
    let database = try fixture.open()
    try database.write { try $0.replace("film", with: ["title": "Metropolis"]) }
    try body(database, fileSystem)
    try database.close()
    let reopened = try fixture.open()
    let snapshot = try reopened.snapshot()
    #expect(try snapshot.count == 1)
    #expect(try snapshot.document("film")?["title"] == "Metropolis")
  }

  @Test func `a store that cannot be locked reports why, and can still be opened read-only`() throws
  {
    for (failure, expected) in [
      (SystemError.Code.noAccess, DatabaseError.Code.accessDenied), (.notPermitted, .accessDenied),
      (.readOnlyFileSystem, .readOnly), (.tooManyOpenFiles, .resourceExhausted),
    ] {
      let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
      let first = try fixture.open()
      try fixture.commit(first, [.put("a", size: 1)])
      try first.close()
      fixture.fileSystem.fail(.lock, with: failure, isLasting: true)
      #expect(code { _ = try fixture.open() } == expected)
      // A read-only medium can be read.
      let reader = try fixture.open { $0.isReadOnly = true }
      #expect(try reader.snapshot().document("a") != nil)
      fixture.fileSystem.stopFailing()
      let again = try fixture.open()
      #expect(try again.snapshot().document("a") != nil)
    }
  }

  @Test func `a file, a directory with other files, and a missing path are not opened as a store`()
    throws
  {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/file", .creating)
    try file.write(SharedBytes(copying: [1]), at: 0)
    var configuration = Configuration.crashing(on: fileSystem, life: 1)
    #expect(code { _ = try Database(at: "/file", configuration: configuration) } == .notAStore)
    try fileSystem.makeDirectory("/other")
    _ = try fileSystem.open("/other/letter.txt", .creating)
    #expect(code { _ = try Database(at: "/other", configuration: configuration) } == .notAStore)
    #expect(fileSystem.names(in: "/other") == ["letter.txt"])
    _ = try Database(at: "/new/in/here", configuration: configuration)
    #expect(fileSystem.names(in: "/new/in") == ["here"])
    let within = code { _ = try Database(at: "/file/where", configuration: configuration) }
    #expect(within != nil)
    configuration.isReadOnly = true
    #expect(code { _ = try Database(at: "/nothing", configuration: configuration) } == .notFound)
    #expect(code { _ = try Database(at: "/file", configuration: configuration) } != nil)
  }

  @Test func `a second opening for writing fails, even through a symbolic link`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/store.divan"
    let database = try Database(at: path)
    try database.write { try $0.replace("a", with: [:]) }
    do {
      _ = try Database(at: path)
      Issue.record("opened twice")
    } catch let error as DatabaseError {
      #expect(error.code == .storeInUse)
      #expect(error.message.contains("in this process"))
      #expect(error.hint != nil)
    }
    try makeSymbolicLink(at: directory.path + "/alias", to: path)
    #expect(code { _ = try Database(at: directory.path + "/alias") } == .storeInUse)
    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    #expect(try reader.snapshot().exists("a"))
    #expect(code { try reader.write { _ in } } == .readOnly)
    try database.close()
    #expect(try Database(at: path).snapshot().view.state.documentCount == 1)
  }

  @Test func `every call after closing throws the error closed`() throws {
    try withStore { database, _ in
      let snapshot = try database.snapshot()
      var cursor = snapshot.documents()
      var feed = snapshot.changes()
      try database.close()
      try database.close()
      #expect(code { _ = try snapshot.document("film") } == .closed)
      #expect(code { _ = try snapshot.exists("film") } == .closed)
      #expect(code { _ = try cursor.next() } == .closed)
      #expect(code { _ = try feed.next() } == .closed)
      #expect(code { _ = try database.snapshot() } == .closed)
      #expect(code { try database.write { _ in } } == .closed)
      #expect(code { try database.flush() } == .closed)
      #expect(code { try database.compact() } == .closed)
    }
  }

  @Test func `a cursor returns no prefetched documents after the database is closed`() throws {
    let directory = try TemporaryDirectory()
    let database = try Database(at: directory.path + "/Walk.divan")
    try database.write { transaction in
      for id in ["film", "novel", "play"] { _ = try transaction.put(Document(id: id)) }
    }
    var cursor = try database.snapshot().documents()
    #expect(try cursor.next()?.id == "film")
    try database.close()
    #expect(code { _ = try cursor.next() } == .closed)
  }

  @Test func `an invalid ID or value fails the write and leaves the store unchanged`() throws {
    try withStore { database, _ in
      func refused(_ body: (WriteTransaction) throws -> Void) -> DatabaseError.Code? {
        code {
          try database.write {
            try $0.delete("film"); try body($0)
          }
        }
      }
      for id in ["", "_design", String(repeating: "x", count: 5000)] {
        #expect(
          refused { try $0.replace(id, with: [:]) } == .invalidDocumentID, "\(id.prefix(9))")
      }
      #expect(refused { try $0.replace("a", with: ["n": .double(.nan)]) } == .invalidValue)
      #expect(refused { try $0.replace("a", with: ["n": .double(.infinity)]) } == .invalidValue)
      var deep = Value.int(1)
      for _ in 0..<5000 { deep = .array([deep]) }
      #expect(refused { try $0.replace("a", with: ["deep": deep]) } == .documentTooLarge)
      let huge = Value.string(String(repeating: "x", count: 17 << 20))
      #expect(refused { try $0.replace("a", with: ["huge": huge]) } == .documentTooLarge)
    }
  }

  @Test func `a transaction larger than the size limit fails as a whole`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.transactionSizeLimit = 10_000 }
    try fixture.commit(database, [.put("a", size: 100)])
    let error = code {
      try database.write { transaction in
        for number in 0..<100 {
          try transaction.replace(
            "doc-\(number)", with: ["x": .string(String(repeating: "x", count: 500))])
        }
      }
    }
    #expect(error == .transactionTooLarge)
    #expect(try database.snapshot().count == 2)
  }

  @Test func `a nested write throws instead of deadlocking, and an ended transaction is closed`()
    throws
  {
    try withStore { database, _ in
      try database.write { _ in
        #expect(code { try database.write { _ in } } == .nestedWrite)
        #expect(code { try database.close() } == .nestedWrite)
      }
      var kept: WriteTransaction?
      try database.write { kept = $0 }
      #expect(code { _ = try kept?.document("film") } == .closed)
      #expect(code { try kept?.delete("film") } == .closed)
    }
  }

  @Test func `a write that waits for the writer lock longer than its timeout throws timedOut`()
    throws
  {
    try withStore { database, _ in
      let begun = DispatchSemaphore(value: 0)
      let end = DispatchSemaphore(value: 0)
      let ended = DispatchSemaphore(value: 0)
      DispatchQueue(label: "writer").async {
        try? database.write { _ in
          begun.signal()
          end.wait()
        }
        ended.signal()
      }
      begun.wait()
      #expect(code { try database.write(timeout: .milliseconds(20)) { _ in } } == .timedOut)
      end.signal()
      ended.wait()
      try database.write(timeout: .seconds(5)) { _ in }
    }
  }

  @Test func `a cancelled opening leaves the store unchanged`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<9)
      fixture.fileSystem.losePower(atCall: 0)
    }
    let after = CrashFixture(fixture.fileSystem.restarted(.processEnd), fixture.writer, life: 9)
    for _ in 0..<2 {
      #expect(throws: CancellationError.self) {
        try after.open { $0.openingProgress = { _ in throw CancellationError() } }
      }
    }
    let progress = Recorder<Double>()
    let database = try after.open {
      $0.openingProgress = {
        progress.append($0)
      }
    }
    _ = try fixture.writer.oracle.withLock { try $0.identify(database) }
    #expect(progress.all.allSatisfy { (0...1).contains($0) })
    #expect(progress.all.last == 1)
  }
}
