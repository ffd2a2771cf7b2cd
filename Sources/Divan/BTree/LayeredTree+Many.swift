internal import DivanLog

extension LayeredTree {
  /// Calls `body` with the value of each key, in their order; with nil for a key that has none.
  ///
  /// The keys should probably exist. The leaves of all keys are prefetched together, so that memory
  /// is waited for once.
  func forEachValue(
    of keys: [SharedBytes], _ body: (Span<UInt8>?) -> Void
  ) throws(PageError) {
    // `keys` keeps the bytes alive until the end, so no reference is counted for each look-up.
    let borrowed = keys.map { $0.borrow { $0 } }
    defer { withExtendedLifetime(keys) {} }
    let locations = prefetchedLocations(of: borrowed)
    for index in borrowed.indices {
      let location = locations.isEmpty ? nil : locations[index]
      let isFound: Void? = try withValue(of: borrowed[index], expectedAt: location) { body($0) }
      if isFound == nil { body(nil) }
    }
  }

  /// Returns the probable locations of keys in the oldest run, prefetched; empty for few keys.
  ///
  /// Each pass reads from all leaves the bytes that the pass before located: the beginnings, then
  /// the entries. A location is nil if its leaf cannot be read; the look-up reports that error. If
  /// leaves do not stay in memory, the result is empty.
  private func prefetchedLocations(of keys: [BorrowedBytes]) -> [EntryLocation?] {
    guard keys.count >= LayeredTree.prefetchMinimum, let run = runs.last else { return [] }
    var locations: [EntryLocation?] = []
    locations.reserveCapacity(keys.count)
    for (index, key) in keys.enumerated() {
      let leaf = run.lastingLeaf(for: key, compactionCount: compactionCount)
      if index == 0, leaf == nil { return [] }
      locations.append(leaf.map { EntryLocation(page: $0, index: 0) })
    }
    var prefetched: UInt8 = 0
    for location in locations { prefetched ^= location?.page.prefetchHeads() ?? 0 }
    for index in keys.indices {
      guard let page = locations[index]?.page else { continue }
      let entry = page.prefetchEntry(expectedAt: keys[index], &prefetched)
      locations[index] = entry.map { EntryLocation(page: page, index: $0) }
    }
    SharedBytes.keep(prefetched)
    return locations
  }

  /// The number of keys below which nothing is prefetched.
  private static let prefetchMinimum = 3
}
