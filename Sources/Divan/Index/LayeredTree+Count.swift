internal import DivanLog

/// How many entries of a walk were passed.
struct EntryCount: Equatable {
  /// Those that are what they should be.
  var sound = 0
  /// Those that are not.
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

extension LeafStretch {
  /// Counts the entries that are left, where they are.
  @inline(__always)
  fileprivate func count(
    keepsTombstones: Bool, _ isSound: (LentBytes, LentBytes) -> Bool
  ) -> EntryCount {
    var found = EntryCount()
    forEach { key, value in
      if keepsTombstones || value.count > 0 { found.add(isSound(key, value)) }
    }
    return found
  }
}

extension LayeredScan {
  /// Counts the entries that are left, in the leaves themselves.
  ///
  /// It stands inlined where it is called, so that `isSound` becomes part of the loop; what is left of
  /// the time is mostly waiting for the pages. When a page cannot be read, it throws, and may be called again once that is mended: then it goes
  /// on counting where it was.
  ///
  /// - Parameters:
  ///   - count: what was counted so far.
  ///   - isSound: whether an entry with this key and value is what it should be.
  /// - Throws: a page that is damaged or cannot be read.
  @inline(__always)
  mutating func count(
    into count: inout EntryCount, _ isSound: (LentBytes, LentBytes) -> Bool
  ) throws(PageError) {
    while true {
      while let stretch = try nextStretch() {
        count += stretch.count(keepsTombstones: keepsTombstones, isSound)
      }
      guard let entry = try next() else { return }
      count.add(entry.key.lend { key in entry.value.lend { isSound(key, $0) } })
    }
  }
}

extension LayeredScan {
  /// Passes the entries that follow side by side in a leaf, or one, without looking at others than the last.
  ///
  /// Returns about how many these are, since removed ones count, too, and the last one; nil at the end. The walk must be in
  /// the order of keys.
  mutating func pass() throws(PageError) -> (count: Int, last: IndexEntry)? {
    while var stretch = try nextStretch() {
      let count = stretch.count
      if let last = stretch.next(descending: true) { return (count, last) }
    }
    return try next().map { (1, $0) }
  }
}
