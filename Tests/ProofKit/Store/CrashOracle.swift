package import DivanLog
import DivanTesting
import Foundation
import Synchronization

package import Divan

/// The knowledge about a store from outside its disk: its versions, and which it must keep.
///
/// The versions include those that it was about to have. Each transaction of a ``CrashWriter`` also
/// writes the number of its version into a document, so that the state after a crash shows which
/// version it claims to be.
package struct CrashOracle: Sendable {
  package typealias Entry = StoreModel.Entry
  package typealias Version = StoreModel

  /// The versions in order; the first is that of an empty store.
  package private(set) var versions = [Version()]
  /// How much of the replaced revisions the store keeps, in all its sessions.
  package var history = HistoryRetention.disabled
  /// The number of revisions of each branch that it knows by their IDs, in all its sessions.
  package let revisionDepth: Int
  /// The newest version that must not be lost.
  package var secured = 0
  /// The newest version whose commit returned, at any durability.
  ///
  /// The end of the process alone must not lose it.
  package private(set) var returned = 0
  /// The copies of the store that were begun.
  package private(set) var copies: [Copy] = []
  /// The highest sequence number that a caller has received.
  package private(set) var highestSequence: UInt64 = 0

  /// A copy of a version: a backup, or a store restored from one.
  package struct Copy: Sendable {
    package let path: String
    package let version: Int
    /// Whether the copy was acknowledged as durable.
    package var isDone = false
  }

  /// Creates an oracle for an empty store.
  package init(revisionDepth: Int = Configuration().revisionDepth) {
    self.revisionDepth = revisionDepth
    versions[0].revisionDepth = revisionDepth
  }

  /// Records a copy that is about to be made; by default, of the newest version.
  package mutating func beginCopy(_ path: String, of version: Int? = nil) {
    copies.append(Copy(path: path, version: version ?? versions.count - 1))
  }

  /// Records that the newest copy is complete.
  package mutating func finishCopy() { copies[copies.count - 1].isDone = true }

  /// Whether versions may have been lost, and it was not determined yet which.
  package private(set) var isUncertain = false

  /// Records that the process ended, and possibly that the power was lost.
  package mutating func noteLoss(keepsAll: Bool) {
    isUncertain = true
    if !keepsAll { returned = min(returned, secured) }
  }

  /// The oracle if everything is left that was handed to the disk.
  package var securedByProcessEnd: CrashOracle {
    var oracle = self
    oracle.secured = max(secured, returned)
    return oracle
  }

  /// Records a version that is about to be committed.
  package mutating func attempt(_ version: Version) { versions.append(version) }

  /// Records that a version was seen, so that its sequence numbers are used up.
  package mutating func noteSeen(_ index: Int) {
    returned = max(returned, index)
    highestSequence = max(highestSequence, versions[index].lastSequence)
  }

  /// Removes the newest version, of which the store reported that nothing was committed.
  package mutating func dropNewest() { versions.removeLast() }

  /// Removes versions that turned out not to exist.
  package mutating func cut(after index: Int) {
    forget(after: index)
    isUncertain = false
    secured = index
    noteSeen(index)
  }

  /// Removes versions whose commits were rejected.
  package mutating func forget(after index: Int) {
    versions.removeLast(versions.count - 1 - index)
    returned = min(returned, index)
  }
}

extension CrashOracle {
  package static let clock = "clock"

  package typealias Mismatch = ProofKit.Mismatch

  /// Returns the version of a snapshot; throws if there is none, or if it is not permitted.
  package func identify(_ snapshot: Snapshot) throws -> Int {
    try identify(snapshot) { _ in true }
  }

  /// Returns the version of a store, after comparing everything it shows, also past versions.
  package func identify(_ database: Database) throws -> Int {
    let index = try identify(database.snapshot()) { try $0.hasNames(of: database) }
    try compareHistory(database, index)
    return index
  }

