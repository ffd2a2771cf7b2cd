internal import DivanLog

/// A sorted map from bytes to bytes whose older part lies in files.
///
/// ```
/// overlay   changes since the last freeze          in memory, written to
/// frozen    changes being written to a run         in memory, fixed; absent between checkpoints
/// runs      what checkpoints wrote, newest first   in files, immutable
/// ```
///
/// What a key maps to is what the topmost layer that knows the key says. A layer says that a key is
/// gone with a *tombstone*: an empty value. So values are never empty.
///
/// Like ``BTree`` it is a value: copies are O(1) and never change.
///
/// Invariant: where nothing lies below, a layer in memory holds no tombstones.
struct LayeredTree: Sendable {
  /// What changed since the last freeze.
  private(set) var overlay: BTree
  /// What a checkpoint is writing to a run.
  private(set) var frozen: BTree?
  /// What checkpoints wrote, newest first.
  private(set) var runs: [Run]
  /// How many merges of segments this version has seen: which of the leaves that were rebuilt it may
  /// use.
  var mergeCount = 0

  /// Makes a map of what runs hold, the newest first.
  init(runs: [Run] = [], pageSize: Int = BTree.defaultPageSize) {
    overlay = BTree(pageSize: pageSize)
    self.runs = runs.filter { $0.count > 0 }
  }
}

extension LayeredTree {
  /// Whether a key that the overlay does not know may be known below.
  private var hasLowerLayers: Bool { !(frozen?.isEmpty ?? true) || !runs.isEmpty }

  /// Whether no layer holds anything, not even a tombstone.
  var isEmpty: Bool { overlay.isEmpty && !hasLowerLayers }

  /// How many entries are frozen.
  var frozenCount: Int { frozen?.count ?? 0 }

  /// The greatest sum of the lengths of a key and its value.
  var entryLimit: Int { overlay.entryLimit }

  /// The value of `key`, or nil.
  ///
  /// The bytes are lent by the index's memory or file, which stays as long as they are kept. A key
  /// that is probably there is looked for in the oldest run without asking its filter, which would
  /// say yes.
  func find(
    _ key: Span<UInt8>, isProbablyThere: Bool = true
  ) throws(PageError) -> SharedBytes? {
    try LentBytes.lend(key) { (key) throws(PageError) in
      try withEntry(
        of: key, isProbablyThere: isProbablyThere,
        inMemory: { leaf, index in leaf.page.value(index).shared(by: leaf) },
        inFile: { run, leaf, index in run.value(index, of: leaf) }
      )?.unlessEmpty
    }
  }

  /// Lends `body` the value of `key`; nil if there is none.
  ///
  /// See ``find(_:isProbablyThere:)``.
  @inline(__always)
  func withValue<R>(
    of key: Span<UInt8>, isProbablyThere: Bool = true, _ body: (Span<UInt8>) -> R
  ) throws(PageError) -> R? {
    try LentBytes.lend(key) { (key) throws(PageError) -> R? in
      try withValue(of: key, isProbablyThere: isProbablyThere, body)
    }
  }

  /// The same; `place` is where the key most probably is in the lowest run, if that is known.
  @inline(__always)
  func withValue<R>(
    of key: LentBytes, isProbablyThere: Bool = true, supposedlyAt place: EntryPlace? = nil,
    _ body: (Span<UInt8>) -> R
  ) throws(PageError) -> R? {
    let found = try withEntry(
      of: key, isProbablyThere: isProbablyThere, supposedlyAt: place,
      inMemory: { leaf, index -> R? in
        let value = leaf.page.value(index)
        return value.count == 0 ? nil : value.withSpan(body)
      },
      inFile: { _, leaf, index -> R? in
        let value = leaf.view.value(index)
        return value.count == 0 ? nil : value.withSpan(body)
      })
    return found ?? nil
  }

  /// Whether there is a value for `key`.
  func contains(_ key: Span<UInt8>) throws(PageError) -> Bool { try find(key) != nil }

