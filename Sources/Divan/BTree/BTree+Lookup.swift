internal import DivanLog

extension BTree {
  /// Calls `body` with the leaf in which `key` belongs, borrowed.
  ///
  /// No reference is counted on the way: `self` retains the root, and each node its children.
  @inline(__always)
  private func withLeaf<R>(
    for key: BorrowedBytes, isExact: Bool, _ body: (Node) -> R
  ) -> R {
    var node = unsafe Unmanaged.passUnretained(root)
    while let child = unsafe node._withUnsafeGuaranteedRef({
      unsafe $0.nextNode(toward: key, isExact: isExact)
    }) {
      unsafe node = child
    }
    // `self` retains the whole path until here.
    return withExtendedLifetime(self) { unsafe node._withUnsafeGuaranteedRef(body) }
  }

  /// Calls `body` with the leaf that contains `key`, and the entry's index there; returns nil if
  /// there is none.
  @inline(__always)
  func withEntry<R>(of key: BorrowedBytes, _ body: (Node, Int) -> R) -> R? {
    var isCertain = false
    let result = withLeaf(for: key, isExact: false) { leaf -> R? in
      if let index = leaf.page.find(key) { return body(leaf, index) }
      isCertain = leaf.page.surrounds(key)
      return nil
    }
    if result != nil || isCertain { return result }
    return withLeaf(for: key, isExact: true) { leaf in
      leaf.page.find(key).map { body(leaf, $0) }
    }
  }
}

extension Node {
  /// Returns the child in which `key` belongs, still owned by this node; nil in a leaf.
  @inline(__always)
  @unsafe fileprivate func nextNode(
    toward key: BorrowedBytes, isExact: Bool
  ) -> Unmanaged<Node>? {
    let page = self.page
    if page.level == 0 { return nil }
    return unsafe childReference(
      isExact ? page.upperBound(of: key) : page.likelyUpperBound(of: key))
  }
}
