internal import DivanLog

extension Run {
  /// Returns a cursor over the entries with keys between `lower` and `upper`, in either direction.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false,
    compactionCount: Int = 0
  ) -> RunScan {
    RunScan(self, ScanRange(lower: lower, upper: upper, descending: descending), compactionCount)
  }
}

/// A cursor over entries of a run.
///
/// If a page cannot be read, `next()` throws. Once the page is repaired, you may call it again: the
/// scan continues at the same entry.
struct RunScan {
  private let run: Run
  private let range: ScanRange
  /// The number of compactions that the scanned version has seen.
  private let compactionCount: Int
  /// The inner pages above the leaf, and the index of the current child of each.
  private var path: [(page: Page, index: Int)] = []
  /// The current leaf; nil before the first is reached.
  private var leaf: NodePage?
  /// The object that keeps the leaf's bytes alive.
  private var leafOwner: AnyObject
  /// The remaining entries of the leaf.
  private var window = LeafWindow()
  /// The next step once the window is at its end.
  private var move: Move
  /// The number of leaves that were reached.
  private var leafCount = 0

  private enum Move {
    /// Descend to this page, at this level; `isFirst` is true on the way to the scan's first leaf.
    case down(UInt32, level: Int, isFirst: Bool)
    /// Go to the next leaf.
    case onward
    case end
  }

  fileprivate init(_ run: Run, _ range: ScanRange, _ compactionCount: Int) {
    self.run = run
    self.compactionCount = compactionCount
    self.range = range
    path.reserveCapacity(run.summary.height)
    leafOwner = run
    move = .down(run.summary.root, level: run.summary.height, isFirst: true)
  }

  /// Returns the next entry, or nil at the end.
  mutating func next() throws(PageError) -> TreeEntry? {
    guard let leaf = try reachEntry(),
      let index = window.next(descending: range.descending)
    else { return nil }
    return TreeEntry(leaf.entry(index), ownedBy: leafOwner)
  }

  /// Takes the entries of the next leaf that precede `limit`, or all of them if it is nil.
  ///
  /// Returns nil if no entry precedes it.
  mutating func nextLeafRange(before limit: SharedBytes?) throws(PageError) -> LeafRange? {
    guard let leaf = try reachEntry() else { return nil }
    let passed = window.pass(before: limit, in: leaf, descending: range.descending)
    return passed.isEmpty ? nil : LeafRange(leaf, ownedBy: leafOwner, passed)
  }

  /// Moves until there is a next entry, and returns its leaf; nil at the end.
  @inline(__always)
  private mutating func reachEntry() throws(PageError) -> NodePage? {
    while window.isAtEnd { guard try makeMove() else { return nil } }
    return leaf
  }

  /// Moves a step toward the next leaf; returns false at the end.
  @inline(never)
  private mutating func makeMove() throws(PageError) -> Bool {
    switch move {
    case .end: return false
    case .onward: moveOnward()
    case .down(let number, let level, let isFirst):
      try moveDown(number, level, isFirst: isFirst)
    }
    return true
  }

  private mutating func moveDown(
    _ number: UInt32, _ level: Int, isFirst: Bool
  ) throws(PageError) {
    let page = try run.page(number, level: level, compactionCount: compactionCount)
    if level > 0 {
      let index =
        isFirst ? range.firstChild(in: page.view) : range.descending ? page.view.count : 0
      path.append((page, index))
      move = .down(page.view.childNumber(index), level: level - 1, isFirst: isFirst)
      return
    }
    // Each page may be sound and still not belong here. Without these checks, a file could cause an
    // endless scan, or a run merge could write unsorted entries.
    if let leaf, !follows(page.view, leaf) {
      throw .damaged(page: number, reason: "its keys do not follow the keys of its neighbour")
    }
    leafCount += 1
    guard leafCount <= Int(run.summary.root) + 1 else {
      throw .damaged(page: number, reason: "the run has fewer leaves than its inner pages lead to")
    }
    leaf = page.view
    leafOwner = run.owner(of: page)
    window = LeafWindow(page.view, range)
    move = window.isLast ? .end : .onward
  }

  private func follows(_ page: NodePage, _ previous: NodePage) -> Bool {
    guard page.count > 0, previous.count > 0 else { return true }
    if range.descending {
      return page.key(page.count - 1).compare(previous.key(0)) < 0
    }
    return page.key(0).compare(previous.key(previous.count - 1)) > 0
  }

  private mutating func moveOnward() {
    while let (page, index) = path.last {
      let isAtEnd = range.descending ? index == 0 : index == page.view.count
      if isAtEnd {
        path.removeLast()
        continue
      }
      let next = range.descending ? index - 1 : index + 1
      path[path.count - 1].index = next
      // The leaf's level is 0; each page on the path is one level above the next.
      move = .down(
        page.view.childNumber(next), level: page.view.level - 1, isFirst: false)
      return
    }
    move = .end
  }
}
