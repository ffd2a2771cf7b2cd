/// How a loss of power leaves what it does not leave whole.
struct Ruin {
  var random: SeededGenerator
  /// Nil to choose anew for each write.
  let tearing: SimulatedDisk.Tearing?
  let noiseSeed: UInt64
  /// Bytes that lie about on the disk.
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

  /// Bytes that stand where others should; nil for what stood there before.
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

  /// Each byte follows from its offset, so that the same cut leaves the same state.
  private func noise(_ count: Int, at offset: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var word: UInt64 = 0
    for place in offset..<offset + count {
      if place % 8 == 0 || place == offset {
        var generator = SeededGenerator(
          seed: noiseSeed ^ UInt64(place / 8) &* 0xD6E8_FEB8_6659_FD93)
        word = generator.next() >> (8 * UInt64(place % 8))
      }
      bytes.append(UInt8(truncatingIfNeeded: word))
      word >>= 8
    }
    return bytes
  }

  /// Chooses some bytes that are or were on the disk, which can turn up in the wrong place.
  ///
  /// They keep their offsets: so old frames stand where new ones could.
  mutating func gatherStale(in state: SimulatedState) {
    let candidates = state.files.filter { !$0.durable.isEmpty }
    guard !candidates.isEmpty else { return }
    stale = Array(candidates[random.below(candidates.count)].durable.prefix(1 << 16))
  }

  /// The same without chance: the newest file of those that reach the furthest, but for the one
  /// that a change was written to.
  mutating func gatherStale(in state: SimulatedState, besides number: Int) {
    var best: SimulatedContents?
    for file in state.files where !file.pending.contains(where: { $0.number == number }) {
      if file.durable.count >= best?.durable.count ?? 1 { best = file }
    }
    if let best { stale = Array(best.durable.prefix(1 << 16)) }
  }
}

extension SimulatedContents {
  /// Leaves the first bytes of a write, `kept` of them at most.
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
  /// The parts of this write that lie in different blocks of 4,096 bytes.
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
