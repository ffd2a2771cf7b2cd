extension SharedBytes {
  /// Returns the offset of the first such byte, or nil if there is none.
  ///
  /// Compares eight bytes at a time.
  package func index(of byte: UInt8) -> Int? {
    withSpan { $0.index(of: byte, from: 0) }
  }
}

extension Span where Element == UInt8 {
  /// Returns the offset of the first such byte from `start` on, or nil if there is none.
  ///
  /// `start` may be past the end.
  package func index(of byte: UInt8, from start: Int) -> Int? {
    var position = start
    let ones: UInt64 = 0x0101_0101_0101_0101
    while count - position >= 8 {
      // The high bit of each matching byte is set. A borrow can set more, but only above the first
      // match.
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
