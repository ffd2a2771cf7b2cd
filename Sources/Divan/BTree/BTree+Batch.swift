internal import DivanLog

extension BTree {
  /// Sets the values of many keys: the entries of a sorted batch that are in `range`.
  ///
  /// The entries are merged with the existing ones. Each leaf is searched and rebuilt once for all
  /// entries that it receives; no leaf is changed in place. This costs less than setting one key
  /// after the other if a leaf receives several.
  ///
  /// - Precondition: keys and values are no longer than ``entryLimit``.
  mutating func set(_ batch: borrowing EntryBatch, _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    precondition(batch.longestSize <= entryLimit, "The key and value are too long for the index")
    var merging = BatchMerging(pageSize: pageSize)
    var nodes = merging.merge(batch, range, into: root)
    var level = root.level
    while nodes.count > 1 {
      level += 1
      nodes = merging.parents(of: nodes, level: level)
    }
    root = nodes[0].node
    count += merging.addedCount
    checkAfterMutation()
  }
}

/// A node that replaces others, and the separator between it and the node to its left.
private struct MergedNode {
  /// Empty for the first node.
  var separator: SharedBytes
  let node: Node
}

/// Builds the nodes of a tree that a batch is merged into.
///
/// Nodes that receive entries are rebuilt, and the others are kept; none is changed.
private struct BatchMerging {
  let pageSize: Int
  /// The number of keys that did not exist before.
  var addedCount = 0

  init(pageSize: Int) { self.pageSize = pageSize }

  /// Returns the nodes that replace `node`, below which all entries of the range belong.
  ///
  /// The first one has no separator.
  mutating func merge(
    _ batch: borrowing EntryBatch, _ range: Range<Int>, into node: Node
  ) -> [MergedNode] {
    if node.level == 0 { return mergeLeaf(batch, range, into: node) }
    let page = node.page
    var children: [MergedNode] = []
    children.reserveCapacity(page.count + 1)
    func separator(_ index: Int) -> SharedBytes {
      index == 0 ? .empty : page.key(index - 1).shared(by: node)
    }
    var next = range.lowerBound
    var index = 0
    while next < range.upperBound {
      let target = batch.withEntry(next) { key, _ in page.upperBound(of: key) }
      while index < target {
        children.append(MergedNode(separator: separator(index), node: node.child(index)))
        index += 1
      }
      var end = range.upperBound
      if target < page.count { end = batch.firstIndex(notBelow: page.key(target), in: next..<end) }
      var merged = merge(batch, next..<end, into: node.child(target))
      merged[0].separator = separator(target)
      children += merged
      next = end
      index += 1
    }
    while index <= page.count {
      children.append(MergedNode(separator: separator(index), node: node.child(index)))
      index += 1
    }
    return parents(of: children, level: node.level)
  }

  private mutating func mergeLeaf(
    _ batch: borrowing EntryBatch, _ range: Range<Int>, into leaf: Node
  ) -> [MergedNode] {
    let page = leaf.page
    // The index of each entry: in the leaf or, offset by the leaf's count, in the batch.
    var entries: [Int] = []
    var sizes: [Int] = []
    entries.reserveCapacity(page.count + range.count)
    sizes.reserveCapacity(page.count + range.count)
    var next = 0
    for index in range {
      // The end of the old entries before it, and whether it replaces the one at that index.
      let (end, isReplaced) = batch.withEntry(index) { key, _ -> (Int, Bool) in
        for old in next..<page.count {
          let order = page.key(old).compare(key)
          if order >= 0 { return (old, order == 0) }
        }
        return (page.count, false)
      }
      for old in next..<end {
        entries.append(old)
        sizes.append(page.entry(old).size + NodePage.slotSize)
      }
      next = isReplaced ? end + 1 : end
      if !isReplaced { addedCount += 1 }
      entries.append(page.count + index)
      sizes.append(batch.entrySize(index))
    }
    for old in next..<page.count {
      entries.append(old)
      sizes.append(page.entry(old).size + NodePage.slotSize)
    }
    let leaves = parts(sizes).map { part -> Node in
      let size = sizes[part].reduce(NodePage.headerSize, +)
      let new = Node.make(level: 0, capacity: Node.capacity(for: size, limit: pageSize))
      new.writer.fill(count: part.count) { number, append in
        let index = entries[part.lowerBound + number]
        if index < page.count {
          let entry = page.entry(index)
          append(entry.key, entry.value)
        } else {
          batch.withEntry(index - page.count) { key, value in append(key, value) }
        }
      }
      return new
    }
    return separated(leaves)
  }

  /// Returns leaves in ascending order, each but the first with the separator from the one before.
  private func separated(_ leaves: [Node]) -> [MergedNode] {
    leaves.indices.map { index in
      guard index > 0 else { return MergedNode(separator: .empty, node: leaves[0]) }
      let left = leaves[index - 1].page
      let separator = NodePage.separator(
        between: left.key(left.count - 1), and: leaves[index].page.key(0))
      return MergedNode(separator: SharedBytes(copying: separator), node: leaves[index])
    }
  }

  /// Builds inner nodes of `level` with the given children, of which there is at least one.
  func parents(of children: [MergedNode], level: Int) -> [MergedNode] {
    // The separator of a node's first child is stored in the parent, so this overestimates.
    let sizes = children.map { Node.entrySize($0.separator.count, Node.childValueLength) }
    return parts(sizes).map { part in
      let size = sizes[part].reduce(NodePage.headerSize, +)
      let node = Node.make(level: level, capacity: Node.capacity(for: size, limit: pageSize))
      node.setFirstChild(children[part.lowerBound].node)
      for child in children[part.dropFirst()] {
        child.separator.borrow { node.insertChild(child.node, separator: $0, at: node.page.count) }
      }
      return MergedNode(separator: children[part.lowerBound].separator, node: node)
    }
  }

  /// Divides entries of these sizes among as few nodes as possible, which are about equally full.
  private func parts(_ sizes: [Int]) -> [Range<Int>] {
    let limit = pageSize - NodePage.headerSize
    let total = sizes.reduce(0, +)
    let count = max(1, (total + limit - 1) / limit)
    var parts: [Range<Int>] = []
    var start = 0
    var placed = 0
    while start < sizes.count {
      // Where this part should end, in bytes of all entries.
      let goal = parts.count < count ? total * (parts.count + 1) / count : total
      var end = start
      var size = 0
      while end < sizes.count {
        let next = sizes[end]
        if end > start, size + next > limit || placed + next / 2 > goal { break }
        size += next
        placed += next
        end += 1
      }
      parts.append(start..<end)
      start = end
    }
    return parts
  }
}
