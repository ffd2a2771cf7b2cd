import DivanLog
import DivanTesting

/// One way in which the files of a store differ from what was written.
package struct ByteDamage: Sendable, CustomStringConvertible {
  package let description: String
  /// The files that differ, by name; nil for one that is missing.
  let changed: [(name: String, bytes: [UInt8]?)]

  init(_ description: String, _ name: String, _ bytes: [UInt8]?) {
    self.init(description, [(name, bytes)])
  }

  init(_ description: String, _ changed: [(name: String, bytes: [UInt8]?)]) {
    self.description = description
    self.changed = changed
  }
}

/// A kind of damage, of which all variants are tried on a file.
package enum ByteDamageKind: String, CaseIterable, Sendable {
  case flips = "flipped bits"
  case cuts = "cut files"
  case sectors = "zeroed, duplicated, misdirected and exchanged sectors"
  case files = "files that vanished, came up, were exchanged or grew"
  case pairs = "two flipped bits"
}

extension ByteDamageKind {
  /// How much damage is tried.
  package struct Extent: Sendable {
    /// The stride of the bytes and lengths that are tried.
    var step: Int
    /// For large stores, the stride among those.
    var largeStep: Int
    /// Whether every bit is flipped, in small stores and in all stores.
    var isEveryBitOfSmall: Bool
    var isEveryBitOfAll: Bool
    /// The stride of the sectors that are tried.
    var sectorStep: Int
    /// The stride of the ways in which a whole file is replaced.
    var fileStep = 1
    /// The number of pairs of flipped bits in a file.
    var pairCount: Int

    package init(
      step: Int, largeStep: Int = 1, isEveryBitOfSmall: Bool, isEveryBitOfAll: Bool,
      sectorStep: Int, fileStep: Int = 1, pairCount: Int
    ) {
      self.step = step
      self.largeStep = largeStep
      self.isEveryBitOfSmall = isEveryBitOfSmall
      self.isEveryBitOfAll = isEveryBitOfAll
      self.sectorStep = sectorStep
      self.fileStep = fileStep
      self.pairCount = pairCount
    }

    func step(of subject: ByteSubject) -> Int { step * (subject.isLarge ? largeStep : 1) }
  }

  /// Calls `body` with all damage of this kind to a file of a store.
  func forEach(
    of subject: ByteSubject, _ name: String, _ extent: Extent, seed: UInt64,
    _ body: (ByteDamage) -> Void
  ) {
    guard let original = subject.files[name]?.array else { return }
    switch self {
    case .flips: flips(subject, name, original, extent, body)
    case .cuts:
      for size in stride(from: 0, to: original.count, by: extent.step(of: subject))
      where ByteDamageKind.isTried(size, of: name) {
        body(ByteDamage("\(name) cut to \(size)", name, Array(original.prefix(size))))
      }
    case .sectors: sectors(name, original, extent, seed, body)
    case .files:
      var number = original.count
      files(subject, name, original, seed) { damage in
        number += 1
        if number % extent.fileStep == 0 { body(damage) }
      }
    case .pairs: pairs(subject, name, original, extent, seed, body)
    }
  }

  /// Whether an offset is tried; the space between the marks of `FLUSHED` is sampled, as unused.
  private static func isTried(_ offset: Int, of name: String) -> Bool {
    name != "FLUSHED" || offset % 4096 < FlushMark.size || offset % 256 == 0
  }

  private func flips(
    _ subject: ByteSubject, _ name: String, _ original: [UInt8], _ extent: Extent,
    _ body: (ByteDamage) -> Void
  ) {
    let isEveryBit =
      extent.isEveryBitOfAll || extent.isEveryBitOfSmall && subject.isForEveryBit
    var bytes = original
    let step = extent.step(of: subject)
    for offset in stride(from: 0, to: original.count, by: step)
    where ByteDamageKind.isTried(offset, of: name) {
      for bit in isEveryBit ? 0..<8 : offset / step % 8..<offset / step % 8 + 1 {
        bytes[offset] ^= 1 << bit
        body(ByteDamage("\(name) bit \(bit) of byte \(offset)", name, bytes))
        bytes[offset] = original[offset]
      }
    }
  }

