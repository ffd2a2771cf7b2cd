package import DivanTesting

/// A way to lose power.
package struct CrashLoss: Sendable, CustomStringConvertible {
  package let loss: SimulatedDisk.Loss
  package var tearing: SimulatedDisk.Tearing?

  package init(_ loss: SimulatedDisk.Loss, _ tearing: SimulatedDisk.Tearing? = nil) {
    self.loss = loss
    self.tearing = tearing
  }

  package var description: String { "\(loss)\(tearing.map { " \($0)" } ?? "")" }
}

extension CrashLoss {
  /// The kind of loss, for the counts.
  package var personality: String {
    switch loss {
    case .strict: "strict: nothing that was not flushed"
    case .everything: "everything that was handed to the disk"
    case .processEnd: "end of the process"
    case .first, .prefix: "prefix of the changes"
    case .ordered: "ordered: names and sizes after their bytes"
    case .random: "random blocks and names"
    case .dropOne: "all but one change"
    case .sizeFirst: "sizes before bytes, then \(remainder)"
    case .dataFirst: "bytes before sizes"
    case .torn(_, _, true): "write torn in the middle, then \(remainder)"
    case .torn: "last write torn at \(tearing?.granularityBytes ?? 1), then \(remainder)"
    }
  }

  private var remainder: String { tearing?.remainder.rawValue ?? "anything" }

  /// All kinds of loss.
  package static let personalities: [String] = {
    let remainders = SimulatedDisk.Tearing.Remainder.allCases
    var losses: [CrashLoss] = [
      CrashLoss(.strict), CrashLoss(.everything), CrashLoss(.processEnd), CrashLoss(.first(0)),
      CrashLoss(.ordered(0, seed: 0)), CrashLoss(.random(seed: 0)), CrashLoss(.dropOne(0)),
      CrashLoss(.dataFirst(seed: 0)),
    ]
    for remainder in remainders {
      losses.append(
        CrashLoss(.sizeFirst(seed: 0), .init(granularityBytes: 1, remainder: remainder)))
    }
    for granularity in granularities {
      for remainder in remainders {
        losses.append(
          CrashLoss(
            .torn(0, keeping: 0, laterStay: false),
            .init(granularityBytes: granularity, remainder: remainder)))
      }
    }
    for remainder in remainders {
      losses.append(
        CrashLoss(
          .torn(0, keeping: 0, laterStay: true), .init(granularityBytes: 1, remainder: remainder)))
    }
    return losses.map(\.personality)
  }()

  private static let granularities = [1, 8, 512, 4096]
}

// MARK: Choosing

extension CrashLoss {
  /// Returns all losses that are tried at one call.
  ///
  /// Changes after the one with this `number`, the last one when losses were chosen before, are
  /// torn with more effort: older ones were torn then. `seed` makes the losses of one call
  /// different from those of the next.
  package static func all(
    _ disk: SimulatedFileSystem, after number: Int, _ effort: CrashEffort, seed: UInt64
  ) -> [CrashLoss] {
    var all = [CrashLoss(.strict), CrashLoss(.processEnd)]
    let changes = disk.unflushedChanges
    // Nothing to lose: every loss leaves the same state.
    guard !changes.isEmpty else { return all }
    all.append(CrashLoss(.everything))
    for index in spread(changes.count, effort.changes, seed) {
      all.append(CrashLoss(.ordered(index, seed: seed)))
      all.append(CrashLoss(.first(index)))
      all.append(CrashLoss(.dropOne(index)))
    }
    addRandom(to: &all, effort.seeds, seed)
    var older = 0
    for (index, change) in changes.enumerated().reversed() {
      guard let offset = change.offset else { continue }
      let places = offset + 1..<offset + max(1, change.byteCount)
      if change.number > number {
        for (granularity, limit) in zip(granularities, effort.cuts) {
          addCuts(to: &all, of: index, offset, places, granularity, limit, seed)
        }
      } else if older < 6, effort.olderCuts > 0 {
        older += 1
        let granularity = granularities[Int(seed % 4)]
        addCuts(to: &all, of: index, offset, places, granularity, effort.olderCuts, seed)
      }
      guard index < changes.count - 1, older < 6 else { continue }
      for cut in spread(places.count, max(1, effort.olderCuts), seed) {
        addTorn(to: &all, index, keeping: cut + 1, granularity: 1, laterStay: true)
      }
    }
    return all
  }

