import Divan
import DivanLog
import DivanTesting
import Synchronization

/// File-by-file copies of a store during writes, in which each file is of another moment.
///
/// All contents of the store's directory are recorded while a program works with it. They determine
/// the possible copies: the names are those of one moment, and each file is as it was at some later
/// one, in whatever order they are copied, or deleted.
package struct LiveCopies: Sendable {
  /// The files of the directory after each call that changed something.
  private let moments: [[String: [UInt8]]]
  private let oracle: CrashOracle

  /// The permitted results of opening a copy.
  package enum Finding: String, Sendable {
    case version = "a version that the store had"
    case damage = "found damaged when they were opened"
    case damageByCheck = "found damaged by the check only"
  }

  /// Works with a store in sessions of commits, some of them weak, checkpoints and merges.
  ///
  /// Commits are also made during those calls.
  package init(seed: UInt64, sessions: Int = 3, rounds: Int = 25) throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: seed))
    let disk = fixture.fileSystem
    let moments = Mutex<[[String: [UInt8]]]>([])
    var random = SeededGenerator(seed: seed)
    for _ in 0..<sessions {
      let database = try fixture.open { $0.maintenance = .manual }
      let busy = BusyWriter(fixture, database, seed: random.next())
      disk.observeCalls { call in
        guard call.verb.isChanging else { return }
        moments.withLock { $0.append(LiveCopies.files(of: disk)) }
        // The log is flushed, and a mark written, under a lock for which another thread's commit
        // would wait; this commit is on the same thread.
        if call.verb != .flush, !call.path.hasSuffix("FLUSHED") { busy.work() }
      }
      for _ in 0..<rounds {
        try busy.commit()
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try database.writeCheckpoint()
        case 1: try database.compact()
        case 2...4: try database.compactWhatPays()
        default: break
        }
      }
      try database.close()
      disk.observeCalls(nil)
    }
    self.moments = moments.withLock { $0 }
    oracle = fixture.oracle
  }

  private static func files(of disk: SimulatedFileSystem) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in disk.names(in: CrashFixture.path) where FileName(name)?.isCopied == true {
      files[name] = try? disk.bytes(of: "\(CrashFixture.path)/\(name)")
    }
    return files
  }
}

/// Commits occasionally during other work on the store.
private final class BusyWriter: Sendable {
  private let fixture: CrashFixture
  private let database: Database
  private let random: Mutex<SeededGenerator>
  private let isWorking = Atomic(false)

  init(_ fixture: CrashFixture, _ database: Database, seed: UInt64) {
    self.fixture = fixture
    self.database = database
    random = Mutex(SeededGenerator(seed: seed))
  }

  /// Commits something during another call.
  func work() {
    guard random.withLock({ $0.next() % 16 == 0 }),
      !isWorking.exchange(true, ordering: .relaxed)
    else { return }
    defer { isWorking.store(false, ordering: .relaxed) }
    // Fails if the thread already holds the writer lock.
    try? commitNow()
  }

  func commit() throws {
    isWorking.store(true, ordering: .relaxed)
    defer { isWorking.store(false, ordering: .relaxed) }
    try commitNow()
  }

  private func commitNow() throws {
    let (id, size, kind) = random.withLock {
      (
        Int.random(in: 0..<25, using: &$0), Int.random(in: 0..<1500, using: &$0),
        Int.random(in: 0..<8, using: &$0)
      )
    }
    try fixture.writer.commit(
      database, kind == 0 ? [.delete("doc-\(id)")] : [.put("doc-\(id)", size: size)],
      durability: kind < 4 ? .full : .none)
  }
}

extension FileName {
  /// Whether the file is worth copying.
  fileprivate var isCopied: Bool {
    switch self {
    case .segment, .checkpoint, .head, .flushed: true
    default: false
    }
  }
}

extension LiveCopies {
  /// A copy, and how it was made.
  package struct Copy: Sendable {
    package var files: [String: [UInt8]] = [:]
    package var story = ""
  }

  /// Returns a copy whose files are read in random order, each some moments after the previous one.
  package func copy(seed: UInt64) -> Copy {
    var random = SeededGenerator(seed: seed)
    let pause = [1, 2, 4, 10, 30, 100].randomElement(using: &random) ?? 1
    var moment = Int.random(in: moments.indices, using: &random)
    var copy = Copy(story: "listed at moment \(moment)")
    for name in moments[moment].keys.sorted().shuffled(using: &random) {
      moment = min(moment + Int.random(in: 0...pause, using: &random), moments.count - 1)
      copy.files[name] = bytes(of: name, at: moment, &random)
      copy.story +=
        ", \(name) \(copy.files[name].map { "\($0.count) bytes" } ?? "gone") at \(moment)"
    }
    return copy
  }

  /// Returns a file at a moment, or in the middle of the next write; nil if it is deleted.
  private func bytes(
    of name: String, at moment: Int, _ random: inout SeededGenerator
  ) -> [UInt8]? {
    guard let bytes = moments[moment][name] else { return nil }
    let next = moment + 1 < moments.count ? moments[moment + 1][name] : nil
    guard let next, next.count > bytes.count, next.starts(with: bytes) else { return bytes }
    return Array(next.prefix(Int.random(in: bytes.count...next.count, using: &random)))
  }

  /// Returns the result of opening a copy.
  ///
  /// - Throws: An error if the copy shows a state that the store never had, and no damage is
  ///   reported.
  package func examine(_ copy: Copy) throws -> Finding {
    let disk = SimulatedFileSystem()
    try disk.makeDirectory(CrashFixture.path)
    for (name, bytes) in copy.files { try disk.appear("\(CrashFixture.path)/\(name)", bytes) }
    let fixture = CrashFixture(disk, CrashWriter(seed: 1), life: 900)
    var oracle = oracle
    // It may be any version, also the oldest.
    oracle.secured = 0
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      guard database.openingReport.damage.isEmpty else { return .damage }
      guard try database.check().isSound else { return .damageByCheck }
      _ = try oracle.identify(database)
      return .version
    } catch let error as DatabaseError where [.damaged, .notAStore].contains(error.code) {
      return .damage
    } catch let mismatch as CrashOracle.Mismatch {
      throw CrashOracle.Mismatch("\(mismatch); \(copy.story)")
    }
  }
}
