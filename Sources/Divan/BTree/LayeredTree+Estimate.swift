internal import DivanLog

extension LayeredTree {
  /// Estimates the number of entries between two bounds from a few pages of each layer.
  ///
  /// Removed entries that a lower layer still has count too. Between bounds in one leaf, the
  /// estimate is nearly exact. Otherwise it assumes that all leaves are as full as their
  /// neighbours.
  func estimatedCount(from lower: KeyBound, to upper: KeyBound) throws(PageError) -> Int {
    var count = 0.0
    func add(_ tree: BTree) {
      guard !tree.isEmpty else { return }
      count += tree.share(between: lower, upper) * Double(tree.count)
    }
    add(memtable)
    if let immutableMemtable { add(immutableMemtable) }
    for run in runs {
      count +=
        try run.share(between: lower, upper, compactionCount: compactionCount) * Double(run.count)
    }
    return max(0, Int(count.rounded()))
  }
}
