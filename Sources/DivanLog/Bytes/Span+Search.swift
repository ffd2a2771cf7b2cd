extension SharedBytes {
  /// Where a byte stands first; nil if nowhere.
  ///
  /// Looks at eight bytes at a time.
  package func index(of byte: UInt8) -> Int? {
    withSpan { $0.index(of: byte, from: 0) }
  }
}

extension Span where Element == UInt8 {
  /// Where a byte stands first, from `start` on, which may be behind the end; nil if nowhere.
  package func index(of byte: UInt8, from start: Int) -> Int? {
    var position = start
    let ones: UInt64 = 0x0101_0101_0101_0101
    while count - position >= 8 {
      // The high bit of each byte that is this one comes out set; a borrow can set more, but only
      // above the first that is set rightly.
      let word = self.word(at: position) ^ (ones &* UInt64(byte))
      let found = (word &- ones) & ~word & (ones << 7)
      if found != 0 { return position + found.trailingZeroBitCount / 8 }
      position += 8
    }
    while position < count {
      if self[position] == byte { return position }
      position += 1
    }
    return nil
  }
}
