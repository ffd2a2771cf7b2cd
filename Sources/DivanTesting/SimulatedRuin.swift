/// The damage that a loss of power does to changes that it does not leave whole.
struct Ruin {
  var random: SeededGenerator
  /// Nil to choose one for each write.
  let tearing: SimulatedDisk.Tearing?
  let noiseSeed: UInt64
  /// Old bytes on the disk that can appear instead of others.
  private var stale: [UInt8] = []

  init(random: SeededGenerator, tearing: SimulatedDisk.Tearing?, noiseSeed: UInt64) {
    self.random = random
    self.tearing = tearing
    self.noiseSeed = noiseSeed
  }
}

extension Ruin {
  mutating func chooseTearing() -> SimulatedDisk.Tearing {
    if let tearing { return tearing }
    let granularity = [1, 8, 512, 4096][random.below(4)]
    return SimulatedDisk.Tearing(granularityBytes: granularity, remainder: chooseRemainder())
  }

  mutating func chooseRemainder() -> SimulatedDisk.Tearing.Remainder {
    let all = SimulatedDisk.Tearing.Remainder.allCases
    return all[random.below(all.count)]
  }

  /// Returns bytes to write instead of missing ones; nil to keep the previous bytes.
  func bytes(
    _ count: Int, at offset: Int, _ remainder: SimulatedDisk.Tearing.Remainder
  ) -> [UInt8]? {
    switch remainder {
    case .old: return nil
    case .zeros: return [UInt8](repeating: 0, count: count)
    case .noise: return noise(count, at: offset)
    case .stale:
      guard !stale.isEmpty else { return [UInt8](repeating: 0, count: count) }
      return (0..<count).map { stale[(offset + $0) % stale.count] }
    }
  }

  /// Returns noise that follows from the offset, so that the same cut leaves the same state.
  private func noise(_ count: Int, at offset: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var word: UInt64 = 0
    for position in offset..<offset + count {
      if position % 8 == 0 || position == offset {
        var generator = SeededGenerator(
          seed: noiseSeed ^ UInt64(position / 8) &* 0xD6E8_FEB8_6659_FD93)
        word = generator.next() >> (8 * UInt64(position % 8))
      }
      bytes.append(UInt8(truncatingIfNeeded: word))
      word >>= 8
    }
    return bytes
  }

  /// Chooses some bytes that are or were on the disk, which can appear at a wrong location.
  ///
  /// They keep their offsets, so that old frames are where new ones could be.
  mutating func gatherStale(in state: SimulatedState) {
    let candidates = state.files.filter { !$0.durable.isEmpty }
    guard !candidates.isEmpty else { return }
    stale = Array(candidates[random.below(candidates.count)].durable.prefix(1 << 16))
  }

  /// Chooses such bytes without randomness: the bytes of the newest of the longest files.
  ///
  /// The file that the change `number` was written to is left out.
  mutating func gatherStale(in state: SimulatedState, besides number: Int) {
    var best: SimulatedContents?
    for file in state.files where !file.pending.contains(where: { $0.number == number }) {
      if file.durable.count >= best?.durable.count ?? 1 { best = file }
    }
    if let best { stale = Array(best.durable.prefix(1 << 16)) }
  }
}

extension SimulatedContents {
  /// Keeps the first bytes of a write, at most `kept` of them.
  mutating func tear(_ write: VolatileWrite, after kept: Int, _ ruin: inout Ruin) {
    let tearing = ruin.chooseTearing()
    let cut = write.offset + min(kept, write.bytes.count)
    let end =
      cut == write.end ? cut : max(write.offset, cut - cut % tearing.granularityBytes)
    if end > write.offset {
      durable.replace(at: write.offset, with: write.bytes.prefix(end - write.offset))
    }
    guard end < write.end else { return }
    if let rest = ruin.bytes(write.end - end, at: end, tearing.remainder) {
      durable.replace(at: end, with: rest)
    }
  }
}

extension VolatileWrite {
  /// The parts of this write in different blocks of 4,096 bytes.
  var blocks: [VolatileWrite] {
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
