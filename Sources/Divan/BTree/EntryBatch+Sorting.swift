extension [EntryBatch.Place] {
  /// Sorts places by their keys; of places with the same key, one is kept.
  ///
  /// - Parameter compareKeys: compares the keys of two places with the same head.
  mutating func sortByKeys(_ compareKeys: (EntryBatch.Place, EntryBatch.Place) -> Int) {
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
        let place = self[index]
        if index > start, self[kept - 1].keySize == place.keySize,
          compareKeys(self[kept - 1], place) == 0
        {
          continue
        }
        self[kept] = place
        kept += 1
      }
      start = end
    }
    removeLast(count - kept)
  }

  /// The number of places from which on a radix sort is faster than comparisons.
  private var leastToDistribute: Int { 4096 }

  /// Sorts places by their heads with a radix sort, one byte after the other, from the last one on.
  ///
  /// Bytes that are the same in all heads are skipped: for texts that are dates, half of them. A
  /// comparison costs a branch that cannot be predicted; a radix sort has none.
  private mutating func distributeByHeads() {
    let head = self[0].head
    var differing: (first: UInt64, second: UInt64) = (0, 0)
    for place in self {
      differing.first |= place.head.first ^ head.first
      differing.second |= place.head.second ^ head.second
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

  /// Sorts places by one byte, stably, into a buffer of the same size.
  @inline(__always)
  private func distribute(into buffer: inout [Element], by byte: (Element) -> Int) {
    var starts = [Int](repeating: 0, count: 256)
    for place in self { starts[byte(place)] += 1 }
    var start = 0
    for value in starts.indices {
      let count = starts[value]
      starts[value] = start
      start += count
    }
    for place in self {
      let value = byte(place)
      buffer[starts[value]] = place
      starts[value] += 1
    }
  }
}
