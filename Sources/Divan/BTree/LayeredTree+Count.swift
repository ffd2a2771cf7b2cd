internal import DivanLog

/// The number of entries that a scan has counted.
struct EntryCount: Equatable {
  /// The number of entries that are as expected.
  var sound = 0
  /// The number of entries that are not.
  var unsound = 0
}

extension EntryCount {
  @inline(__always)
  fileprivate mutating func add(_ isSound: Bool) {
    sound &+= isSound ? 1 : 0
    unsound &+= isSound ? 0 : 1
  }

  fileprivate static func += (a: inout EntryCount, b: EntryCount) {
    a.sound += b.sound
    a.unsound += b.unsound
  }
}

extension LeafRange {
  /// Counts the remaining entries in place.
  @inline(__always)
  fileprivate func count(
    keepsTombstones: Bool, _ isSound: (BorrowedBytes, BorrowedBytes) -> Bool
  ) -> EntryCount {
    var found = EntryCount()
    forEach { key, value in
      if keepsTombstones || value.count > 0 { found.add(isSound(key, value)) }
    }
    return found
  }
}

extension LayeredScan {
  /// Counts the remaining entries without copying them from the leaves.
  ///
  /// It is inlined into its callers, so that `isSound` becomes part of the loop; the remaining time
  /// is mostly spent waiting for pages. If a page cannot be read, it throws. Once the page is
  /// repaired, you may call it again: it continues at the same entry.
  ///
  /// - Parameters:
  ///   - count: the entries counted so far.
  ///   - isSound: whether an entry with this key and value is as expected.
  /// - Throws: a page that is damaged or cannot be read.
  @inline(__always)
  mutating func count(
    into count: inout EntryCount, _ isSound: (BorrowedBytes, BorrowedBytes) -> Bool
  ) throws(PageError) {
    while true {
      while let leafRange = try nextLeafRange() {
        count += leafRange.count(keepsTombstones: keepsTombstones, isSound)
      }
      guard let entry = try next() else { return }
      count.add(entry.key.borrow { key in entry.value.borrow { isSound(key, $0) } })
    }
  }
}

extension LayeredScan {
  /// Passes the adjacent entries that follow in a leaf, or one entry, and reads only the last one.
  ///
  /// Returns their number and the last one; nil at the end. The number is approximate, because
  /// removed entries count too. The scan must be ascending.
  mutating func pass() throws(PageError) -> (count: Int, last: TreeEntry)? {
    while var leafRange = try nextLeafRange() {
      let count = leafRange.count
      if let last = leafRange.next(descending: true) { return (count, last) }
    }
    return try next().map { (1, $0) }
  }
}
