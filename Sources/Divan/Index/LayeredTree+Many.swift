internal import DivanLog

extension LayeredTree {
  /// Lends `body` the value of each of some keys that are probably there, in their order; nil for one that is not.
  ///
  /// The leaves of all of them are brought in together, so that the memory is waited for once.
  func forEachValue(
    of keys: [SharedBytes], _ body: (Span<UInt8>?) -> Void
  ) throws(PageError) {
    // `keys` holds the bytes until the end; lent once, they are not counted for each look.
    let lent = keys.map { $0.lend { $0 } }
    defer { withExtendedLifetime(keys) {} }
    let places = placesAhead(of: lent)
    for index in lent.indices {
      let place = places.isEmpty ? nil : places[index]
      let isFound: Void? = try withValue(of: lent[index], supposedlyAt: place) { body($0) }
      if isFound == nil { body(nil) }
    }
  }

  /// Where keys most probably are in the lowest run, brought in from memory; empty for few keys.
  ///
  /// In passes, each of which reads of all leaves what the one before has led to: the beginnings, then the entries. A place
  /// is nil if its leaf cannot be read, as whoever looks for the key finds out; where leaves do not stay in memory, there are
  /// none.
  private func placesAhead(of keys: [LentBytes]) -> [EntryPlace?] {
    guard keys.count >= LayeredTree.placesAheadMinimum, let run = runs.last else { return [] }
    var places: [EntryPlace?] = []
    places.reserveCapacity(keys.count)
    for (index, key) in keys.enumerated() {
      let leaf = run.lastingLeaf(for: key, mergeCount: mergeCount)
      if index == 0, leaf == nil { return [] }
      places.append(leaf.map { EntryPlace(page: $0, index: 0) })
    }
    var touched: UInt8 = 0
    for place in places { touched ^= place?.page.touchHeads() ?? 0 }
    for index in keys.indices {
      guard let page = places[index]?.page else { continue }
      let entry = page.touchEntry(supposedlyOf: keys[index], &touched)
      places[index] = entry.map { EntryPlace(page: page, index: $0) }
    }
    SharedBytes.keep(touched)
    return places
  }

  /// Of fewer keys, places are not brought in together.
  private static let placesAheadMinimum = 3
}
