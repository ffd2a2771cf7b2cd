internal import DivanLog

extension BTree {
  /// Sets the value of `key`, and returns whether it had one before.
  ///
  /// - Precondition: key and value are together no longer than ``entryLimit``.
  @discardableResult
  mutating func set(_ key: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
    BorrowedBytes.borrow(key) { key in
      BorrowedBytes.borrow(value) { value in set(key, value) }
    }
  }

  /// Sets the value of `key`, and returns whether it had one before.
  @discardableResult
  mutating func set(_ key: BorrowedBytes, _ value: BorrowedBytes) -> Bool {
    precondition(
      key.count + value.count <= entryLimit, "The key and value are too long for the index")
    var insertion = Insertion(key: key, value: value, pageSize: pageSize)
    if let split = insertion.apply(to: &root, isLast: true) {
      let newRoot = Node.make(level: root.level + 1, capacity: min(pageSize, pageSize / 4 + 64))
      newRoot.setFirstChild(root)
      split.separator.borrow { newRoot.insertChild(split.right, separator: $0, at: 0) }
      root = newRoot
    }
    if !insertion.replaced { count += 1 }
    checkAfterMutation(of: key)
    return insertion.replaced
  }
}

/// A node that was split off to the right, and the separator between the two.
private struct Split {
  let separator: SharedBytes
  let right: Node
}

/// The insertion of one key and value.
private struct Insertion {
  let key: BorrowedBytes
  let value: BorrowedBytes
  let pageSize: Int
  /// Whether the key existed before.
  var replaced = false

  /// Inserts the entry below `node`, and returns the node that was split off, if any.
  ///
  /// `node` may be replaced by a copy. `isLast` says that no node is to the right of it.
  mutating func apply(to node: inout Node, isLast: Bool) -> Split? {
    if node.level == 0 { return applyToLeaf(&node, isLast: isLast) }
    makeUnique(&node, extra: 0)
    let page = node.page
    let index = page.upperBound(of: key)
    let isLastChild = isLast && index == page.count
    let split = node.withChild(index) { apply(to: &$0, isLast: isLastChild) }
    guard let split else { return nil }
    return split.separator.borrow { separator in
      insert(separator, split.right, into: &node, at: index, isLast: isLast)
    }
  }

  private mutating func applyToLeaf(_ leaf: inout Node, isLast: Bool) -> Split? {
    let extra = Node.entrySize(key.count, value.count)
    makeUnique(&leaf, extra: extra)
    var page = leaf.page
    let index = page.lowerBound(of: key)
    if index < page.count {
      let entry = page.entry(index)
      if entry.key.equals(key) {
        replaced = true
        if entry.value.count == value.count {
          leaf.writer.overwrite(at: index, with: value)
          return nil
        }
        leaf.writer.remove(at: index)
      }
    }
    if makeRoom(in: &leaf, for: extra) {
      leaf.writer.insert(key, value, at: index)
      return nil
    }
    page = leaf.page
    if isLast, index == page.count {
      // Keys that are inserted in ascending order leave full leaves behind.
      let right = Node.make(level: 0, capacity: min(pageSize, max(pageSize / 4, extra + 64)))
      right.writer.insert(key, value, at: 0)
      let separator = NodePage.separator(between: page.key(index - 1), and: key)
      return Split(separator: SharedBytes(copying: separator), right: right)
    }
    let middle = Insertion.middle(of: page, adding: extra, at: index)
    let right = leaf.rebuilt(
      middle..<page.count, extra: index > middle ? extra : 0, limit: pageSize)
    let left = leaf.rebuilt(0..<middle, extra: index <= middle ? extra : 0, limit: pageSize)
    if index <= middle {
      left.writer.insert(key, value, at: index)
    } else {
      right.writer.insert(key, value, at: index - middle)
    }
    leaf = left
    let leftPage = left.page
    let separator = NodePage.separator(
      between: leftPage.key(leftPage.count - 1), and: right.page.key(0))
    return Split(separator: SharedBytes(copying: separator), right: right)
  }

  /// Inserts a child that was split off next to the one it came from.
  private func insert(
    _ separator: BorrowedBytes, _ child: Node, into node: inout Node, at index: Int, isLast: Bool
  ) -> Split? {
    let extra = Node.entrySize(separator.count, Node.childValueLength)
    if makeRoom(in: &node, for: extra) {
      node.insertChild(child, separator: separator, at: index)
      return nil
    }
    let page = node.page
    var middle = page.count - 1
    if !(isLast && index == page.count) {
      // The separator at `middle` moves up, so one must be left on either side of it.
      middle = Insertion.middle(of: page, adding: extra, at: index)
      middle = min(max(middle, 1), page.count - 2)
    }
    let rising = SharedBytes(copying: page.key(middle).array)
    let right = node.rebuilt(
      middle + 1..<page.count, extra: index > middle ? extra : 0, limit: pageSize)
    let left = node.rebuilt(0..<middle, extra: index <= middle ? extra : 0, limit: pageSize)
    if index <= middle {
      left.insertChild(child, separator: separator, at: index)
    } else {
      right.insertChild(child, separator: separator, at: index - middle - 1)
    }
    node = left
    return Split(separator: rising, right: right)
  }

  /// Replaces the node by a copy if it has other references.
  @inline(__always)
  private func makeUnique(_ node: inout Node, extra: Int) {
    if !isKnownUniquelyReferenced(&node) { node = node.rebuilt(extra: extra, limit: pageSize) }
  }

  /// Makes sure that an entry of `size` bytes fits in the node; returns false if it must be split.
  @inline(__always)
  private func makeRoom(in node: inout Node, for size: Int) -> Bool {
    if node.writer.freeSize >= size { return true }
    guard node.usedSize + size <= pageSize else { return false }
    node = node.rebuilt(extra: size, limit: pageSize)
    return true
  }

  /// Returns where to split a page so that both halves have about the same size.
  ///
  /// The page is measured as if an entry of `size` bytes were inserted at `index`.
  private static func middle(of page: NodePage, adding size: Int, at index: Int) -> Int {
    var total = size
    for index in 0..<page.count { total += page.entry(index).size + NodePage.slotSize }
    var left = 0
    var middle = 0
    while middle < page.count - 1 {
      if middle == index { left += size }
      let next = page.entry(middle).size + NodePage.slotSize
      if left + next / 2 >= total / 2 { break }
      left += next
      middle += 1
    }
    return max(middle, 1)
  }
}
