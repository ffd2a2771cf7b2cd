internal import DivanLog

extension LayeredTree {
  /// Lends `body` the value of each of some keys that are probably there, in their order; nil for one that is not.
  ///
  /// The leaves of all of them are brought in together, so that the memory is waited for once.
  func forEachValue(
    of keys: [SharedBytes], _ body: (Span<UInt8>?) -> Void
  ) throws(PageError) {
    let places = placesAhead(of: keys)
    // Of an array, an element would be counted for each look.
    let keys = keys.span
    for index in 0..<keys.count {
      let place = places.isEmpty ? nil : places[index]
      let isFound: Void? = try keys[index].withSpan { (key) throws(PageError) in
        try withValue(of: key, supposedlyAt: place) { body($0) }
      }
      if isFound == nil { body(nil) }
    }
  }

  /// Where keys most probably are in the lowest run, brought in from memory; empty for few keys.
  ///
  /// In passes, each of which reads of all leaves what the one before has led to: the beginnings, then the entries. A place is nil if its leaf
  /// cannot be read: whoever looks for the key finds out why.
  private func placesAhead(of keys: [SharedBytes]) -> [EntryPlace?] {
    guard keys.count >= LayeredTree.placesAheadMinimum, let run = runs.last else { return [] }
    var places: [EntryPlace?] = []
    places.reserveCapacity(keys.count)
    let keys = keys.span
    for index in 0..<keys.count {
      let leaf = keys[index].lend { run.lastingLeaf(for: $0, mergeCount: mergeCount) }
      places.append(leaf.map { EntryPlace(page: $0, index: 0) })
    }
    var touched: UInt8 = 0
    for place in places { touched ^= place?.page.touchHeads() ?? 0 }
    for index in 0..<keys.count {
      guard let page = places[index]?.page else { continue }
      let entry = keys[index].lend { page.touchEntry(supposedlyOf: $0, &touched) }
      places[index] = entry.map { EntryPlace(page: page, index: $0) }
    }
    SharedBytes.keep(touched)
    return places
  }

  /// Of fewer keys, places are not brought in together.
  private static let placesAheadMinimum = 3
}
