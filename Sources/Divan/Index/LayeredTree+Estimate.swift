internal import DivanLog

extension LayeredTree {
  /// About how many entries lie between two bounds, from a few pages of each layer; removed ones that a lower layer
  /// still has count, too.
  ///
  /// Between bounds in one leaf it is nearly exact; elsewhere it takes all leaves to be as full as their neighbours.
  func estimatedCount(from lower: KeyBound, to upper: KeyBound) throws(PageError) -> Int {
    var count = 0.0
    for tree in [overlay, frozen].compactMap({ $0 }) where !tree.isEmpty {
      count += tree.share(between: lower, upper) * Double(tree.count)
    }
    for run in runs {
      count += try run.share(between: lower, upper, mergeCount: mergeCount) * Double(run.count)
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
  /// The share of all entries that lies between two bounds.
  fileprivate func share(between lower: KeyBound, _ upper: KeyBound) -> Double {
    var node = root
    var weight = 1.0
    while node.level > 0 {
      let first = node.page.child(of: lower, isUpper: false)
      let last = node.page.child(of: upper, isUpper: true)
      let count = Double(node.page.count + 1)
      guard first == last else {
        let start = Double(first) + BTree.share(of: node.child(first), below: lower, isUpper: false)
        let end = Double(last) + BTree.share(of: node.child(last), below: upper, isUpper: true)
        return weight * (end - start) / count
      }
      weight /= count
      node = node.child(first)
    }
    return weight
      * (node.page.share(before: upper, isUpper: true)
        - node.page.share(before: lower, isUpper: false))
  }

  /// The share of a node's entries that comes before a bound.
  private static func share(of node: Node, below bound: KeyBound, isUpper: Bool) -> Double {
    guard node.level > 0 else { return node.page.share(before: bound, isUpper: isUpper) }
    let index = node.page.child(of: bound, isUpper: isUpper)
    let inner = share(of: node.child(index), below: bound, isUpper: isUpper)
    return (Double(index) + inner) / Double(node.page.count + 1)
  }
}

extension Run {
  /// The share of all entries that lies between two bounds.
  fileprivate func share(
    between lower: KeyBound, _ upper: KeyBound, mergeCount: Int
  ) throws(PageError) -> Double {
    var page = try page(summary.root, level: summary.height, mergeCount: mergeCount)
    var weight = 1.0
    var level = summary.height
    while level > 0 {
      level -= 1
      // The page's owner may be held by nothing else.
      let (first, last, count) = withExtendedLifetime(page) {
        (
          page.view.edge(lower, isUpper: false), page.view.edge(upper, isUpper: true),
          Double(page.view.count + 1)
        )
      }
      guard first.index == last.index else {
        let start = try share(of: first.child, level, below: lower, isUpper: false, mergeCount)
        let end = try share(of: last.child, level, below: upper, isUpper: true, mergeCount)
        return weight * (Double(last.index - first.index) + end - start) / count
      }
      weight /= count
      page = try self.page(first.child, level: level, mergeCount: mergeCount)
    }
    return withExtendedLifetime(page) {
      weight
        * (page.view.share(before: upper, isUpper: true)
          - page.view.share(before: lower, isUpper: false))
    }
  }

  /// The share of the entries below a page that comes before a bound.
  private func share(
    of number: UInt32, _ level: Int, below bound: KeyBound, isUpper: Bool, _ mergeCount: Int
  ) throws(PageError) -> Double {
    let page = try page(number, level: level, mergeCount: mergeCount)
    guard level > 0 else {
      return withExtendedLifetime(page) { page.view.share(before: bound, isUpper: isUpper) }
    }
    let (edge, count) = withExtendedLifetime(page) {
      (page.view.edge(bound, isUpper: isUpper), Double(page.view.count + 1))
    }
    let inner = try share(of: edge.child, level - 1, below: bound, isUpper: isUpper, mergeCount)
    return (Double(edge.index) + inner) / count
  }
}

extension NodePage {
  /// Which child a bound leads to, and the number of its page.
  fileprivate func edge(_ bound: KeyBound, isUpper: Bool) -> (index: Int, child: UInt32) {
    let index = child(of: bound, isUpper: isUpper)
    return (index, childNumber(index))
  }
}
