import DivanLog
import Synchronization

/// An unflushed change, with the facts that matter for choosing a loss of power.
package struct UnflushedChange: Sendable {
  /// Its number among all changes of the disk.
  package let number: Int
  /// For a write, its offset in the file; nil for a change of names.
  package let offset: Int?
  /// For a write, the number of its bytes.
  package let byteCount: Int
}

extension SimulatedFileSystem {
  /// Returns the file system after a loss of power now; this one does not change.
  package func restarted(
    _ loss: SimulatedDisk.Loss, tearing: SimulatedDisk.Tearing? = nil
  ) -> SimulatedFileSystem {
    var left = state.withLock { $0 }
    var seed: UInt64 = 0
    switch loss {
    case .prefix(let value), .random(let value), .sizeFirst(let value), .dataFirst(let value),
      .ordered(_, let value):
      seed = value
    case .strict, .everything, .processEnd, .first, .dropOne, .torn: break
    }
    var ruin = Ruin(
      random: SeededGenerator(seed: seed), tearing: tearing, noiseSeed: left.noiseSeed)
    left.losePower(loss, &ruin)
    let control =
      loss == .processEnd
      ? control.withLock { $0.afterProcessEnd(seed: seed) } : SimulatedControl(seed: seed)
    return SimulatedFileSystem(left, control)
  }

  package var unflushedChangeCount: Int { state.withLock { $0.unflushedChangeCount } }

  /// The unflushed changes, in the order in which they were made.
  package var unflushedChanges: [UnflushedChange] { state.withLock { $0.unflushedChanges } }

  /// Ends the process that uses the disk, and releases its locks; the disk itself continues.
  package func endProcess() { state.withLock { $0.releaseLocks() } }
}

extension SimulatedState {
  var unflushedChangeCount: Int {
    volatileNames.count + files.reduce(0) { $0 + $1.pending.count }
  }

  fileprivate var unflushedChanges: [UnflushedChange] {
    var changes = volatileNames.map {
      UnflushedChange(number: $0.number, offset: nil, byteCount: 0)
    }
    for file in files {
      changes += file.pending.map {
        UnflushedChange(number: $0.number, offset: $0.offset, byteCount: $0.bytes.count)
      }
    }
    return changes.sorted { $0.number < $1.number }
  }

  /// The numbers of all unflushed changes, in order.
  private var unflushedNumbers: [Int] {
    (volatileNames.map(\.number) + files.flatMap { $0.pending.map(\.number) }).sorted()
  }

  fileprivate mutating func releaseLocks() {
    for index in files.indices { files[index].isLocked = false }
  }

  fileprivate mutating func losePower(_ loss: SimulatedDisk.Loss, _ ruin: inout Ruin) {
    capacityBytes = nil
    releaseLocks()
    switch loss {
    case .processEnd: return
    case .strict: keep { _ in false }
    case .everything: keep { _ in true }
    case .first(let count):
      let numbers = unflushedNumbers
      let end = count < numbers.count ? numbers[max(0, count)] : Int.max
      keep { $0 < end }
    case .torn(let count, let kept, let laterStay):
      let numbers = unflushedNumbers
      guard numbers.indices.contains(count) else { break }
      ruin.gatherStale(in: self, besides: numbers[count])
      keepTorn(numbers[count], kept, laterStay, &ruin)
    case .ordered(let count, _): keepInOrder(count, &ruin)
    case .dropOne(let index):
      let numbers = unflushedNumbers
      let dropped = numbers.isEmpty ? 0 : numbers[abs(index % numbers.count)]
      keep { $0 != dropped }
    case .prefix: keepPrefix(&ruin)
    case .random: keepAny(&ruin)
    case .sizeFirst: keepSizes(&ruin)
    case .dataFirst: keepData(&ruin)
    }
    forgetCache()
  }

  /// Keeps whole changes, chosen by their numbers.
  private mutating func keep(_ isKept: (Int) -> Bool) {
    flushNames { isKept($0.number) }
    for index in files.indices where !files[index].pending.isEmpty {
      files[index].pending.removeAll { !isKept($0.number) }
      files[index].flush()
    }
  }

  private mutating func keepPrefix(_ ruin: inout Ruin) {
    let numbers = unflushedNumbers
    guard !numbers.isEmpty else { return }
    let torn = numbers[ruin.random.below(numbers.count)]
    ruin.gatherStale(in: self)
    let length = files.lazy.flatMap(\.pending).first { $0.number == torn }?.bytes.count ?? 0
    keepTorn(torn, ruin.random.below(length + 1), false, &ruin)
  }

