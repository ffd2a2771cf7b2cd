internal import DivanLog

extension BTree {
  /// Returns the share of all entries that are between two bounds.
  func share(between lower: KeyBound, _ upper: KeyBound) -> Double {
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

  /// The size of all leaves in bytes, as if each had a full page.
  ///
  /// Visits the inner nodes only: one for some sixty leaves.
  var leafSize: Int { BTree.leafCount(root) * pageSize }

  private static func leafCount(_ node: Node) -> Int {
    switch node.level {
    case 0: 1
    case 1: node.page.count + 1
    default: (0...node.page.count).reduce(0) { $0 + leafCount(node.child($1)) }
    }
  }

  /// Returns the share of a node's entries that precede a bound.
  private static func share(of node: Node, below bound: KeyBound, isUpper: Bool) -> Double {
    guard node.level > 0 else { return node.page.share(before: bound, isUpper: isUpper) }
    let index = node.page.child(of: bound, isUpper: isUpper)
    let inner = share(of: node.child(index), below: bound, isUpper: isUpper)
    return (Double(index) + inner) / Double(node.page.count + 1)
  }
}
