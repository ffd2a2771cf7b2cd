internal import DivanLog

extension BTree {
  /// Removes `key` and its value, and returns whether it existed.
  @discardableResult
  mutating func remove(_ key: Span<UInt8>) -> Bool {
    BorrowedBytes.borrow(key) { remove($0) }
  }

  /// Removes `key` and its value, and returns whether it existed.
  @discardableResult
  mutating func remove(_ key: BorrowedBytes) -> Bool {
    // No node is copied for a key that does not exist.
    guard contains(key) else { return false }
    Removal(key: key, pageSize: pageSize).apply(to: &root)
    count -= 1
    if count == 0 {
      root = Node.make(level: 0, capacity: min(pageSize, 128))
    } else {
      while root.level > 0, root.page.count == 0 { root = root.child(0) }
    }
    checkAfterMutation(of: key)
    return true
  }
}

/// The removal of a key, which exists.
private struct Removal {
  let key: BorrowedBytes
  let pageSize: Int

  /// The size in bytes below which a node is merged with a neighbour, if possible.
  private var lowerLimit: Int { pageSize * 2 / 5 }

  func apply(to node: inout Node) {
    if !isKnownUniquelyReferenced(&node) { node = node.rebuilt(extra: 0, limit: pageSize) }
    let page = node.page
    if node.level == 0 {
      if let index = page.find(key) { node.writer.remove(at: index) }
      return
    }
    let index = page.upperBound(of: key)
    node.withChild(index) { apply(to: &$0) }
    let child = node.child(index)
    guard child.usedSize < lowerLimit, page.count > 0 else { return }
    if child.isHollow {
      node.removeChild(index)
    } else if index == 0 || !merge(index - 1, in: &node) {
      if index < page.count { _ = merge(index, in: &node) }
    }
  }

  /// Merges the child at `index` with its right neighbour, if both fit in one page.
  private func merge(_ index: Int, in node: inout Node) -> Bool {
    let left = node.child(index)
    let right = node.child(index + 1)
    let separator = node.page.key(index)
    let between = left.level == 0 ? 0 : Node.entrySize(separator.count, Node.childValueLength)
    let size = left.usedSize + right.usedSize - NodePage.headerSize + between
    guard size <= pageSize else { return false }
    let merged = left.merged(with: right, separator: separator, limit: pageSize)
    node.withChild(index) { $0 = merged }
    node.removeChild(index + 1)
    return true
  }
}

extension Node {
  /// Whether the leaves below have no entries.
  ///
  /// An inner node whose neighbours are full may be left with one child. Once that child is empty,
  /// the whole node is removed.
  var isHollow: Bool {
    guard page.count == 0 else { return false }
    return level == 0 || child(0).isHollow
  }
}
