internal import DivanLog

extension BTree {
  /// Checks the whole tree after each change, if built with `DIVAN_INTERNAL_CHECKS`.
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

  /// Checks a node and all nodes below it, and returns the number of entries in its leaves.
  private static func check(
    _ node: Node, above lower: [UInt8]?, below upper: [UInt8]?, pageSize: Int
  ) -> Int {
    let page = node.page
    precondition(node.pageCapacity <= pageSize, "A node is too large: \(node.pageCapacity)")
    let problem = node.problem
    precondition(problem == nil, problem ?? "")
    for index in 0..<page.count {
      let key = page.key(index)
      if let lower { precondition(lower.borrow { $0.compare(key) } <= 0, "A key is too far right") }
      if let upper { precondition(upper.borrow { $0.compare(key) } > 0, "A key is too far left") }
    }
    if node.level == 0 {
      precondition(page.count > 0 || (lower == nil && upper == nil), "A leaf is empty")
      return page.count
    }
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
  /// Calls `body` with the borrowed bytes.
  @inline(__always)
  func borrow<R, E: Error>(_ body: (BorrowedBytes) throws(E) -> R) throws(E) -> R {
    try BorrowedBytes.borrow(self, body)
  }
}
