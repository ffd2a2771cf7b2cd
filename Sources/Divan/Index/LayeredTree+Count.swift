internal import DivanLog

/// Entries that stand side by side in a leaf, and that a walk passes at once.
///
/// Changes are few, so mostly it is what a range has of a leaf: some dozens of entries, which are
/// looked at where they are, without a reference being counted for each.
struct LeafStretch {
  /// The leaf, kept alive by `owner`.
  let page: NodePage
  let owner: AnyObject
  /// Which of its entries.
  let indexes: Range<Int>
}

/// How many entries of a walk were passed.
struct EntryCount: Equatable {
  /// Those that are what they should be.
  var sound = 0
  /// Those that are not.
  var unsound = 0
}

extension LayeredScan {
  /// Counts the entries that are left, from the leaves themselves.
  ///
  /// When a page cannot be read, it throws, and may be called again once that is mended: then it goes
  /// on counting where it was.
  ///
  /// - Parameters:
  ///   - count: what was counted so far.
  ///   - isSound: whether an entry with this key and value is what it should be.
  mutating func count(
    into count: inout EntryCount, _ isSound: (LentBytes, LentBytes) -> Bool
  ) throws(PageError) {
    while true {
      while let stretch = try nextStretch() {
        count.add(stretch, keepsTombstones: keepsTombstones, isSound)
      }
      guard let entry = try next() else { return }
      count.add(entry.key.lend { key in entry.value.lend { isSound(key, $0) } })
    }
  }
}

extension EntryCount {
  fileprivate mutating func add(_ isSound: Bool) {
    if isSound { sound += 1 } else { unsound += 1 }
  }

  fileprivate mutating func add(
    _ stretch: LeafStretch, keepsTombstones: Bool, _ isSound: (LentBytes, LentBytes) -> Bool
  ) {
    withExtendedLifetime(stretch.owner) {
      for index in stretch.indexes {
        let entry = stretch.page.entry(index)
        guard keepsTombstones || entry.value.count > 0 else { continue }
        add(isSound(entry.key, entry.value))
      }
    }
  }
}
