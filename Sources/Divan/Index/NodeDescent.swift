internal import DivanLog

extension BTree {
  /// Lends the leaf where `key` belongs.
  ///
  /// No reference is counted on the way: `self` holds the root, and each node its children.
  @inline(__always)
  func withLeaf<R>(for key: LentBytes, _ body: (Node) -> R) -> R {
    var node = unsafe Unmanaged.passUnretained(root)
    while let child = unsafe node._withUnsafeGuaranteedRef({ unsafe $0.nextNode(toward: key) }) {
      unsafe node = child
    }
    // `self` holds the whole path until here.
    return withExtendedLifetime(self) { unsafe node._withUnsafeGuaranteedRef(body) }
  }
}

extension Node {
  /// The child where `key` belongs, still owned by this node; nil in a leaf.
  @inline(__always)
  @unsafe fileprivate func nextNode(toward key: LentBytes) -> Unmanaged<Node>? {
    let page = self.page
    if page.level == 0 { return nil }
    return unsafe childReference(page.upperBound(of: key))
  }
}
