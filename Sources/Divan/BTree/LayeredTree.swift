internal import DivanLog

/// A sorted map from bytes to bytes whose older part is stored in files.
///
/// ```
/// memtable              the newest changes                     in memory, written to
/// immutable memtable    changes being written to a run         in memory, only during checkpoints
/// runs                  written by checkpoints, newest first   in files, immutable
/// ```
///
/// The topmost layer that has a key determines its value. A layer marks a key as removed with a
/// *tombstone*: an empty value. Values are therefore never empty.
///
/// Like ``BTree`` it is a value: copies are O(1) and never change.
///
/// Invariant: a layer in memory without layers below it has no tombstones.
struct LayeredTree: Sendable {
  /// The changes since the last checkpoint began.
  private(set) var memtable: BTree
  /// The changes that a checkpoint is writing to a run.
  private(set) var immutableMemtable: BTree?
  /// The runs that checkpoints wrote, newest first.
  private(set) var runs: [Run]
  /// The number of compactions that this version has seen.
  ///
  /// It determines which rebuilt leaves this version may use.
  var compactionCount = 0

  /// Creates a map of the entries in `runs`, newest first.
  init(runs: [Run] = [], pageSize: Int = BTree.defaultPageSize) {
    memtable = BTree(pageSize: pageSize)
    self.runs = runs.filter { $0.count > 0 }
  }
}

extension LayeredTree {
  /// Whether a lower layer may have a key that the memtable does not have.
  private var hasLowerLayers: Bool { !(immutableMemtable?.isEmpty ?? true) || !runs.isEmpty }

  /// Whether no layer has entries, not even a tombstone.
  var isEmpty: Bool { memtable.isEmpty && !hasLowerLayers }

  /// The size of the memtable in bytes, for each leaf a whole page; 0 if there are no changes.
  var memtableSize: Int { memtable.isEmpty ? 0 : memtable.leafSize }

  /// The number of entries of the immutable memtable.
  var immutableCount: Int { immutableMemtable?.count ?? 0 }

  /// The maximum sum of the lengths of a key and its value.
  var entryLimit: Int { memtable.entryLimit }

  /// Returns the value of `key`, or nil.
  ///
  /// The bytes are borrowed from the index's memory or file, which lives as long as you keep them.
  /// The oldest run is searched without its filter, which would probably pass the key.
  func find(_ key: Span<UInt8>) throws(PageError) -> SharedBytes? {
    try BorrowedBytes.borrow(key) { (key) throws(PageError) in
      let found = try withEntry(
        of: key, isProbablyThere: true,
        inMemory: { leaf, index in leaf.page.value(index).shared(by: leaf) },
        inFile: { run, leaf, index in run.value(index, of: leaf) }
      )
      return found?.isEmpty == true ? nil : found
    }
  }

  /// Calls `body` with the value of `key`; returns nil if there is none.
  ///
  /// `location` is the probable location of the key in the oldest run, if it is known.
  @inline(__always)
  func withValue<R>(
    of key: BorrowedBytes, isProbablyThere: Bool = true, expectedAt location: EntryLocation? = nil,
    _ body: (Span<UInt8>) -> R
  ) throws(PageError) -> R? {
    let found = try withEntry(
      of: key, isProbablyThere: isProbablyThere, expectedAt: location,
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

  /// Whether a layer above the run at `index` has an entry for `key`, even a tombstone.
  func knows(_ key: Span<UInt8>, above index: Int) throws(PageError) -> Bool {
    try BorrowedBytes.borrow(key) { (key) throws(PageError) in
      if memtable.find(key) != nil || immutableMemtable?.find(key) != nil { return true }
      for run in runs.prefix(index) where try run.find(key, compactionCount: compactionCount) != nil
      {
        return true
      }
      return false
    }
  }

  /// Calls a closure with the node or page of the topmost entry of `key`, and its index there.
  ///
  /// Returns nil if no layer has an entry.
  @inline(__always)
  private func withEntry<R>(
    of key: BorrowedBytes, isProbablyThere: Bool, expectedAt location: EntryLocation? = nil,
    inMemory: (Node, Int) -> R,
    inFile: (Run, Page, Int) -> R
  ) throws(PageError) -> R? {
    if !memtable.isEmpty, let found = memtable.withEntry(of: key, inMemory) { return found }
    if let found = immutableMemtable?.withEntry(of: key, inMemory) { return found }
    let filteredCount = isProbablyThere ? runs.count - 1 : runs.count
    let hash = filteredCount > 0 && runs[0].isFiltered ? KeyHash(key) : nil
    for index in runs.indices {
      if let hash, index < filteredCount, !runs[index].mayContain(hash) { continue }
      let found = try runs[index].withEntry(
        of: key, expectedAt: index == runs.count - 1 ? location : nil,
        compactionCount: compactionCount, inFile
      )
      if let found { return found }
    }
    return nil
  }

  /// Sets the value of `key`.
  ///
  /// - Precondition: the value is not empty; key and value are no longer than ``entryLimit``.
  mutating func set(_ key: Span<UInt8>, _ value: Span<UInt8>) {
    precondition(!value.isEmpty, "An empty value marks a removed key")
    memtable.set(key, value)
  }

  /// Sets the values of many keys, like ``BTree/set(_:_:)-(EntryBatch,_)``.
  mutating func set(_ batch: borrowing EntryBatch, _ range: Range<Int>) {
    memtable.set(batch, range)
  }

  /// Removes `key`.
  ///
  /// - Parameters:
  ///   - key: the key to remove; it need not exist.
  ///   - isNewSinceCheckpoint: whether the caller knows that no layer below the memtable has
  ///     the key; then no tombstone is needed.
  mutating func remove(_ key: Span<UInt8>, isNewSinceCheckpoint: Bool = false) {
    if isNewSinceCheckpoint || !hasLowerLayers {
      memtable.remove(key)
    } else {
      memtable.set(key, [UInt8]().span)
    }
  }
}

extension LayeredTree {
  /// Makes the memtable immutable, to be written to a run; later changes go to a new memtable.
  ///
  /// - Precondition: there is no immutable memtable.
  mutating func freezeMemtable() {
    precondition(immutableMemtable == nil, "A checkpoint is already writing this index")
    immutableMemtable = memtable
    memtable = BTree(pageSize: memtable.pageSize)
  }

  /// Drops the immutable memtable, whose entries a run of `runs` now has.
  ///
  /// - Parameter runs: all runs from now on, the newest first.
  mutating func replaceImmutable(with runs: [Run]) {
    immutableMemtable = nil
    self.runs = runs.filter { $0.count > 0 }
    if self.runs.isEmpty { dropTombstones() }
  }

  /// Undoes ``freezeMemtable()`` because the checkpoint failed.
  mutating func unfreezeMemtable() {
    guard var merged = immutableMemtable else { return }
    immutableMemtable = nil
    var changes = memtable.scan()
    while let change = changes.next() {
      change.key.borrow { key in
        if change.isTombstone, runs.isEmpty {
          _ = merged.remove(key)
        } else {
          _ = change.value.borrow { merged.set(key, $0) }
        }
      }
    }
    memtable = merged
  }

  /// Removes the memtable's tombstones; no layers are left below it.
  private mutating func dropTombstones() {
    var scan = memtable.scan()
    while let entry = scan.next() {
      if entry.isTombstone { entry.key.borrow { _ = memtable.remove($0) } }
    }
  }
}