  private func identify(
    _ snapshot: Snapshot, where mayBe: (Version) throws -> Bool
  ) throws -> Int {
    let clock = Int(
      try snapshot.document(CrashOracle.clock).map { $0["version"]?.intValue ?? -1 } ?? 0)
    guard clock >= 0, clock < versions.count else {
      throw Mismatch("version \(clock) is found, and \(versions.count - 1) is the last")
    }
    // Some transactions change no document that is counted.
    let candidates = versions.indices.reversed().filter { versions[$0].clock == clock }
    var problem: (any Error)?
    for index in candidates {
      do {
        guard try candidates.count == 1 || mayBe(versions[index]) else { continue }
        try compare(snapshot, with: versions[index], index)
        try checkBounds(index)
        return index
      } catch let error as Mismatch {
        problem = problem ?? error
      }
    }
    throw problem ?? Mismatch("no version of the clock \(clock) has these named snapshots")
  }

  /// Throws unless a version may be found now.
  package func checkBounds(_ index: Int) throws {
    guard index >= 0, index >= secured else {
      throw Mismatch("version \(secured) was secured, and version \(index) is found")
    }
    guard index < versions.count else {
      throw Mismatch("version \(index) is found, and \(versions.count - 1) is the last")
    }
  }

  /// Throws if a copy of a version differs from it.
  package func compare(_ snapshot: Snapshot, withCopyOf index: Int) throws {
    guard versions.indices.contains(index) else { return }
    try compare(snapshot, with: versions[index], index)
  }

  private func compare(_ snapshot: Snapshot, with version: Version, _ index: Int) throws {
    do {
      try version.compare(snapshot)
    } catch let error as Mismatch {
      throw Mismatch("version \(index) of \(versions.count - 1): \(error)")
    }
  }

  /// Throws if a readable leaf of a damaged store was never a leaf of its document.
  ///
  /// It need not be the winner. If a merge dropped a revision in favour of a later one, and that
  /// one was lost, a leaf that lost to it is all that is left.
  package func requireNoInventions(in database: Database) throws {
    let snapshot = try database.snapshot()
    var ids = snapshot.ids()
    while let id = try ids.next() {
      guard let document = try? snapshot.document(id) else { continue }
      let found = Entry(document)
      guard versions.contains(where: { $0.documents[id]?.leaves.contains(found) == true }) else {
        throw Mismatch("\(id) never was like this: \(found)")
      }
    }
  }

  /// Compares named versions, earlier revisions, and two earlier versions of the store.
  private func compareHistory(_ database: Database, _ index: Int) throws {
    do {
      try versions[index].compareBesides(database, history)
      guard history != .disabled else { return }
      for earlier in index > 2 ? [index / 2, index - 1] : [index - 1] where earlier > 0 {
        let sequence = versions[earlier].lastSequence
        guard sequence < versions[index].lastSequence else { continue }
        // Some transactions have no number of their own: the last of them applies.
        let meant = versions.prefix(index + 1).last { $0.lastSequence == sequence }
        let snapshot: Snapshot
        do {
          snapshot = try database.snapshot(at: sequence)
        } catch let error as DatabaseError
          where error.code == .versionNotRetained && history.mayRefuse
        {
          continue
        }
        try versions[index].comparePast(
          meant?.documents ?? [:], snapshot, at: sequence)
      }
    } catch let error as Mismatch {
      throw Mismatch("version \(index) of \(versions.count - 1): \(error)")
    }
  }
}

extension Configuration {
  /// The maximum size of attachments that are stored in the log in the proofs.
  package static let proofInlineLimit = 48

  /// Returns a configuration with tiny files, and reproducible salts and times.
  ///
  /// Salts and times differ from one opening to the next, as they do on a real machine.
  package static func crashing(on fileSystem: any FileSystem, life: Int) -> Configuration {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.segmentSizeGoal = 8 << 10
    configuration.compactedSegmentSizeLimit = 32 << 10
    configuration.checkpointInterval = 4 << 10
    configuration.maintenance = .inline
    configuration.unwitnessedLimit = 2 << 10
    configuration.reserveSize = 4096
    configuration.attachmentInlineLimit = Configuration.proofInlineLimit
    configuration.viewSavingMinimum = 2
    configuration.indexBuildBatchSize = 1000
    let generator = Mutex(SeededGenerator(seed: UInt64(life) &* 0x9E37_79B9))
    configuration.random = { generator.withLock { $0.next() } }
    configuration.now = { proofTime }
    return configuration
  }
}

/// How much the heavy tests try: 1 unless the environment specifies another value.
package let testBudget =
  ProcessInfo.processInfo.environment["DIVAN_TEST_BUDGET"].flatMap(Double.init) ?? 1
