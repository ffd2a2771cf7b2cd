extension [EntryBatch.Slot] {
  /// Sorts slots by their keys; of slots with the same key, one is kept.
  ///
  /// - Parameter compareKeys: compares the keys of two slots with the same head.
  mutating func sortByKeys(_ compareKeys: (EntryBatch.Slot, EntryBatch.Slot) -> Int) {
    if count < leastToDistribute {
      sort { a, b in
        a.head.first != b.head.first
          ? a.head.first < b.head.first : a.head.second < b.head.second
      }
    } else {
      distributeByHeads()
    }
    var (start, kept) = (0, 0)
    while start < count {
      let head = self[start].head
      var end = start + 1
      while end < count, self[end].head == head { end += 1 }
      if end - start > 1 { self[start..<end].sort { compareKeys($0, $1) < 0 } }
      for index in start..<end {
        let slot = self[index]
        if index > start, self[kept - 1].keySize == slot.keySize,
          compareKeys(self[kept - 1], slot) == 0
        {
          continue
        }
        self[kept] = slot
        kept += 1
      }
      start = end
    }
    removeLast(count - kept)
  }

  /// The number of slots from which on a radix sort is faster than comparisons.
  private var leastToDistribute: Int { 4096 }

  /// Sorts slots by their heads with a radix sort, one byte after the other, from the last one on.
  ///
  /// Bytes that are the same in all heads are skipped: for texts that are dates, half of them. A
  /// comparison costs a branch that cannot be predicted; a radix sort has none.
  private mutating func distributeByHeads() {
    let head = self[0].head
    var differing: (first: UInt64, second: UInt64) = (0, 0)
    for slot in self {
      differing.first |= slot.head.first ^ head.first
      differing.second |= slot.head.second ^ head.second
    }
    var buffer = self
    for shift in stride(from: UInt64(0), to: 64, by: 8)
    where (differing.second >> shift) & 0xFF != 0 {
      distribute(into: &buffer) { Int(($0.head.second >> shift) & 0xFF) }
      swap(&self, &buffer)
    }
    for shift in stride(from: UInt64(0), to: 64, by: 8)
    where (differing.first >> shift) & 0xFF != 0 {
      distribute(into: &buffer) { Int(($0.head.first >> shift) & 0xFF) }
      swap(&self, &buffer)
    }
  }

  /// Sorts slots by one byte, stably, into a buffer of the same size.
  @inline(__always)
  private func distribute(into buffer: inout [Element], by byte: (Element) -> Int) {
    var starts = [Int](repeating: 0, count: 256)
    for slot in self { starts[byte(slot)] += 1 }
    var start = 0
    for value in starts.indices {
      let count = starts[value]
      starts[value] = start
      start += count
    }
    for slot in self {
      let value = byte(slot)
      buffer[starts[value]] = slot
      starts[value] += 1
    }
  }
}