  /// Whether a layer above the run at a place says anything of `key`, if only that it is gone.
  func knows(_ key: Span<UInt8>, above index: Int) throws(PageError) -> Bool {
    try LentBytes.lend(key) { (key) throws(PageError) in
      if overlay.find(key) != nil || frozen?.find(key) != nil { return true }
      for run in runs.prefix(index) where try run.find(key, mergeCount: mergeCount) != nil {
        return true
      }
      return false
    }
  }

  /// Lends the node or the page that says what `key` maps to, and the entry's index there; nil if no layer says anything.
  @inline(__always)
  private func withEntry<R>(
    of key: LentBytes, isProbablyThere: Bool, supposedlyAt place: EntryPlace? = nil,
    inMemory: (Node, Int) -> R,
    inFile: (Run, Page, Int) -> R
  ) throws(PageError) -> R? {
    if !overlay.isEmpty, let found = overlay.withEntry(of: key, inMemory) { return found }
    if let found = frozen?.withEntry(of: key, inMemory) { return found }
    let filteredCount = isProbablyThere ? runs.count - 1 : runs.count
    let hash = filteredCount > 0 && runs[0].isFiltered ? KeyHash(key) : nil
    for index in runs.indices {
      if let hash, index < filteredCount, !runs[index].mayContain(hash) { continue }
      let found = try runs[index].withEntry(
        of: key, supposedlyAt: index == runs.count - 1 ? place : nil, mergeCount: mergeCount, inFile
      )
      if let found { return found }
    }
    return nil
  }

  /// Gives `key` a value.
  ///
  /// - Precondition: the value is not empty; key and value are no longer than ``entryLimit``.
  mutating func set(_ key: Span<UInt8>, _ value: Span<UInt8>) {
    precondition(!value.isEmpty, "An empty value marks a removed key")
    overlay.set(key, value)
  }

  /// Gives many keys values, as ``BTree/set(_:_:)-(EntryBatch,_)`` does.
  mutating func set(_ batch: borrowing EntryBatch, _ range: Range<Int>) {
    overlay.set(batch, range)
  }

  /// Removes `key`.
  ///
  /// - Parameters:
  ///   - key: what to remove; it need not be there.
  ///   - isNewSinceCheckpoint: the caller knows that no layer below the overlay holds the key, so
  ///     that no tombstone is needed.
  mutating func remove(_ key: Span<UInt8>, isNewSinceCheckpoint: Bool = false) {
    if isNewSinceCheckpoint || !hasLowerLayers {
      overlay.remove(key)
    } else {
      overlay.set(key, [UInt8]().span)
    }
  }
}

extension LayeredTree {
  /// Fixes what the overlay holds, to be written to a run; later changes go to a new overlay.
  ///
  /// - Precondition: nothing is frozen.
  mutating func freeze() {
    precondition(frozen == nil, "A checkpoint of this index is being written already")
    frozen = overlay
    overlay = BTree(pageSize: overlay.pageSize)
  }

  /// Forgets what was frozen, which a run of `runs` now holds.
  ///
  /// - Parameter runs: all runs from now on, the newest first.
  mutating func replaceFrozen(with runs: [Run]) {
    frozen = nil
    self.runs = runs.filter { $0.count > 0 }
    if self.runs.isEmpty { dropTombstones() }
  }

  /// Takes back a freeze whose checkpoint failed.
  mutating func thaw() {
    guard var merged = frozen else { return }
    frozen = nil
    var changes = overlay.scan()
    while let change = changes.next() {
      change.key.lend { key in
        if change.isTombstone, runs.isEmpty {
          _ = merged.remove(key)
        } else {
          _ = change.value.lend { merged.set(key, $0) }
        }
      }
    }
    overlay = merged
  }

  /// Removes the overlay's tombstones, below which nothing lies any more.
  private mutating func dropTombstones() {
    var scan = overlay.scan()
    while let entry = scan.next() {
      if entry.isTombstone { entry.key.lend { _ = overlay.remove($0) } }
    }
  }
}

extension SharedBytes {
  /// Nil for an empty value, which marks a removed key.
  fileprivate var unlessEmpty: SharedBytes? { isEmpty ? nil : self }
}
