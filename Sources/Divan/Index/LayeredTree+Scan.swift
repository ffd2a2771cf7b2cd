internal import DivanLog

extension LayeredTree {
  /// The entries with keys between `lower` and `upper`, in order of keys or in the opposite order,
  /// as they are now: later changes do not disturb the walk.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) -> LayeredScan {
    var trees: [BTreeScan] = []
    if !overlay.isEmpty {
      trees.append(overlay.scan(from: lower, to: upper, descending: descending))
    }
    if let frozen, !frozen.isEmpty {
      trees.append(frozen.scan(from: lower, to: upper, descending: descending))
    }
    let runs = self.runs.map {
      $0.scan(from: lower, to: upper, descending: descending, mergeCount: mergeCount)
    }
    return LayeredScan(trees, runs, descending: descending, keepsTombstones: false)
  }

  /// The entries for a new run: what is frozen, merged with the newest `runCount` runs.
  ///
  /// Tombstones are kept, as entries with empty values, unless all runs are merged: below the
  /// result there is nothing then.
  func entriesToWrite(mergingNewestRuns runCount: Int) -> LayeredScan {
    precondition(runCount >= 0 && runCount <= runs.count, "More runs than there are")
    let trees = [frozen].compactMap { $0 }.map { $0.scan() }
    return LayeredScan(
      trees, runs.prefix(runCount).map { $0.scan(mergeCount: mergeCount) }, descending: false,
      keepsTombstones: runCount < runs.count)
  }
}

/// A walk over several layers at once: of each key, the entry of the topmost layer that knows it.
///
/// Changes are few and lie scattered over what is below, so the walk mostly follows one layer, the
/// *leader*, until its keys reach the next key of another: it takes a ``LeafStretch`` of the leader
/// after the other, and looks at other layers only where one ends.
///
/// When a page cannot be read, it throws, and may be called again once that is mended: the walk goes
/// on where it was.
struct LayeredScan {
  /// The layers in memory, topmost first.
  private var trees: [BTreeScan]
  /// The layers below them, topmost first.
  private var runs: [RunScan]
  /// The next entry of each layer; empty if there is one only, which leads for ever.
  private var fronts: [Front]
  /// The layer that is followed; its front is not fetched.
  private var leader: Int?
  /// The next key of all layers but the leader; nil if they are at their ends.
  private var limit: SharedBytes?
  /// What is still to come before any layer must be asked.
  private var stretch: LeafStretch?
  private let descending: Bool
  /// Whether keys that are gone come, too, as entries with empty values.
  let keepsTombstones: Bool
  /// Whether whoever walks was told that entries may be missing; nothing more is given then.
  var isRefused = false

  private enum Front {
    case notFetched
    case entry(IndexEntry)
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

  /// A walk over nothing.
  static var empty: LayeredScan {
    LayeredScan([], [], descending: false, keepsTombstones: false)
  }

  /// The next entry, or nil at the end.
  mutating func next() throws(PageError) -> IndexEntry? {
    while true {
      var found = stretch?.next(descending: descending)
      if found == nil { found = try nextBeyondStretch() }
      guard let entry = found else { return nil }
      if keepsTombstones || !entry.isTombstone { return entry }
    }
  }

  /// The next entry of any kind, once the stretch is at its end.
  ///
  /// Apart, so that what few entries need does not stand where every entry is taken.
  @inline(never)
  private mutating func nextBeyondStretch() throws(PageError) -> IndexEntry? {
    if try reachStretch(), let entry = stretch?.next(descending: descending) { return entry }
    return try chooseLeader()
  }

  /// Passes the entries that follow side by side in a leaf, tombstones included; nil if it is for
  /// `next()` to say what follows.
  mutating func nextStretch() throws(PageError) -> LeafStretch? {
    if stretch == nil { _ = try reachStretch() }
    return stretch.take()
  }

  /// Passes the next entries of a walk upwards that follow side by side in a leaf, for as long as `isPassed` says so of their
  /// keys and values; those that stand elsewhere `next()` gives all the same.
  ///
  /// Tombstones are passed, and nobody is asked.
  @inline(__always)
  mutating func pass(while isPassed: (LentBytes, LentBytes) -> Bool) {
    stretch?.pass { key, value in value.count == 0 || isPassed(key, value) }
  }

  /// Takes the leader's next stretch; returns false if there is none before the next key of another
  /// layer, and then nobody leads any more.
  private mutating func reachStretch() throws(PageError) -> Bool {
    stretch = nil
    guard let leader else { return false }
    stretch =
      leader < trees.count
      ? trees[leader].nextStretch(before: limit)
      : try runs[leader - trees.count].nextStretch(before: limit)
    if stretch == nil { self.leader = nil }
    return stretch != nil
  }

  /// The first of all fronts, whose layer leads from then on.
  private mutating func chooseLeader() throws(PageError) -> IndexEntry? {
    for index in fronts.indices {
      guard case .notFetched = fronts[index] else { continue }
      fronts[index] = try fetch(index).map { .entry($0) } ?? .end
    }
    var first: (index: Int, entry: IndexEntry)?
    for index in fronts.indices {
      guard case .entry(let entry) = fronts[index] else { continue }
      // Of equal keys the topmost layer's stands.
      if let first, !comesBefore(entry.key, first.entry.key) { continue }
      first = (index, entry)
    }
    guard let first else { return nil }
    fronts[first.index] = .notFetched
    leader = first.index
    limit = nil
    for index in fronts.indices {
      guard case .entry(let entry) = fronts[index] else { continue }
      if entry.key.lend({ key in first.entry.key.lend { key.equals($0) } }) {
        // Hidden. What comes after it is not known, so nobody leads yet.
        fronts[index] = .notFetched
        leader = nil
      } else if limit.map({ comesBefore(entry.key, $0) }) ?? true {
        limit = entry.key
      }
    }
    return first.entry
  }

  private mutating func fetch(_ layer: Int) throws(PageError) -> IndexEntry? {
    layer < trees.count ? trees[layer].next() : try runs[layer - trees.count].next()
  }

  private func comesBefore(_ a: SharedBytes, _ b: SharedBytes) -> Bool {
    let order = a.lend { a in b.lend { a.compare($0) } }
    return descending ? order > 0 : order < 0
  }
}
