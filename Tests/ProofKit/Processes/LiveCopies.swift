import Divan
import DivanLog
import DivanTesting
import Synchronization

/// Copies of a store that were made file by file while it was written to: each file is of another moment.
///
/// Everything that a store's directory ever held is remembered while a program works with it. From that
/// follows what a copy may be: the names are those of one moment, and each file is as it was at some later
/// one, in whatever order they are copied, or gone.
package struct LiveCopies: Sendable {
  /// The files of the directory after each call that changed something.
  private let moments: [[String: [UInt8]]]
  private let oracle: CrashOracle

  /// What is found when a copy is opened, if it is anything that may be.
  package enum Finding: String, Sendable {
    case version = "a version that the store had"
    case damage = "found damaged when they were opened"
    case damageByCheck = "found damaged by the check only"
  }

  /// Works with a store: sessions of commits, weak ones among them, checkpoints and merges, in the midst of
  /// which commits are made as well.
  package init(seed: UInt64, sessions: Int = 3, rounds: Int = 25) throws {
    let bench = CrashBench(SimulatedFileSystem(), CrashWriter(seed: seed))
    let disk = bench.fileSystem
    let moments = Mutex<[[String: [UInt8]]]>([])
    var random = SeededGenerator(seed: seed)
    for _ in 0..<sessions {
      let database = try bench.open { $0.maintenance = .manual }
      let busy = BusyWriter(bench, database, seed: random.next())
      disk.observeCalls { call in
        guard call.verb.isChanging else { return }
        moments.withLock { $0.append(LiveCopies.files(of: disk)) }
        // A mark is written under a lock, for which another thread's commit waits; this one is of the same thread.
        if !call.path.hasSuffix("FLUSHED") { busy.work() }
      }
      for _ in 0..<rounds {
        try busy.commit()
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try database.writeCheckpoint()
        case 1: try database.compact()
        case 2...4: try database.mergeWhatPays()
        default: break
        }
      }
      try database.close()
      disk.observeCalls(nil)
    }
    self.moments = moments.withLock { $0 }
    oracle = bench.oracle
  }

  private static func files(of disk: SimulatedFileSystem) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in disk.names(in: CrashBench.path) where FileName(name)?.isCopied == true {
      files[name] = try? disk.bytes(of: "\(CrashBench.path)/\(name)")
    }
    return files
  }
}

/// Commits now and then, while something else is done with the store.
private final class BusyWriter: Sendable {
  private let bench: CrashBench
  private let database: Database
  private let random: Mutex<SeededGenerator>
  private let isWorking = Atomic(false)

  init(_ bench: CrashBench, _ database: Database, seed: UInt64) {
    self.bench = bench
    self.database = database
    random = Mutex(SeededGenerator(seed: seed))
  }

  /// Commits something, in the midst of another call.
  func work() {
    guard random.withLock({ $0.next() % 16 == 0 }),
      !isWorking.exchange(true, ordering: .relaxed)
    else { return }
    defer { isWorking.store(false, ordering: .relaxed) }
    // Whose turn it is cannot write another time.
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
    try bench.writer.commit(
      database, kind == 0 ? [.delete("doc-\(id)")] : [.put("doc-\(id)", size: size)],
      durability: kind < 4 ? .full : .none)
  }
}

extension FileName {
  /// Whether it is worth copying.
  fileprivate var isCopied: Bool {
    switch self {
    case .segment, .checkpoint, .head, .flushed: true
    default: false
    }
  }
}

extension LiveCopies {
  /// A copy, and how it came to be.
  package struct Copy: Sendable {
    package var files: [String: [UInt8]] = [:]
    package var story = ""
  }

  /// A copy that is begun at some moment, with its files in some order, each some moments after the one before.
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

  /// A file at a moment, or in the midst of the write that follows; nil if it is gone.
  private func bytes(
    of name: String, at moment: Int, _ random: inout SeededGenerator
  ) -> [UInt8]? {
    guard let bytes = moments[moment][name] else { return nil }
    let next = moment + 1 < moments.count ? moments[moment + 1][name] : nil
    guard let next, next.count > bytes.count, next.starts(with: bytes) else { return bytes }
    return Array(next.prefix(Int.random(in: bytes.count...next.count, using: &random)))
  }

  /// What a copy is found to be.
  ///
  /// - Throws: if it is something that the store never was, and nothing says so.
  package func examine(_ copy: Copy) throws -> Finding {
    let disk = SimulatedFileSystem()
    try disk.makeDirectory(CrashBench.path)
    for (name, bytes) in copy.files { try disk.appear("\(CrashBench.path)/\(name)", bytes) }
    let bench = CrashBench(disk, CrashWriter(seed: 1), life: 900)
    var oracle = oracle
    // It may be any version, the oldest too.
    oracle.secured = 0
    do {
      let database = try bench.open { $0.maintenance = .manual }
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
