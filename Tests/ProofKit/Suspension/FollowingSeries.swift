import Divan
import DivanTesting
import Synchronization

/// A reader that follows a writer on one simulated disk, and is refreshed at every call of it.
struct FollowingSeries {
  private static let path = "/store.divan"

  private var random: SeededGenerator
  private let disk: SimulatedDisk
  private var plain = PlainCommits()
  /// Databases of processes that were killed.
  private var abandoned: [Database] = []
  private(set) var refreshCount = 0
  private(set) var changeCount = 0

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    disk = SimulatedDisk(seed: seed)
  }
}

extension FollowingSeries {
  /// Lets the writer do something a number of times.
  mutating func play(_ count: Int) throws {
    var writer = try open(isReadOnly: false)
    try plain.commit(to: writer, durability: .full, &random)
    let reader = try FollowingReader(try open(isReadOnly: true))
    for number in 1...count {
      // At each of its calls that change something, what was acknowledged before must be seen.
      let before = reader.expecting(plain)
      if random.below(4) < 3 {
        disk.files.observeChangingCalls { _ in before.refresh(isComplete: false) }
      }
      defer { disk.files.observeChangingCalls(nil) }
      do {
        writer = try step(writer)
        disk.files.observeChangingCalls(nil)
        // An attempt that the reader saw before it was acknowledged is known now.
        reader.expecting(plain).refresh(isComplete: true)
        if let problem = reader.problem(given: plain) { throw CrashOracle.Mismatch(problem) }
      } catch {
        throw CrashOracle.Mismatch("step \(number): \(error); \(disk)")
      }
    }
    (refreshCount, changeCount) = reader.counts
    try writer.close()
  }

  private func open(isReadOnly: Bool) throws -> Database {
    var configuration = disk.configuration()
    configuration.isReadOnly = isReadOnly
    return try Database(at: FollowingSeries.path, configuration: configuration)
  }

  /// Lets the writer do something; returns the one that continues.
  private mutating func step(_ writer: Database) throws -> Database {
    switch random.below(12) {
    case 0: try writer.compact()
    case 1:
      try writer.suspend()
      try writer.resume()
    case 2:
      try writer.close()
      return try open(isReadOnly: false)
    case 3:
      disk.files.endProcess()
      abandoned.append(writer)
      return try open(isReadOnly: false)
    default:
      for _ in 0..<(1 + random.below(5)) {
        try plain.commit(
          to: writer, durability: random.below(3) == 0 ? .none : .full, &random)
      }
    }
    return writer
  }
}

/// A database that is refreshed, and what it showed.
private final class FollowingReader: Sendable {
  fileprivate struct State {
    /// The commit that was shown last.
    var shown = 0
    /// The documents that were shown for each commit.
    var seen: [Int: [String: Int]] = [:]
    /// The documents as the changes of each refresh add up to them, and the last change's sequence.
    var changed: [String: Int] = [:]
    var sequence: UInt64 = 0
    /// A snapshot that is kept, and the commit that it shows.
    var kept: (snapshot: Snapshot, count: Int)?
    var refreshCount = 0
    var changeCount = 0
    var problems: [String] = []
  }

  private let database: Database
  private let state = Mutex(State())

  init(_ database: Database) throws { self.database = database }
}

extension FollowingReader {
  var counts: (refreshes: Int, changes: Int) {
    state.withLock { ($0.refreshCount, $0.changeCount) }
  }

  func expecting(_ plain: PlainCommits) -> FollowingExpectation {
    FollowingExpectation(reader: self, least: plain.count)
  }

  /// The first problem; also compares what was shown with the commits that were made.
  func problem(given plain: PlainCommits) -> String? {
    state.withLock { state in
      if let problem = state.problems.first { return problem }
      for (count, documents) in state.seen {
        guard plain.states.indices.contains(count), plain.states[count] == documents else {
          return "commit \(count) was shown as \(documents)"
        }
      }
      state.seen = [:]
      return nil
    }
  }

  fileprivate func refresh(least: Int, isComplete: Bool) {
    do {
      let hasChanged = try database.refresh()
      let snapshot = try database.snapshot()
      let documents = try PlainCommits.read(snapshot)
      let count = documents["count"] ?? 0
      try state.withLock { state in
        state.refreshCount += 1
        if count != state.shown { state.changeCount += 1 }
        guard count >= least, !isComplete || count == least else {
          throw CrashOracle.Mismatch("commit \(count) is shown, and \(least) was acknowledged")
        }
        guard count >= state.shown else {
          throw CrashOracle.Mismatch("commit \(count) is shown after \(state.shown)")
        }
        guard hasChanged || count == state.shown || state.shown == 0 else {
          throw CrashOracle.Mismatch("commit \(count) came without being reported")
        }
        state.shown = count
        state.seen[count] = documents
        guard try state.applyChanges(from: snapshot) == documents else {
          throw CrashOracle.Mismatch(
            "the changes up to commit \(count) add up to \(state.changed), not \(documents)")
        }
        if let kept = state.kept {
          guard try PlainCommits.read(kept.snapshot)["count"] ?? 0 == kept.count else {
            throw CrashOracle.Mismatch("a snapshot of commit \(kept.count) has changed")
          }
        }
        if state.refreshCount % 7 == 0 { state.kept = (snapshot, count) }
      }
    } catch {
      state.withLock { $0.problems.append("\(error)") }
    }
  }
}

extension FollowingReader.State {
  /// Applies the changes since the sequence that the previous snapshot reported.
  fileprivate mutating func applyChanges(from snapshot: Snapshot) throws -> [String: Int] {
    var changes = snapshot.changes(since: sequence)
    while let change = try changes.next() {
      changed[change.id] = try snapshot.document(change.id).map { $0["value"]?.intValue ?? -1 }
    }
    sequence = snapshot.sequence
    return changed
  }
}

/// The commit that a reader must show at least.
struct FollowingExpectation: Sendable {
  fileprivate let reader: FollowingReader
  fileprivate let least: Int

  /// Refreshes the reader, and checks what it shows.
  ///
  /// - Parameter isComplete: whether it must show exactly that commit.
  func refresh(isComplete: Bool) { reader.refresh(least: least, isComplete: isComplete) }
}
