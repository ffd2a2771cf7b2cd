internal import DivanLog

extension BTree {
  /// Checks the tree after a change of one key, if built with `DIVAN_INTERNAL_CHECKS`.
  ///
  /// Checks the nodes on the way to the key, and from time to time the whole tree. Tests and the
  /// build with planted bugs define the flag; CONTRIBUTING.md says how.
  @inline(__always)
  func checkAfterMutation(of key: BorrowedBytes) {
    #if DIVAN_INTERNAL_CHECKS
      if count < 64 || count.isMultiple(of: 128) { checkInvariants() } else { checkPath(to: key) }
    #endif
  }

  /// Checks the whole tree after a change of many keys, if built with `DIVAN_INTERNAL_CHECKS`.
  @inline(__always)
  func checkAfterMutation() {
    #if DIVAN_INTERNAL_CHECKS
      checkInvariants()
    #endif
  }

  /// Traps if an invariant is violated.
  func checkInvariants() {
    let total = BTree.check(root, above: nil, below: nil, pageSize: pageSize)
    precondition(total == count, "The tree's count is wrong")
    precondition(count > 0 || root.level == 0, "An empty tree has inner nodes")
  }

  /// Traps if a node on the way to a key violates an invariant.
  private func checkPath(to key: BorrowedBytes) {
    var node = root
    var (lower, upper): ([UInt8]?, [UInt8]?)
    while true {
      BTree.checkNode(node, above: lower, below: upper, pageSize: pageSize)
      guard node.level > 0 else { return }
      let page = node.page
      let index = page.upperBound(of: key)
      if index > 0 { lower = page.key(index - 1).array }
      if index < page.count { upper = page.key(index).array }
      let child = node.child(index)
      precondition(child.level == node.level - 1, "A child is at the wrong level")
      node = child
    }
  }

  /// Checks a node by itself, and that its keys are between two bounds.
  private static func checkNode(
    _ node: Node, above lower: [UInt8]?, below upper: [UInt8]?, pageSize: Int
  ) {
    let page = node.page
    precondition(node.pageCapacity <= pageSize, "A node is too large: \(node.pageCapacity)")
    let problem = node.problem
    precondition(problem == nil, problem ?? "")
    for index in 0..<page.count {
      let key = page.key(index)
      if let lower { precondition(lower.borrow { $0.compare(key) } <= 0, "A key is too far right") }
      if let upper { precondition(upper.borrow { $0.compare(key) } > 0, "A key is too far left") }
    }
    precondition(
      node.level > 0 || page.count > 0 || (lower == nil && upper == nil), "A leaf is empty")
  }

  /// Checks a node and all nodes below it, and returns the number of entries in its leaves.
  private static func check(
    _ node: Node, above lower: [UInt8]?, below upper: [UInt8]?, pageSize: Int
  ) -> Int {
    checkNode(node, above: lower, below: upper, pageSize: pageSize)
    let page = node.page
    guard node.level > 0 else { return page.count }
    var total = 0
    for index in 0...page.count {
      let child = node.child(index)
      precondition(child.level == node.level - 1, "A child is at the wrong level")
      total += check(
        child, above: index == 0 ? lower : page.key(index - 1).array,
        below: index == page.count ? upper : page.key(index).array, pageSize: pageSize)
    }
    return total
  }
}

extension [UInt8] {
  /// Lends the bytes to `body`.
  @inline(__always)
  func borrow<R, E: Error>(_ body: (BorrowedBytes) throws(E) -> R) throws(E) -> R {
    try BorrowedBytes.borrow(self, body)
  }
}
