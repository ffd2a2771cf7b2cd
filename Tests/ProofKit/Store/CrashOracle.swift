package import DivanLog
import DivanTesting
import Foundation
package import Synchronization

package import Divan

/// What is known of a store from outside its disk: every version it ever had or was about to have, and
/// how far it has promised to keep them.
///
/// Each transaction of a ``CrashWriter`` also writes the number of its version into a document, so that
/// what is found after a crash says which version it claims to be.
package struct CrashOracle: Sendable {
  package struct Entry: Equatable, Sendable {
    package var number: Int64
    package var size: Int
    package var revision: RevisionID?
    package var sequence: UInt64
    package var isDeleted: Bool
  }

  package typealias Version = [String: Entry]

  /// The versions in order; the first is that of an empty store.
  package private(set) var versions: [Version] = [[:]]
  /// The newest version that must not be lost.
  package var secured = 0
  /// The newest version whose commit returned, however durable it was asked to be: the end of the
  /// process alone must not lose it.
  package private(set) var returned = 0
  /// The copies of the store that were begun.
  package private(set) var copies: [Copy] = []
  /// The highest sequence number that anybody was told of.
  package private(set) var highestSequence: UInt64 = 0

  /// A copy of a version: a backup, or what was restored from one.
  package struct Copy: Sendable {
    package let path: String
    package let version: Int
    /// Whether its maker was told that it is there, durably.
    package var isDone = false
  }

  /// Takes up the copy that is about to be made of the newest version.
  package mutating func beginCopy(_ path: String, of version: Int? = nil) {
    copies.append(Copy(path: path, version: version ?? versions.count - 1))
  }

  /// Notes that the newest copy is there.
  package mutating func finishCopy() { copies[copies.count - 1].isDone = true }

  /// Whether versions may have been lost, and nobody has looked yet which.
  package private(set) var isUncertain = false

  /// Notes that the process ended, and perhaps the power went.
  package mutating func noteLoss(keepsAll: Bool) {
    isUncertain = true
    if !keepsAll { returned = min(returned, secured) }
  }

  /// What must not be lost if everything is left that was handed to the disk.
  package var securedByProcessEnd: CrashOracle {
    var oracle = self
    oracle.secured = max(secured, returned)
    return oracle
  }

  /// Takes up the version that is about to be committed.
  package mutating func attempt(_ version: Version) { versions.append(version) }

  /// Notes that a version was seen, so that its sequence numbers are spent.
  package mutating func noteSeen(_ index: Int) {
    returned = max(returned, index)
    highestSequence = max(highestSequence, versions[index].values.map(\.sequence).max() ?? 0)
  }

  /// Forgets the newest version, of which the store said that nothing of it was committed.
  package mutating func dropNewest() { versions.removeLast() }

  /// Forgets versions that turned out not to have happened.
  package mutating func cut(after index: Int) {
    forget(after: index)
    isUncertain = false
    secured = index
    noteSeen(index)
  }

  /// Forgets versions whose commits were refused.
  package mutating func forget(after index: Int) {
    versions.removeLast(versions.count - 1 - index)
    returned = min(returned, index)
  }
}

extension CrashOracle {
  package static let clock = "clock"

  package struct Mismatch: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
  }

  /// Finds out which version a store holds, and throws if that is none or one that it must not be.
  package func identify(_ snapshot: Snapshot) throws -> Int {
    let clock = try snapshot.get(CrashOracle.clock)
    let index = clock.map { $0["version"]?.intValue ?? -1 } ?? 0
    try checkBounds(index)
    try compare(snapshot, with: versions[index], index)
    return index
  }

  /// Throws unless a version is one that may be found now.
  package func checkBounds(_ index: Int) throws {
    guard index >= 0, index >= secured else {
      throw Mismatch("version \(secured) was secured, and version \(index) is found")
    }
    guard index < versions.count else {
      throw Mismatch("version \(index) is found, and \(versions.count - 1) is the last")
    }
  }

  /// Throws if a copy of a version is anything else.
  package func compare(_ snapshot: Snapshot, withCopyOf index: Int) throws {
    guard versions.indices.contains(index) else { return }
    try compare(snapshot, with: versions[index], index)
  }

  private func compare(_ snapshot: Snapshot, with version: Version, _ index: Int) throws {
    var feed = snapshot.changes()
    var seen: Version = [:]
    var last: UInt64 = 0
    while let change = try feed.next() {
      guard change.sequence > last else { throw Mismatch("the feed is out of order") }
      last = change.sequence
      guard seen.updateValue(Entry(change.document), forKey: change.id) == nil else {
        throw Mismatch("the feed of version \(index) has \(change.id) twice")
      }
    }
    guard seen == version else {
      let differences = Set(seen.keys).union(version.keys).sorted().filter {
        seen[$0] != version[$0]
      }
      .map {
        "\($0): \(seen[$0].map { "\($0)" } ?? "none") != \(version[$0].map { "\($0)" } ?? "none")"
      }
      throw Mismatch(
        "in the feed of version \(index) of \(versions.count - 1): "
          + differences.joined(separator: ", "))
    }
    var documents = snapshot.documents()
    var live = version.filter { !$0.value.isDeleted }
    guard snapshot.count == live.count else {
      throw Mismatch("version \(index) counts \(snapshot.count) instead of \(live.count)")
    }
    while let document = try documents.next() {
      guard live.removeValue(forKey: document.id) == Entry(document) else {
        throw Mismatch("\(document.id) of version \(index) is \(document.json)")
      }
    }
    guard live.isEmpty else { throw Mismatch("\(live.keys) of version \(index) are missing") }
  }
}

