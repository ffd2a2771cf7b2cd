internal import DivanLog

extension LayeredTree {
  /// The entries with keys between `lower` and `upper`, in order of keys or in the opposite order,
  /// as they are now: later changes do not disturb the walk.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false
  ) -> LayeredScan {
    var layers: [LayeredScan.Layer] = []
    for tree in [overlay, frozen] {
      if let tree, !tree.isEmpty {
        layers.append(.tree(tree.scan(from: lower, to: upper, descending: descending)))
      }
    }
    layers += runs.map { .run($0.scan(from: lower, to: upper, descending: descending)) }
    return LayeredScan(layers, descending: descending, keepsTombstones: false)
  }

  /// The entries for a new run: what is frozen, merged with the newest `runCount` runs.
  ///
  /// Tombstones are kept, as entries with empty values, unless all runs are merged: below the
  /// result there is nothing then.
  func entriesToWrite(mergingNewestRuns runCount: Int) -> LayeredScan {
    precondition(runCount >= 0 && runCount <= runs.count, "More runs than there are")
    var layers: [LayeredScan.Layer] = []
    if let frozen, !frozen.isEmpty { layers.append(.tree(frozen.scan())) }
    layers += runs.prefix(runCount).map { .run($0.scan()) }
    return LayeredScan(
      layers, descending: false, keepsTombstones: runCount < runs.count)
  }
}

/// A walk over several layers at once: of each key, the entry of the topmost layer that knows it.
///
/// When a page cannot be read, `next()` throws, and may be called again once that is mended: the
/// walk goes on where it was.
struct LayeredScan {
  /// One of the layers.
  enum Layer {
    case tree(BTreeScan)
    case run(RunScan)
    /// No layer, while its scan moves.
    case none

    /// The layer's next entry.
    mutating func next() throws(PageError) -> IndexEntry? {
      switch self {
      case .tree(var scan):
        // The scan is taken out while it moves, so that its path is not copied.
        self = .none
        defer { self = .tree(scan) }
        return scan.next()
      case .run(var scan):
        self = .none
        defer { self = .run(scan) }
        return try scan.next()
      case .none:
        return nil
      }
    }
  }

  /// Topmost first.
  private var layers: [Layer]
  /// The next entry of each layer, where it was fetched.
  private var fronts: [Front]
  /// Whether each layer's next entry has the key that is given next.
  private var isGiven: [Bool]
  private let descending: Bool
  private let keepsTombstones: Bool

  private enum Front {
    case unknown
    case entry(IndexEntry)
    case end
  }

  fileprivate init(_ layers: [Layer], descending: Bool, keepsTombstones: Bool) {
    self.layers = layers
    self.descending = descending
    self.keepsTombstones = keepsTombstones
    fronts = layers.map { _ in .unknown }
    isGiven = layers.map { _ in false }
  }

  /// The next entry, or nil at the end.
  mutating func next() throws(PageError) -> IndexEntry? {
    while let entry = layers.count == 1 ? try layers[0].next() : try nextMerged() {
      if keepsTombstones || !entry.value.isEmpty { return entry }
    }
    return nil
  }

  private mutating func nextMerged() throws(PageError) -> IndexEntry? {
    var first: IndexEntry?
    for index in layers.indices {
      isGiven[index] = false
      guard let entry = try front(index) else { continue }
      let order = first.map { compare(entry.key, $0.key) } ?? -1
      if order < 0 {
        for above in 0..<index { isGiven[above] = false }
        first = entry
      }
      // A layer below that has the same key is hidden, and moves on with the one above.
      isGiven[index] = order <= 0
    }
    for index in layers.indices where isGiven[index] { fronts[index] = .unknown }
    return first
  }

  private mutating func front(_ index: Int) throws(PageError) -> IndexEntry? {
    if case .unknown = fronts[index] {
      fronts[index] = try layers[index].next().map { .entry($0) } ?? .end
    }
    guard case .entry(let entry) = fronts[index] else { return nil }
    return entry
  }

  private func compare(_ a: SharedBytes, _ b: SharedBytes) -> Int {
    let order = a.lend { a in b.lend { a.compare($0) } }
    return descending ? -order : order
  }
}
