internal import DivanLog

extension LayeredTree {
  /// Returns a cursor over the entries with keys between `lower` and `upper`, in either direction.
  ///
  /// The cursor reads the tree as it is now: later changes do not affect it.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) -> LayeredScan {
    var trees: [BTreeScan] = []
    if !memtable.isEmpty {
      trees.append(memtable.scan(from: lower, to: upper, descending: descending))
    }
    if let immutableMemtable, !immutableMemtable.isEmpty {
      trees.append(immutableMemtable.scan(from: lower, to: upper, descending: descending))
    }
    let runs = self.runs.map {
      $0.scan(from: lower, to: upper, descending: descending, compactionCount: compactionCount)
    }
    return LayeredScan(trees, runs, descending: descending, keepsTombstones: false)
  }

  /// Returns the entries for a new run: the immutable memtable, merged with the newest `runCount`
  /// runs.
  ///
  /// Tombstones are kept, as entries with empty values, unless all runs are merged: then there is
  /// nothing below the result.
  func entriesToWrite(mergingNewestRuns runCount: Int) -> LayeredScan {
    precondition(runCount >= 0 && runCount <= runs.count, "There are fewer runs")
    let trees = [immutableMemtable].compactMap { $0 }.map { $0.scan() }
    return LayeredScan(
      trees, runs.prefix(runCount).map { $0.scan(compactionCount: compactionCount) },
      descending: false,
      keepsTombstones: runCount < runs.count)
  }
}

/// A merging cursor over several layers, which returns the topmost layer's entry of each key.
///
/// Changes are few, and scattered over the layers below. The cursor therefore mostly follows one
/// layer, the *leader*, until its keys reach the next key of another. It takes one ``LeafRange``
/// of the leader after the other, and reads other layers only where one ends.
///
/// If a page cannot be read, it throws. Once the page is repaired, you may call it again: the scan
/// continues at the same entry.
struct LayeredScan {
  /// The layers in memory, topmost first.
  private var trees: [BTreeScan]
  /// The layers in files, topmost first.
  private var runs: [RunScan]
  /// The next entry of each layer; empty if there is only one layer, which always leads.
  private var fronts: [Front]
  /// The layer that the scan follows; its front is not fetched.
  private var leader: Int?
  /// The next key of all layers but the leader; nil if those are at their ends.
  private var limit: SharedBytes?
  /// The entries to return before any layer must be read again.
  private var leafRange: LeafRange?
  private let descending: Bool
  /// Whether removed keys are returned too, as entries with empty values.
  let keepsTombstones: Bool
  /// Whether the caller was notified that entries may be missing; nothing more is returned then.
  var isRefused = false

  private enum Front {
    case notFetched
    case entry(TreeEntry)
    case end
  }

  fileprivate init(
    _ trees: [BTreeScan], _ runs: [RunScan], descending: Bool, keepsTombstones: Bool
  ) {
    self.trees = trees
    self.runs = runs
    self.descending = descending
    self.keepsTombstones = keepsTombstones
    let count = trees.count + runs.count
    fronts = count > 1 ? Array(repeating: .notFetched, count: count) : []
    leader = count == 1 ? 0 : nil
  }

  /// A scan without entries.
  static var empty: LayeredScan {
    LayeredScan([], [], descending: false, keepsTombstones: false)
  }

  /// Returns the next entry, or nil at the end.
  mutating func next() throws(PageError) -> TreeEntry? {
    while true {
      var found = leafRange?.next(descending: descending)
      if found == nil { found = try nextBeyondLeafRange() }
      guard let entry = found else { return nil }
      if keepsTombstones || !entry.isTombstone { return entry }
    }
  }

  /// Returns the next entry of any kind, once the leaf range is at its end.
  ///
  /// It is not inlined, because few entries need it.
  @inline(never)
  private mutating func nextBeyondLeafRange() throws(PageError) -> TreeEntry? {
    if try reachLeafRange(), let entry = leafRange?.next(descending: descending) { return entry }
    return try chooseLeader()
  }

  /// Takes the adjacent entries that follow in a leaf, including tombstones.
  ///
  /// Returns nil if only `next()` can determine what follows.
  mutating func nextLeafRange() throws(PageError) -> LeafRange? {
    if leafRange == nil { _ = try reachLeafRange() }
    return leafRange.take()
  }

  /// Passes the adjacent entries that follow in a leaf while `isPassed` returns true for them.
  ///
  /// The scan must be ascending. `next()` still returns entries that are in other leaves.
  /// Tombstones are passed without a call of `isPassed`.
  @inline(__always)
  mutating func pass(while isPassed: (BorrowedBytes, BorrowedBytes) -> Bool) {
    leafRange?.pass { key, value in value.count == 0 || isPassed(key, value) }
  }

  /// Takes the leader's next leaf range.
  ///
  /// Returns false if there is none before the next key of another layer; then there is no leader
  /// any more.
  private mutating func reachLeafRange() throws(PageError) -> Bool {
    leafRange = nil
    guard let leader else { return false }
    leafRange =
      leader < trees.count
      ? trees[leader].nextLeafRange(before: limit)
      : try runs[leader - trees.count].nextLeafRange(before: limit)
    if leafRange == nil { self.leader = nil }
    return leafRange != nil
  }

  /// Returns the first of all fronts, whose layer becomes the leader.
  private mutating func chooseLeader() throws(PageError) -> TreeEntry? {
    for index in fronts.indices {
      guard case .notFetched = fronts[index] else { continue }
      fronts[index] = try fetch(index).map { .entry($0) } ?? .end
    }
    var first: (index: Int, entry: TreeEntry)?
    for index in fronts.indices {
      guard case .entry(let entry) = fronts[index] else { continue }
      // Of equal keys, the entry of the topmost layer counts.
      if let first, !comesBefore(entry.key, first.entry.key) { continue }
      first = (index, entry)
    }
    guard let first else { return nil }
    fronts[first.index] = .notFetched
    leader = first.index
    limit = nil
    for index in fronts.indices {
      guard case .entry(let entry) = fronts[index] else { continue }
      if entry.key.borrow({ key in first.entry.key.borrow { key.equals($0) } }) {
        // Hidden. The entry after it is not known, so there is no leader yet.
        fronts[index] = .notFetched
        leader = nil
      } else if limit.map({ comesBefore(entry.key, $0) }) ?? true {
        limit = entry.key
      }
    }
    return first.entry
  }

  private mutating func fetch(_ layer: Int) throws(PageError) -> TreeEntry? {
    layer < trees.count ? trees[layer].next() : try runs[layer - trees.count].next()
  }

  private func comesBefore(_ a: SharedBytes, _ b: SharedBytes) -> Bool {
    let order = a.borrow { a in b.borrow { a.compare($0) } }
    return descending ? order > 0 : order < 0
  }
}
