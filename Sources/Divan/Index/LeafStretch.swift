internal import DivanLog

/// Entries that stand side by side in a leaf, and that a walk over several layers takes at once.
///
/// Changes are few, so mostly it is all that a range has of a leaf: some dozens of entries.
struct LeafStretch {
  /// The leaf, kept alive by `owner`.
  private let page: NodePage
  private let owner: AnyObject
  /// Which entries are left.
  private var first: Int
  private var end: Int

  init(_ page: NodePage, heldBy owner: AnyObject, _ indexes: Range<Int>) {
    self.page = page
    self.owner = owner
    first = indexes.lowerBound
    end = indexes.upperBound
  }

  /// How many entries are left.
  var count: Int { end - first }

  /// Takes out the next entry of a walk in this direction; nil if none is left.
  @inline(__always)
  mutating func next(descending: Bool) -> IndexEntry? {
    guard first < end else { return nil }
    let index: Int
    if descending {
      end &-= 1
      index = end
    } else {
      index = first
      first &+= 1
    }
    return IndexEntry(page.entry(index), heldBy: owner)
  }

  /// Takes out the next entries of a walk upwards for as long as `isPassed` says so of their keys and values, without
  /// counting a reference for each.
  @inline(__always)
  mutating func pass(while isPassed: (LentBytes, LentBytes) -> Bool) {
    while first < end {
      let entry = page.entry(first)
      guard isPassed(entry.key, entry.value) else { return }
      first &+= 1
    }
  }

  /// Lends the keys and values that are left to `body`, without counting a reference for each.
  @inline(__always)
  func forEach<E: Error>(_ body: (LentBytes, LentBytes) throws(E) -> Void) throws(E) {
    // A closure around the loop would keep `body` from becoming part of it.
    defer { withExtendedLifetime(owner) {} }
    for index in first..<end {
      let entry = page.entry(index)
      try body(entry.key, entry.value)
    }
  }
}
