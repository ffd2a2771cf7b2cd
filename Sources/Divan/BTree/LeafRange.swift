internal import DivanLog

/// Adjacent entries of a leaf, which a scan of several layers takes at once.
///
/// Changes are few, so a leaf range is mostly all of a leaf that is in the scan's range: some
/// dozens of entries.
struct LeafRange {
  /// The leaf, which `owner` keeps alive.
  private let page: NodePage
  private let owner: AnyObject
  /// The indexes of the remaining entries.
  private var first: Int
  private var end: Int

  init(_ page: NodePage, ownedBy owner: AnyObject, _ indexes: Range<Int>) {
    self.page = page
    self.owner = owner
    first = indexes.lowerBound
    end = indexes.upperBound
  }

  /// The number of remaining entries.
  var count: Int { end - first }

  /// Removes and returns the next entry in this direction; nil if none is left.
  @inline(__always)
  mutating func next(descending: Bool) -> TreeEntry? {
    guard first < end else { return nil }
    let index: Int
    if descending {
      end &-= 1
      index = end
    } else {
      index = first
      first &+= 1
    }
    return TreeEntry(page.entry(index), ownedBy: owner)
  }

  /// Passes the next entries while `isPassed` returns true for their keys and values.
  ///
  /// The scan must be ascending. No reference is counted for each entry.
  @inline(__always)
  mutating func pass(while isPassed: (BorrowedBytes, BorrowedBytes) -> Bool) {
    while first < end {
      let entry = page.entry(first)
      guard isPassed(entry.key, entry.value) else { return }
      first &+= 1
    }
  }

  /// Calls `body` with each remaining key and value, without counting a reference for each.
  @inline(__always)
  func forEach<E: Error>(_ body: (BorrowedBytes, BorrowedBytes) throws(E) -> Void) throws(E) {
    // A closure around the loop would prevent `body` from being inlined into it.
    defer { withExtendedLifetime(owner) {} }
    for index in first..<end {
      let entry = page.entry(index)
      try body(entry.key, entry.value)
    }
  }
}
