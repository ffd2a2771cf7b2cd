internal import DivanLog

extension LayeredTree {
  /// About how many entries lie between two bounds, from a few pages of each layer; removed ones that a lower layer
  /// still has count, too.
  ///
  /// Between bounds in one leaf it is nearly exact; elsewhere it takes all leaves to be as full as their neighbours.
  func estimatedCount(from lower: KeyBound, to upper: KeyBound) throws(PageError) -> Int {
    var count = 0.0
    for tree in [overlay, frozen].compactMap({ $0 }) where !tree.isEmpty {
      count +=
        (tree.share(below: upper, isUpper: true) - tree.share(below: lower, isUpper: false))
        * Double(tree.count)
    }
    for run in runs {
      let end = try run.share(below: upper, isUpper: true, mergeCount: mergeCount)
      let start = try run.share(below: lower, isUpper: false, mergeCount: mergeCount)
      count += (end - start) * Double(run.count)
    }
    return max(0, Int(count.rounded()))
  }
}

extension NodePage {
  /// The share of a leaf's entries that comes before a bound.
  fileprivate func share(before bound: KeyBound, isUpper: Bool) -> Double {
    let position =
      switch bound {
      case .unbounded: isUpper ? count : 0
      case .inclusive(let key):
        key.lend { isUpper ? upperBound(of: $0) : lowerBound(of: $0) }
      case .exclusive(let key):
        key.lend { isUpper ? lowerBound(of: $0) : upperBound(of: $0) }
      }
    return Double(position) / Double(max(1, count))
  }

  /// Which child a bound leads to.
  fileprivate func child(of bound: KeyBound, isUpper: Bool) -> Int {
    guard let key = bound.key else { return isUpper ? count : 0 }
    return key.lend { upperBound(of: $0) }
  }
}

extension BTree {
  /// The share of all entries that comes before a bound.
  fileprivate func share(below bound: KeyBound, isUpper: Bool) -> Double {
    var node = root
    var share = 0.0
    var weight = 1.0
    while node.level > 0 {
      let index = node.page.child(of: bound, isUpper: isUpper)
      weight /= Double(node.page.count + 1)
      share += weight * Double(index)
      node = node.child(index)
    }
    return share + weight * node.page.share(before: bound, isUpper: isUpper)
  }
}

extension Run {
  /// The share of all entries that comes before a bound.
  fileprivate func share(
    below bound: KeyBound, isUpper: Bool, mergeCount: Int
  ) throws(PageError) -> Double {
    var page = try page(summary.root, level: summary.height, mergeCount: mergeCount)
    var share = 0.0
    var weight = 1.0
    var level = summary.height
    while level > 0 {
      level -= 1
      // The page's owner may be held by nothing else.
      let (index, number, count) = withExtendedLifetime(page) {
        let index = page.view.child(of: bound, isUpper: isUpper)
        return (index, page.view.childNumber(index), page.view.count)
      }
      weight /= Double(count + 1)
      share += weight * Double(index)
      page = try self.page(number, level: level, mergeCount: mergeCount)
    }
    return withExtendedLifetime(page) {
      share + weight * page.view.share(before: bound, isUpper: isUpper)
    }
  }
}
