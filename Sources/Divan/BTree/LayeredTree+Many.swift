internal import DivanLog

extension LayeredTree {
  /// Calls `body` with the value of each key, in their order; with nil for a key that has none.
  ///
  /// The keys should probably exist. The leaves of all keys are prefetched together, so that memory
  /// is waited for once.
  func forEachValue(
    of keys: [SharedBytes], _ body: (Span<UInt8>?) -> Void
  ) throws(PageError) {
    // `keys` keeps the bytes alive until the end. Lent once, they are not counted for each look-up.
    let borrowed = keys.map { $0.borrow { $0 } }
    defer { withExtendedLifetime(keys) {} }
    let places = placesAhead(of: borrowed)
    for index in borrowed.indices {
      let place = places.isEmpty ? nil : places[index]
      let isFound: Void? = try withValue(of: borrowed[index], expectedAt: place) { body($0) }
      if isFound == nil { body(nil) }
    }
  }

  /// Returns where keys most probably are in the oldest run, prefetched; empty for few keys.
  ///
  /// Each pass reads from all leaves the bytes that the pass before located: the beginnings, then
  /// the entries. A place is nil if its leaf cannot be read; the look-up reports that error. If
  /// leaves do not stay in memory, the result is empty.
  private func placesAhead(of keys: [BorrowedBytes]) -> [EntryLocation?] {
    guard keys.count >= LayeredTree.placesAheadMinimum, let run = runs.last else { return [] }
    var places: [EntryLocation?] = []
    places.reserveCapacity(keys.count)
    for (index, key) in keys.enumerated() {
      let leaf = run.lastingLeaf(for: key, compactionCount: compactionCount)
      if index == 0, leaf == nil { return [] }
      places.append(leaf.map { EntryLocation(page: $0, index: 0) })
    }
    var prefetched: UInt8 = 0
    for place in places { prefetched ^= place?.page.prefetchHeads() ?? 0 }
    for index in keys.indices {
      guard let page = places[index]?.page else { continue }
      let entry = page.prefetchEntry(expectedAt: keys[index], &prefetched)
      places[index] = entry.map { EntryLocation(page: page, index: $0) }
    }
    SharedBytes.keep(prefetched)
    return places
  }

  /// The number of keys below which places are not prefetched.
  private static let placesAheadMinimum = 3
}
