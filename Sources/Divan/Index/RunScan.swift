internal import DivanLog

extension Run {
  /// The entries with keys between `lower` and `upper`, in order of keys or in the opposite order.
  func scan(
    from lower: KeyBound = .unbounded, to upper: KeyBound = .unbounded, descending: Bool = false,
    mergeCount: Int = 0
  ) -> RunScan {
    RunScan(self, ScanRange(lower: lower, upper: upper, descending: descending), mergeCount)
  }
}

/// A walk over entries of a run.
///
/// When a page cannot be read, `next()` throws, and may be called again once that is mended: the
/// walk goes on where it was.
struct RunScan {
  private let run: Run
  private let range: ScanRange
  /// How many merges of segments the version has seen that is walked.
  private let mergeCount: Int
  /// The inner pages above the leaf, and which child of each is being walked.
  private var path: [(page: Page, index: Int)] = []
  private var leaf: Page?
  private var window: LeafWindow?
  /// What to do before the next entry.
  private var move: Move

  private enum Move {
    case none
    /// Go down to this page, at this level, on the scan's first way down or at a later one's edge.
    case down(UInt32, level: Int, isFirst: Bool)
    /// Go to the next leaf.
    case onward
    case end
  }

  fileprivate init(_ run: Run, _ range: ScanRange, _ mergeCount: Int) {
    self.run = run
    self.mergeCount = mergeCount
    self.range = range
    path.reserveCapacity(run.summary.height)
    move = .down(run.summary.root, level: run.summary.height, isFirst: true)
  }

  /// The next entry, or nil at the end.
  mutating func next() throws(PageError) -> IndexEntry? {
    while true {
      if case .none = move, let leaf {
        if let index = window?.next(descending: range.descending) {
          return run.entry(index, of: leaf)
        }
        move = window?.isLast == true ? .end : .onward
      }
      switch move {
      case .none, .end: return nil
      case .onward: moveOnward()
      case .down(let number, let level, let isFirst):
        try moveDown(number, level, isFirst: isFirst)
      }
    }
  }

  private mutating func moveDown(
    _ number: UInt32, _ level: Int, isFirst: Bool
  ) throws(PageError) {
    let page = try run.page(number, level: level, mergeCount: mergeCount)
    if level > 0 {
      let index =
        isFirst ? range.firstChild(in: page.view) : range.descending ? page.view.count : 0
      path.append((page, index))
      move = .down(page.view.childNumber(index), level: level - 1, isFirst: isFirst)
      return
    }
    if let leaf, !follows(page.view, leaf.view) {
      // Each page may be sound and yet not belong here. Without this a file could make a scan
      // go round, or a merge write what is not sorted.
      throw .damaged(page: number, reason: "its keys do not follow its neighbour's")
    }
    leaf = page
    window = LeafWindow(page.view, range)
    move = .none
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
      // The level of the leaf is 0; each page on the path is one above what follows it.
      move = .down(
        page.view.childNumber(next), level: page.view.level - 1, isFirst: false)
      return
    }
    move = .end
  }
}
