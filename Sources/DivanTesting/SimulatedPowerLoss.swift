import DivanLog
import Synchronization

extension SimulatedFileSystem {
  /// The file system as it is found after a loss of power at this moment; this one stays as it is.
  package func restarted(
    _ loss: SimulatedDisk.Loss, tearing: SimulatedDisk.Tearing? = nil
  ) -> SimulatedFileSystem {
    var left = state.withLock { $0 }
    var seed: UInt64 = 0
    switch loss {
    case .prefix(let value), .random(let value), .sizeFirst(let value), .dataFirst(let value):
      seed = value
    case .strict, .everything, .processEnd, .first, .dropOne: break
    }
    var ruin = Ruin(random: SeededGenerator(seed: seed), tearing: tearing)
    left.losePower(loss, &ruin)
    let control =
      loss == .processEnd
      ? control.withLock { $0.afterProcessEnd(seed: seed) } : SimulatedControl(seed: seed)
    return SimulatedFileSystem(left, control)
  }

  package var unflushedChangeCount: Int { state.withLock { $0.unflushedChangeCount } }
}

/// How a loss of power leaves what it does not leave whole.
private struct Ruin {
  var random: SeededGenerator
  let tearing: SimulatedDisk.Tearing?
  /// Bytes that lie about on the disk.
  var stale: [UInt8] = []

  mutating func chooseTearing() -> SimulatedDisk.Tearing {
    if let tearing { return tearing }
    let granularity = [1, 8, 512, 4096][random.below(4)]
    return SimulatedDisk.Tearing(granularityBytes: granularity, remainder: chooseRemainder())
  }

  mutating func chooseRemainder() -> SimulatedDisk.Tearing.Remainder {
    let all = SimulatedDisk.Tearing.Remainder.allCases
    return all[random.below(all.count)]
  }

  /// Bytes that stand where others should; nil for what stood there before.
  mutating func bytes(_ count: Int, _ remainder: SimulatedDisk.Tearing.Remainder) -> [UInt8]? {
    switch remainder {
    case .old: return nil
    case .zeros: return [UInt8](repeating: 0, count: count)
    case .noise: return random.bytes(count)
    case .stale:
      guard !stale.isEmpty else { return [UInt8](repeating: 0, count: count) }
      let start = random.below(stale.count)
      return (0..<count).map { stale[(start + $0) % stale.count] }
    }
  }
}

extension SimulatedState {
  var unflushedChangeCount: Int {
    volatileNames.count + files.reduce(0) { $0 + $1.pending.count }
  }

  /// The numbers of all changes that were not flushed, in order.
  private var unflushedNumbers: [Int] {
    (volatileNames.map(\.number) + files.flatMap { $0.pending.map(\.number) }).sorted()
  }

  fileprivate mutating func losePower(_ loss: SimulatedDisk.Loss, _ ruin: inout Ruin) {
    capacityBytes = nil
    for index in files.indices { files[index].isLocked = false }
    switch loss {
    case .processEnd: return
    case .strict: keep { _ in false }
    case .everything: keep { _ in true }
    case .first(let count):
      let numbers = unflushedNumbers
      let end = count < numbers.count ? numbers[max(0, count)] : Int.max
      keep { $0 < end }
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

  /// Leaves whole changes, chosen by their numbers.
  private mutating func keep(_ isKept: (Int) -> Bool) {
    flushNames { isKept($0.number) }
    for index in files.indices {
      files[index].pending.removeAll { !isKept($0.number) }
      files[index].flush()
    }
  }

  private mutating func keepPrefix(_ ruin: inout Ruin) {
    let numbers = unflushedNumbers
    guard !numbers.isEmpty else { return }
    let torn = numbers[ruin.random.below(numbers.count)]
    gatherStale(&ruin)
    for index in files.indices {
      guard let write = files[index].pending.first(where: { $0.number == torn }) else { continue }
      let earlier = files[index].pending.filter { $0.number < torn }
      files[index].pending = earlier
      files[index].flush()
      files[index].tear(write, &ruin)
    }
    // What comes after is lost, and a torn write was dealt with.
    keep { $0 < torn }
  }

  private mutating func keepAny(_ ruin: inout Ruin) {
    let quarters = 1 + ruin.random.below(3)
    let kept = volatileNames.map { _ in ruin.random.chance(quarters, of: 4) }
    let numbers = Set(zip(volatileNames, kept).filter(\.1).map(\.0.number))
    flushNames { numbers.contains($0.number) }
    gatherStale(&ruin)
    for index in files.indices {
      let blocks = files[index].pending.flatMap(\.blocks)
      files[index].pending = []
      for block in blocks where ruin.random.chance(quarters, of: 4) {
        if ruin.random.chance(1, of: 8) {
          files[index].tear(block, &ruin)
        } else {
          files[index].durable.replace(at: block.offset, with: block.bytes)
        }
      }
    }
  }

  private mutating func keepSizes(_ ruin: inout Ruin) {
    flushNames { _ in true }
    gatherStale(&ruin)
    for index in files.indices where !files[index].pending.isEmpty {
      let oldSize = files[index].durable.count
      let newSize = files[index].pending.reduce(oldSize) { max($0, $1.end) }
      let filling = ruin.bytes(newSize - oldSize, ruin.chooseRemainder())
      files[index].durable += filling ?? [UInt8](repeating: 0, count: newSize - oldSize)
      // In one half of the cases no byte arrived, in the other one some blocks.
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

  /// Some bytes that are on the disk, of which something can turn up in the wrong place.
  private func gatherStale(_ ruin: inout Ruin) {
    let candidates = files.filter { !$0.durable.isEmpty }
    guard !candidates.isEmpty else { return }
    ruin.stale = Array(candidates[ruin.random.below(candidates.count)].durable.prefix(1 << 16))
  }

  /// Only what is on the disk is there any more.
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

extension SimulatedContents {
  /// Leaves the beginning of a write.
  fileprivate mutating func tear(_ write: VolatileWrite, _ ruin: inout Ruin) {
    let tearing = ruin.chooseTearing()
    let cut = write.offset + ruin.random.below(write.bytes.count + 1)
    let end = max(write.offset, cut - cut % tearing.granularityBytes)
    if end > write.offset {
      durable.replace(at: write.offset, with: write.bytes.prefix(end - write.offset))
    }
    guard end < write.end else { return }
    if let rest = ruin.bytes(write.end - end, tearing.remainder) {
      durable.replace(at: end, with: rest)
    }
  }
}

extension VolatileWrite {
  /// The parts of this write that lie in different blocks of 4,096 bytes.
  fileprivate var blocks: [VolatileWrite] {
    var blocks: [VolatileWrite] = []
    var start = offset
    while start < end {
      let next = min(end, (start / 4096 + 1) * 4096)
      blocks.append(
        VolatileWrite(
          number: number, offset: start, bytes: Array(bytes[start - offset..<next - offset])))
      start = next
    }
    return blocks
  }
}