extension CrashOracle.Entry {
  package init(_ document: Document) {
    self.init(
      number: Int64(document["number"]?.intValue ?? document["version"]?.intValue ?? -1),
      size: document["text"]?.stringValue?.utf8.count ?? 0, revision: document.revision,
      sequence: document.sequence, isDeleted: document.isDeleted)
  }
}

/// Works with a store as a program would, and keeps the oracle told.
package final class CrashWriter: Sendable {
  package let oracle: Mutex<CrashOracle>
  private let random: Mutex<SeededGenerator>
  /// Whether something failed, so that it is not known what a later flush has flushed.
  package let isUnsure = Atomic(false)

  package init(_ oracle: CrashOracle = CrashOracle(), seed: UInt64) {
    self.oracle = Mutex(oracle)
    random = Mutex(SeededGenerator(seed: seed))
  }

  /// What a transaction does to one document.
  package enum Step: Sendable {
    case put(String, size: Int)
    case delete(String)
    /// Puts a document, deletes another, and takes both back.
    case takeBack(String, size: Int, deleting: String)
  }

  private struct TakenBack: Error {}

  /// Commits some steps in one transaction.
  package func commit(
    _ database: Database, _ steps: [Step], durability: Durability = .full
  ) throws {
    let before = oracle.withLock { $0 }
    let index = before.versions.count
    // A commit of unknown outcome may be gone: then the next one is built on the one before it. On a
    // disk that lies the store may be none of these, which is not this writer's to judge.
    let found =
      isUnsure.load(ordering: .relaxed) ? try? before.identify(database.snapshot()) : nil
    let base = found ?? index - 1
    var version = before.versions[base]
    var isAttempted = false
    do {
      try database.write(durability: durability) { transaction in
        for step in steps {
          switch step {
          case .put(let id, let size):
            let number = random.withLock { Int64(truncatingIfNeeded: $0.next() >> 40) }
            let text = Value.string(String(repeating: "x", count: size))
            let document = try transaction.overwrite(
              id, with: ["number": .int(number), "text": text])
            version[id] = CrashOracle.Entry(document)
          case .delete(let id):
            guard let document = try transaction.get(id) else { continue }
            version[id] = CrashOracle.Entry(try transaction.delete(document))
          case .takeBack(let id, let size, let deleted):
            do {
              try transaction.nested {
                let text = Value.string(String(repeating: "y", count: size))
                _ = try transaction.overwrite(id, with: ["number": .int(-2), "text": text])
                try transaction.delete(id: deleted)
                throw TakenBack()
              }
            } catch is TakenBack {}
          }
        }
        let clock = try transaction.overwrite(
          CrashOracle.clock, with: ["version": .int(Int64(index))])
        version[CrashOracle.clock] = CrashOracle.Entry(clock)
        let attempted = version
        oracle.withLock { $0.attempt(attempted) }
        isAttempted = true
      }
    } catch let error as DatabaseError {
      // Any other code says that nothing was committed; then it must never be found.
      if isAttempted, error.code != .outcomeUnknown { oracle.withLock { $0.dropNewest() } }
      throw error
    }
    oracle.withLock {
      $0.noteSeen(index)
      if durability == .full { $0.secured = index }
    }
  }

  /// Notes that everything so far was flushed.
  package func noteFlushed() {
    guard !isUnsure.load(ordering: .relaxed) else { return }
    oracle.withLock { $0.secured = $0.versions.count - 1 }
  }
}

extension Configuration {
  /// Tiny files, and salts and times that are the same in every run, but differ from one opening to
  /// the next, as they do on a real machine.
  package static func crashing(on fileSystem: any FileSystem, life: Int) -> Configuration {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.segmentSizeGoal = 8 << 10
    configuration.mergedSizeLimit = 32 << 10
    configuration.checkpointInterval = 4 << 10
    configuration.maintenance = .inline
    configuration.reserveSize = 4096
    let generator = Mutex(SeededGenerator(seed: UInt64(life) &* 0x9E37_79B9))
    configuration.random = { generator.withLock { $0.next() } }
    configuration.now = { 1_700_000_000_000 }
    return configuration
  }
}

/// How much the heavy tests try: 1 unless the environment says otherwise.
package let testBudget =
  ProcessInfo.processInfo.environment["DIVAN_TEST_BUDGET"].flatMap(Double.init) ?? 1