  private static func addRandom(to all: inout [CrashLoss], _ count: Int, _ seed: UInt64) {
    let remainders = SimulatedDisk.Tearing.Remainder.allCases
    for round in 0..<UInt64(count) {
      let seed = seed &+ round
      all.append(CrashLoss(.random(seed: seed)))
      all.append(CrashLoss(.prefix(seed: seed)))
      all.append(CrashLoss(.dataFirst(seed: seed)))
      for remainder in remainders where round < 2 || Int(round) % 4 == 0 {
        all.append(
          CrashLoss(.sizeFirst(seed: seed), .init(granularityBytes: 1, remainder: remainder)))
      }
    }
  }

  /// Cuts at places that are multiples of one granularity, but not of the next.
  private static func addCuts(
    to all: inout [CrashLoss], of index: Int, _ offset: Int, _ places: Range<Int>,
    _ granularity: Int, _ limit: Int, _ seed: UInt64
  ) {
    let coarser = granularities.first { $0 > granularity } ?? .max
    let first = (places.lowerBound + granularity - 1) / granularity
    let count = max(0, (places.upperBound + granularity - 1) / granularity - first)
    for step in spread(count, limit, seed) {
      let place = (first + step) * granularity
      guard places.contains(place), place % coarser != 0 else { continue }
      addTorn(to: &all, index, keeping: place - offset, granularity: granularity, laterStay: false)
    }
  }

  private static func addTorn(
    to all: inout [CrashLoss], _ index: Int, keeping: Int, granularity: Int, laterStay: Bool
  ) {
    for remainder in SimulatedDisk.Tearing.Remainder.allCases {
      // Wherever a write is cut, the state after a cut in noise is recovered in the same way.
      if remainder == .noise, granularity == 1, keeping % 4 != 0 { continue }
      all.append(
        CrashLoss(
          .torn(index, keeping: keeping, laterStay: laterStay),
          .init(granularityBytes: granularity, remainder: remainder)))
    }
  }

  /// Returns `limit` of the numbers below `count`, including the first and the last if possible.
  static func spread(_ count: Int, _ limit: Int, _ seed: UInt64) -> [Int] {
    guard count > limit else { return Array(0..<max(0, count)) }
    guard limit > 2 else {
      return (0..<limit).map { Int((seed &+ UInt64($0)) &* 0x9E37_79B9 % UInt64(count)) }
    }
    var chosen = [0]
    let inner = count - 2
    for step in 0..<limit - 2 {
      let start = 1 + inner * step / (limit - 2)
      let width = max(1, 1 + inner * (step + 1) / (limit - 2) - start)
      chosen.append(start + Int((seed &+ UInt64(step)) &* 0x9E37_79B9 % UInt64(width)))
    }
    chosen.append(count - 1)
    return chosen
  }

  /// Returns the losses that are tried at each call of a recovery.
  package static func inRecovery(
    _ disk: SimulatedFileSystem, after number: Int, seed: UInt64
  ) -> [CrashLoss] {
    var all = [CrashLoss(.strict)]
    let changes = disk.unflushedChanges
    guard !changes.isEmpty else { return all }
    all += [CrashLoss(.processEnd), CrashLoss(.everything)]
    for index in changes.indices {
      all.append(CrashLoss(.first(index)))
      all.append(CrashLoss(.dropOne(index)))
      all.append(CrashLoss(.ordered(index, seed: seed)))
    }
    addRandom(to: &all, 1, seed)
    for (index, change) in changes.enumerated() where change.number > number {
      for cut in spread(change.byteCount, 3, seed) where cut > 0 {
        addTorn(to: &all, index, keeping: cut, granularity: 1, laterStay: false)
      }
    }
    return all
  }
}