  /// Keeps the changes before `torn`, some bytes of it, and perhaps the changes after it.
  private mutating func keepTorn(
    _ torn: Int, _ kept: Int, _ laterStay: Bool, _ ruin: inout Ruin
  ) {
    for index in files.indices {
      guard let position = files[index].pending.firstIndex(where: { $0.number == torn }) else {
        continue
      }
      let pending = files[index].pending
      files[index].pending = Array(pending[..<position])
      files[index].flush()
      files[index].tear(pending[position], after: kept, &ruin)
      files[index].pending = Array(pending[(position + 1)...])
    }
    keep { $0 < torn || (laterStay && $0 > torn) }
  }

  /// Keeps names and sizes in their order, and the bytes that these make reachable.
  private mutating func keepInOrder(_ count: Int, _ ruin: inout Ruin) {
    // A write that overwrites bytes makes nothing longer, and is not kept in order.
    var overwriting: Set<Int> = []
    for file in files {
      var end = file.durable.count
      for write in file.pending {
        if write.end <= end { overwriting.insert(write.number) }
        end = max(end, write.end)
      }
    }
    let numbers = unflushedNumbers.filter { !overwriting.contains($0) }
    let next = count < numbers.count ? numbers[max(0, count)] : Int.max
    let seenBefore = overwriting.sorted().filter { _ in ruin.random.chance(1, of: 2) }
    for index in files.indices {
      guard let position = files[index].pending.firstIndex(where: { $0.number == next }) else {
        continue
      }
      // The size of a file grows as its blocks are written.
      let write = files[index].pending[position]
      let blocks = write.blocks
      let kept = blocks.prefix(ruin.random.below(blocks.count)).map {
        VolatileWrite(number: 0, offset: $0.offset, bytes: $0.bytes)
      }
      files[index].pending.replaceSubrange(position..., with: kept)
    }
    keep { $0 < next && (!overwriting.contains($0) || seenBefore.contains($0)) }
  }

  private mutating func keepAny(_ ruin: inout Ruin) {
    let quarters = 1 + ruin.random.below(3)
    let kept = volatileNames.map { _ in ruin.random.chance(quarters, of: 4) }
    let numbers = Set(zip(volatileNames, kept).filter(\.1).map(\.0.number))
    flushNames { numbers.contains($0.number) }
    ruin.gatherStale(in: self)
    for index in files.indices {
      let blocks = files[index].pending.flatMap(\.blocks)
      files[index].pending = []
      for block in blocks where ruin.random.chance(quarters, of: 4) {
        if ruin.random.chance(1, of: 8) {
          files[index].tear(block, after: ruin.random.below(block.bytes.count + 1), &ruin)
        } else {
          files[index].durable.replace(at: block.offset, with: block.bytes)
        }
      }
    }
  }

  private mutating func keepSizes(_ ruin: inout Ruin) {
    flushNames { _ in true }
    ruin.gatherStale(in: self)
    for index in files.indices where !files[index].pending.isEmpty {
      let oldSize = files[index].durable.count
      let newSize = files[index].pending.reduce(oldSize) { max($0, $1.end) }
      let remainder = ruin.tearing?.remainder ?? ruin.chooseRemainder()
      let filling = ruin.bytes(newSize - oldSize, at: oldSize, remainder)
      files[index].durable += filling ?? [UInt8](repeating: 0, count: newSize - oldSize)
      // In half of the cases no byte arrived, in the other half some blocks.
      guard ruin.random.chance(1, of: 2) else { continue }
      for block in files[index].pending.flatMap(\.blocks) where ruin.random.chance(1, of: 2) {
        files[index].durable.replace(at: block.offset, with: block.bytes)
      }
    }
    keep { _ in false }
  }

  private mutating func keepData(_ ruin: inout Ruin) {
    let kept = ruin.random.below(volatileNames.count + 1)
    let end = kept < volatileNames.count ? volatileNames[kept].number : Int.max
    flushNames { $0.number < end }
    for index in files.indices where !files[index].pending.isEmpty {
      let oldSize = files[index].durable.count
      files[index].flush()
      let growth = files[index].durable.count - oldSize
      if growth > 0 { files[index].durable.removeLast(ruin.random.below(growth + 1)) }
    }
    keep { _ in false }
  }

  /// Drops everything that is not on the disk.
  private mutating func forgetCache() {
    names = durableNames
    volatileNames = []
    for index in files.indices {
      files[index].cached = files[index].durable
      files[index].pending = []
      files[index].belatedError = nil
    }
    var named: Set<Int> = []
    forEachFile { _, file in named.insert(file.index) }
    for index in files.indices where !named.contains(index) { files[index] = SimulatedContents() }
  }
}
