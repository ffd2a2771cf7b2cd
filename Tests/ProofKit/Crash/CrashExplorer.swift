import DivanLog
import DivanTesting
import Synchronization

import Divan

/// Runs a workload once, and at each of its changing calls tries losses of power.
package final class CrashExplorer: Sendable {
  package let workload: CrashWorkload
  /// Whether the workload reads mapped files.
  package let isMapped: Bool
  /// Whether stores are opened with mapped and with buffered reading in turn, and not always as the
  /// workload reads.
  package let alternatesReading: Bool
  package let failures = Recorder<String>()
  let effort: CrashEffort
  let seed: UInt64
  /// Whether disks lose nothing in any loss: see ``ProofRun/losesNothing``.
  private let losesNothing: Bool
  let counts = Mutex(CrashCensus.Counts())
  /// Data about the images that were found, by their hash.
  private let known = Mutex<[UInt64: Known]>([:])
  private let lastChange = Mutex(0)
  /// Provides different salts for each opening.
  let lives = Atomic(1000)

  private struct Known {
    /// The version that was found in it.
    let version: Int
    /// The kinds of loss that led to it: a bit for each.
    var personalities: UInt64
  }

  package init(
    _ workload: CrashWorkload, isMapped: Bool = true, alternatesReading: Bool = false,
    effort: CrashEffort = CrashEffort(.test), seed: UInt64 = 0,
    losesNothing: Bool = ProofRun.losesNothing
  ) {
    self.workload = workload
    self.isMapped = isMapped
    self.alternatesReading = alternatesReading
    self.effort = effort
    self.seed = seed
    self.losesNothing = losesNothing
  }

  /// The counts so far.
  package var result: CrashCensus.Counts { counts.withLock { $0 } }

  package var summary: String {
    let counts = result
    return "\(counts.calls) calls, \(counts.tried) losses, \(counts.states.count) states, and "
      + "\(counts.recoveryCrashes.reduce(0, +)) after a crash in recovery"
  }
}

extension CrashExplorer {
  package func explore() throws {
    let writer = CrashWriter(
      seed: seed &+ 1, history: workload.history, revisionDepth: workload.revisionDepth)
    let fixture = CrashFixture(SimulatedFileSystem(seed: seed &+ 1), writer, isMapped: isMapped)
    try workload.prepare(fixture)
    if fixture.fileSystem.hasLostPower { fixture.lose(.processEnd) }
    fixture.watch(
      Watcher { [self] disk, call in
        guard call.verb.isChanging else { return }
        lose(disk, writer, at: fixture.site(of: call))
      } atMoment: { [self] disk in
        lose(disk, writer, at: nil)
      })
    try workload.work(fixture)
    // And at the very end.
    fixture.showMoment()
    fixture.watch(nil)
  }

  /// Tries all losses at one moment.
  private func lose(_ disk: SimulatedFileSystem, _ writer: CrashWriter, at site: CallSite?) {
    let oracle = writer.oracle.withLock { $0 }
    let call = counts.withLock { counts in
      counts.calls += 1
      return counts.calls
    }
    // After so many failures, more would not help.
    guard failures.all.count < 20 else { return }
    disk.cacheHashes()
    let changes = disk.unflushedChanges
    let last = lastChange.withLock { last in
      defer { last = changes.last?.number ?? last }
      return last
    }
    let seed = seed &+ UInt64(call) &* 64
    let losses = CrashLoss.all(disk, after: last, effort, seed: seed)
    let stride = workload.isHeavy ? effort.heavyStride : effort.stride
    for (index, loss) in losses.enumerated() where (index + call) % stride == 0 {
      attempt(disk, loss, oracle, call, site)
    }
  }

  private func attempt(
    _ disk: SimulatedFileSystem, _ loss: CrashLoss, _ oracle: CrashOracle, _ call: Int,
    _ site: CallSite?
  ) {
    do {
      let left = disk.restarted(losesNothing ? .everything : loss.loss, tearing: loss.tearing)
      let keepsAll = loss.loss == .processEnd || loss.loss == .everything || losesNothing
      let image = left.imageHash
      let isNew = count(loss, image, site)
      if let version = known.withLock({ $0[image]?.version }) {
        // It was opened before, but more may have been promised since.
        try (keepsAll ? oracle.securedByProcessEnd : oracle).checkBounds(version)
      } else {
        let version = try examine(left, oracle, keepsAll: keepsAll, image)
        known.withLock { $0[image] = Known(version: version, personalities: 0) }
      }
      if isNew { note(loss, image, site) }
    } catch {
      failures.append("call \(call)\(site.map { " (\($0))" } ?? ""), \(loss): \(error)")
    }
  }

  /// Counts a loss; returns whether it is the first of its kind that leaves this image.
  private func count(_ loss: CrashLoss, _ image: UInt64, _ site: CallSite?) -> Bool {
    let personality = loss.personality
    let bit: UInt64 = 1 << UInt64(CrashLoss.personalities.firstIndex(of: personality) ?? 63)
    let seen = known.withLock { $0[image]?.personalities ?? 0 }
    counts.withLock { counts in
      counts.tried += 1
      counts.personalities[personality, default: .init()].tried += 1
      if let site {
        counts.sites[site, default: .init()].tried += 1
        if seen == 0 { counts.sites[site, default: .init()].images += 1 }
      }
    }
    return seen & bit == 0
  }

  private func note(_ loss: CrashLoss, _ image: UInt64, _ site: CallSite?) {
    let personality = loss.personality
    let bit: UInt64 = 1 << UInt64(CrashLoss.personalities.firstIndex(of: personality) ?? 63)
    known.withLock { $0[image]?.personalities |= bit }
    counts.withLock { $0.personalities[personality, default: .init()].images += 1 }
  }
}
