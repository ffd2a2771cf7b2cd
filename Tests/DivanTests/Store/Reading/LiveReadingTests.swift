import DivanLog
import DivanTesting
import Dispatch
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of a store that is opened for reading while another opening writes to it.
struct LiveReadingTests {
  @Test(arguments: [true, false])
  func `a reader sees a whole commit, no older than the last acknowledged one`(isMapped: Bool)
    throws
  {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration.crashing(on: fileSystem, life: 1)
    configuration.readMode = isMapped ? .mapped : .buffered
    let database = try Database(at: CrashFixture.path, configuration: configuration)
    let acknowledged = Atomic(0)
    let isDone = Atomic(false)
    let ended = DispatchSemaphore(value: 0)
    DispatchQueue(label: "writer").async {
      for round in 1...400 {
        try? database.write { transaction in
          // Three documents that always have the same round, with some text for size.
          for id in ["a", "b", "c"] {
            try transaction.replace(
              id,
              with: [
                "round": .int(Int64(round)), "text": .string(String(repeating: "x", count: 300)),
              ])
          }
          if round % 5 == 0 { try transaction.replace("x-\(round % 7)", with: [:]) }
        }
        acknowledged.store(round, ordering: .releasing)
        if isDone.load(ordering: .relaxed) { break }
      }
      isDone.store(true, ordering: .releasing)
      ended.signal()
    }
    var readerConfiguration = Configuration.crashing(on: fileSystem, life: 2)
    readerConfiguration.isReadOnly = true
    readerConfiguration.readMode = isMapped ? .mapped : .buffered
    waitUntil { acknowledged.load(ordering: .acquiring) > 0 }
    var count = 0
    while !isDone.load(ordering: .acquiring) {
      let least = acknowledged.load(ordering: .acquiring)
      let reader = try Database(at: CrashFixture.path, configuration: readerConfiguration)
      #expect(reader.openingReport.damage.isEmpty, "\(reader.openingReport)")
      let snapshot = try reader.snapshot()
      let rounds = try snapshot.documents(["a", "b", "c"]).map { $0?["round"]?.intValue ?? -1 }
      #expect(Set(rounds).count == 1, "\(rounds)")
      #expect(rounds[0] >= least, "\(rounds[0]) of \(least)")
      try reader.close()
      count += 1
      if count == 400 { isDone.store(true, ordering: .releasing) }
    }
    ended.wait()
    #expect(count > 0)
    print("\(count) openings during \(acknowledged.load(ordering: .relaxed)) commits")
  }

  /// Opens a reader at each call of the writer that changes something.
  @Test(arguments: [CrashWorkload.rotating, .overwriting, .compacting, .reopened])
  func `a reader that opens between any two calls of the writer sees all acknowledged commits`(
    workload: CrashWorkload
  ) throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    try workload.prepare(fixture)
    let problems = Recorder<String>()
    let subject = fixture.fileSystem
    subject.observeChangingCalls { call in
      guard subject.names(in: CrashFixture.path).contains(where: { $0.hasSuffix(".segment") })
      else {
        return
      }
      do {
        let reader = try fixture.open {
          $0.isReadOnly = true
        }
        if let damage = reader.openingReport.damage.first { throw damage }
        _ = try fixture.writer.oracle.withLock { $0 }.identify(reader)
      } catch {
        problems.append("call \(call): \(error)")
      }
    }
    try workload.work(fixture)
    subject.observeChangingCalls(nil)
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
  }

  @Test func `a segment that is added after a reader lists the directory is no damage`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 1500)
    let racing = RacingFileSystem(fixture.fileSystem) {
      // The writer rotates the segment just after the reader has listed the directory.
      try? fixture.fill(database, 4..<12, size: 3000)
    }
    var configuration = Configuration.crashing(on: racing, life: 7)
    configuration.isReadOnly = true
    let reader = try Database(at: CrashFixture.path, configuration: configuration)
    #expect(reader.openingReport.damage.isEmpty, "\(reader.openingReport)")
    _ = try fixture.writer.oracle.withLock { try $0.identify(reader) }
  }
}

/// A file system that runs a closure once, just after a directory was listed for the second time.
private final class RacingFileSystem: FileSystem {
  private let base: SimulatedFileSystem
  private let race: @Sendable () -> Void
  private let count = Atomic(0)

  init(_ base: SimulatedFileSystem, _ race: @escaping @Sendable () -> Void) {
    self.base = base
    self.race = race
  }

  func list(_ path: String) throws(SystemError) -> [String] {
    let names = try base.list(path)
    if count.wrappingAdd(1, ordering: .relaxed).newValue == 2 { race() }
    return names
  }

  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    try base.open(path, access)
  }
  func rename(_ path: String, to newPath: String) throws(SystemError) {
    try base.rename(path, to: newPath)
  }
  func link(_ path: String, to newPath: String) throws(SystemError) {
    try base.link(path, to: newPath)
  }
  func remove(_ path: String) throws(SystemError) { try base.remove(path) }
  func makeDirectory(_ path: String) throws(SystemError) { try base.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(SystemError) { try base.removeDirectory(path) }
  func status(_ path: String) throws(SystemError) -> FileStatus { try base.status(path) }
  func flushDirectory(_ path: String) throws(SystemError) { try base.flushDirectory(path) }
  func canonicalPath(_ path: String) throws(SystemError) -> String { try base.canonicalPath(path) }
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    try base.lock(path, note: note)
  }
}
