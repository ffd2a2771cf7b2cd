internal import DivanLog

extension LayeredTree {
  /// Estimates the number of entries between two bounds from a few pages of each layer.
  ///
  /// Removed entries that a lower layer still holds count too. Between bounds in one leaf, the
  /// estimate is nearly exact. Elsewhere it assumes that all leaves are as full as their
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

extension NodePage {
  /// Returns the share of a leaf's entries that precede a bound.
  fileprivate func share(before bound: KeyBound, isUpper: Bool) -> Double {
    Double(position(of: bound, isUpper: isUpper)) / Double(max(1, count))
  }

  /// Returns the share of a leaf's entries that are between two bounds.
  fileprivate func share(between lower: KeyBound, _ upper: KeyBound) -> Double {
    let start = position(of: lower, isUpper: false)
    return Double(end(of: upper, from: start) - start) / Double(max(1, count))
  }

  /// Returns the index of the child that a bound leads to.
  fileprivate func child(of bound: KeyBound, isUpper: Bool) -> Int {
    guard let key = bound.key else { return isUpper ? count : 0 }
    return key.borrow { upperBound(of: $0) }
  }

  /// Returns the indexes of the children that two bounds lead to.
  fileprivate func children(between lower: KeyBound, _ upper: KeyBound) -> (first: Int, last: Int) {
    let first = child(of: lower, isUpper: false)
    // Often both lead to the same child, which needs no second search.
    if first < count, isKey(first, beyond: upper) { return (first, first) }
    return (first, child(of: upper, isUpper: true))
  }
}

extension BTree {
  /// Returns the share of all entries that are between two bounds.
  fileprivate func share(between lower: KeyBound, _ upper: KeyBound) -> Double {
    var node = root
    var weight = 1.0
    while node.level > 0 {
      let (first, last) = node.page.children(between: lower, upper)
      let count = Double(node.page.count + 1)
      guard first == last else {
        let start = Double(first) + BTree.share(of: node.child(first), below: lower, isUpper: false)
        let end = Double(last) + BTree.share(of: node.child(last), below: upper, isUpper: true)
        return weight * (end - start) / count
      }
      weight /= count
      node = node.child(first)
    }
    return weight * node.page.share(between: lower, upper)
  }

  /// Returns the share of a node's entries that precede a bound.
  private static func share(of node: Node, below bound: KeyBound, isUpper: Bool) -> Double {
    guard node.level > 0 else { return node.page.share(before: bound, isUpper: isUpper) }
    let index = node.page.child(of: bound, isUpper: isUpper)
    let inner = share(of: node.child(index), below: bound, isUpper: isUpper)
    return (Double(index) + inner) / Double(node.page.count + 1)
  }
}

extension Run {
  /// Returns the share of all entries that are between two bounds.
  fileprivate func share(
    between lower: KeyBound, _ upper: KeyBound, compactionCount: Int
  ) throws(PageError) -> Double {
    var page = try page(summary.root, level: summary.height, compactionCount: compactionCount)
    var weight = 1.0
    var level = summary.height
    while level > 0 {
      level -= 1
      // The page may hold the only reference to its owner.
      let (first, last, span, count) = withExtendedLifetime(page) {
        let (first, last) = page.view.children(between: lower, upper)
        return (
          page.view.childNumber(first), page.view.childNumber(last), Double(last - first),
          Double(page.view.count + 1)
        )
      }
      guard span == 0 else {
        let start = try share(of: first, level, below: lower, isUpper: false, compactionCount)
        let end = try share(of: last, level, below: upper, isUpper: true, compactionCount)
        return weight * (span + end - start) / count
      }
      weight /= count
      page = try self.page(first, level: level, compactionCount: compactionCount)
    }
    return withExtendedLifetime(page) { weight * page.view.share(between: lower, upper) }
  }

  /// Returns the share of the entries below a page that precede a bound.
  private func share(
    of number: UInt32, _ level: Int, below bound: KeyBound, isUpper: Bool, _ compactionCount: Int
  ) throws(PageError) -> Double {
    let page = try page(number, level: level, compactionCount: compactionCount)
    guard level > 0 else {
      return withExtendedLifetime(page) { page.view.share(before: bound, isUpper: isUpper) }
    }
    let (index, child, count) = withExtendedLifetime(page) {
      let index = page.view.child(of: bound, isUpper: isUpper)
      return (index, page.view.childNumber(index), Double(page.view.count + 1))
    }
    let inner = try share(of: child, level - 1, below: bound, isUpper: isUpper, compactionCount)
    return (Double(index) + inner) / count
  }
}
