extension [EntryBatch.Place] {
  /// Brings places into the order of their keys; of those with the same key one stays.
  ///
  /// - Parameter compareKeys: how the keys of two places with the same head compare.
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

  /// From how many places on it is faster to distribute them than to compare them.
  private var leastToDistribute: Int { 4096 }

  /// Brings places into the order of their heads by distributing them by one byte after the other, from the last one on.
  ///
  /// Bytes in which all are the same need no work: of texts that are dates, half of them. What is compared costs a branch for each
  /// comparison that nobody can foresee, and this has none.
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

  /// Brings places into the order of one byte, those with the same one as they were, in place of as many others.
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