  private func sectors(
    _ name: String, _ original: [UInt8], _ extent: Extent, _ seed: UInt64,
    _ body: (ByteDamage) -> Void
  ) {
    var random = SeededGenerator(seed: seed ^ UInt64(original.count))
    for size in [8, 512, 4096] {
      let count = original.count / size
      let step = size == 8 ? extent.sectorStep : (extent.sectorStep + 15) / 16
      for index in stride(from: 0, to: count, by: step) {
        let range = index * size..<(index + 1) * size
        func replaced(_ what: String, _ bytes: [UInt8]) {
          guard bytes != original else { return }
          body(ByteDamage("\(name) sector \(index) of \(size): \(what)", name, bytes))
        }
        var bytes = original
        bytes.replaceSubrange(range, with: repeatElement(0, count: size))
        replaced("zeroed", bytes)
        let other = Int.random(in: 0..<count, using: &random)
        let source = other * size..<(other + 1) * size
        bytes = original
        bytes.replaceSubrange(range, with: original[source])
        replaced("has what belongs to \(other)", bytes)
        bytes.replaceSubrange(source, with: original[range])
        replaced("exchanged with \(other)", bytes)
        if index + 1 < count {
          bytes = original
          bytes.replaceSubrange(range.upperBound..<range.upperBound + size, with: original[range])
          replaced("written twice", bytes)
        }
      }
    }
  }

  private func files(
    _ subject: ByteSubject, _ name: String, _ original: [UInt8], _ seed: UInt64,
    _ body: (ByteDamage) -> Void
  ) {
    body(ByteDamage("\(name) vanished", name, nil))
    var random = SeededGenerator(seed: seed ^ UInt64(original.count))
    let noise = (0..<original.count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
    body(ByteDamage("\(name) is noise", name, noise))
    body(ByteDamage("\(name) is zeros", name, [UInt8](repeating: 0, count: original.count)))
    for count in [1, 7, 8, 100, 4096] {
      body(
        ByteDamage(
          "\(name) grew by \(count) zeros", name, original + [UInt8](repeating: 0, count: count)))
      body(ByteDamage("\(name) grew by noise", name, original + noise.prefix(count)))
      body(ByteDamage("\(name) grew by itself", name, original + original.suffix(count)))
    }
    for other in subject.files.keys.sorted() where other != name {
      let bytes = subject.files[other]?.array ?? []
      body(ByteDamage("\(name) is a copy of \(other)", name, bytes))
      body(
        ByteDamage("\(name) and \(other) exchanged", [(name, bytes), (other, original)]))
    }
    for extra in [
      "0000000001.segment", "0000000002.segment", "0000000099.segment", "0000000001.checkpoint",
      "0000000099.checkpoint", "0000000001-0000000002.segment", "0000000001-0000000099.segment",
      "0000000002-0000000003.segment", "1.segment", "0000000000.segment", "notes.txt",
      "attachments",
      "18446744073709551615.segment", "0000000001-18446744073709551615.segment",
      "18446744073709551615.checkpoint", "1152921504606846976.segment",
    ] where subject.files[extra] == nil {
      body(ByteDamage("\(extra) came up, a copy of \(name)", extra, original))
      body(ByteDamage("\(extra) came up, noise", extra, noise))
      body(ByteDamage("\(extra) came up, empty", extra, []))
    }
  }

  private func pairs(
    _ subject: ByteSubject, _ name: String, _ original: [UInt8], _ extent: Extent, _ seed: UInt64,
    _ body: (ByteDamage) -> Void
  ) {
    var random = SeededGenerator(seed: seed ^ UInt64(original.count))
    let names = subject.files.keys.sorted()
    for _ in 0..<extent.pairCount {
      var first = original
      let offset = Int.random(in: 0..<original.count, using: &random)
      first[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let otherName = names.randomElement(using: &random) ?? name
      var second = otherName == name ? first : subject.files[otherName]?.array ?? []
      let otherOffset = Int.random(in: 0..<second.count, using: &random)
      second[otherOffset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let what = "\(name) at \(offset) and \(otherName) at \(otherOffset)"
      body(
        otherName == name
          ? ByteDamage(what, name, second)
          : ByteDamage(what, [(name, first), (otherName, second)]))
    }
  }
}
