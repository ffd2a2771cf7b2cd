/// The terms of words that a ``TermFilter`` met before.
///
/// A text has few different words, and each takes hundreds of instructions to fold and stem. The
/// cache has a fixed number of slots, each for one word at a time: a word whose slot has another
/// one takes its place. Words and terms of up to 16 bytes are kept, in two numbers each.
struct TermCache: Sendable {
  /// A word of up to 16 bytes as a key of the cache.
  ///
  /// Its last byte is never zero, so the bytes after it are told apart from it.
  struct Word: Equatable, Sendable {
    fileprivate let low: UInt64
    fileprivate let high: UInt64
    fileprivate let slot: Int

    /// Returns nil for a word that is too long.
    init?(_ text: [UInt8], _ range: Range<Int>) {
      guard range.count <= 16 else { return nil }
      let (low, high) = packed(text, range)
      (self.low, self.high) = (low, high)
      let hash = (low ^ (high &* 0x9E37_79B9_7F4A_7C15)) &* 0xBF58_476D_1CE4_E5B9
      slot = Int(truncatingIfNeeded: hash >> UInt64(64 - TermCache.slotBits))
    }
  }

  /// A word and its term, which has no zero byte; the term is zero if the word has none.
  private struct Slot {
    var wordLow: UInt64 = 0
    var wordHigh: UInt64 = 0
    var termLow: UInt64 = 0
    var termHigh: UInt64 = 0
  }

  /// 8,192 slots of 32 bytes.
  private static let slotBits = 13
  private var slots = [Slot](repeating: Slot(), count: 1 << TermCache.slotBits)

  /// Replaces `term` by the term of a word, which is empty for a stop word.
  ///
  /// Returns false, and leaves `term` alone, if the cache does not have the word.
  func copyTerm(of word: Word, into term: inout [UInt8]) -> Bool {
    let slot = slots[word.slot]
    guard slot.wordLow == word.low, slot.wordHigh == word.high, word.low != 0 else { return false }
    term.removeAll(keepingCapacity: true)
    for var rest in [slot.termLow, slot.termHigh] {
      while rest != 0 {
        term.append(UInt8(truncatingIfNeeded: rest))
        rest >>= 8
      }
    }
    return true
  }

  /// Keeps the term of a word, unless it is too long.
  mutating func insert(_ word: Word, _ term: [UInt8]) {
    guard term.count <= 16 else { return }
    let (low, high) = packed(term, 0..<term.count)
    slots[word.slot] = Slot(
      wordLow: word.low, wordHigh: word.high, termLow: low, termHigh: high)
  }
}

/// Up to 16 bytes as two numbers, the first byte in the lowest bits.
private func packed(_ bytes: [UInt8], _ range: Range<Int>) -> (low: UInt64, high: UInt64) {
  var (low, high): (UInt64, UInt64) = (0, 0)
  var shift: UInt64 = 0
  for index in range {
    if shift < 64 {
      low |= UInt64(bytes[index]) << shift
    } else {
      high |= UInt64(bytes[index]) << (shift - 64)
    }
    shift += 8
  }
  return (low, high)
}
