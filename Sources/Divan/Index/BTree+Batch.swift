internal import DivanLog

extension BTree {
  /// Gives many keys values: the entries of a batch that stand in a range of it, which must be sorted.
  ///
  /// What is here and what comes is merged, so that a leaf is searched and written once for all that it gets, and no leaf
  /// is written to. It costs less than one key after the other where a leaf gets several.
  ///
  /// - Precondition: keys and values are no longer than ``entryLimit``.
  mutating func set(_ batch: borrowing EntryBatch, _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    precondition(batch.longestSize <= entryLimit, "A key and value too long for the index")
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

/// A node that takes the place of others, and what separates it from the one left of it.
private struct MergedNode {
  /// Empty in the first node of all.
  var separator: SharedBytes
  let node: Node
}

/// Makes the nodes that a tree has once a batch is merged into it.
///
/// Nodes are made anew where something comes, and stay where nothing does; none is changed.
private struct BatchMerging {
  let pageSize: Int
  /// How many keys were not there before.
  var addedCount = 0

  init(pageSize: Int) { self.pageSize = pageSize }

  /// The nodes that take the place of `node`, below which all entries of the range belong; the first one has no
  /// separator.
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
    // Each entry by its index: in the leaf, or, behind as many as there are, in the batch.
    var entries: [Int] = []
    var sizes: [Int] = []
    entries.reserveCapacity(page.count + range.count)
    sizes.reserveCapacity(page.count + range.count)
    var next = 0
    for index in range {
      // How many come before it, and whether the one behind them gives way to it.
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
    return leaves.indices.map { index in
      guard index > 0 else { return MergedNode(separator: .empty, node: leaves[0]) }
      let left = leaves[index - 1].page
      let separator = NodePage.separator(
        between: left.key(left.count - 1), and: leaves[index].page.key(0))
      return MergedNode(separator: SharedBytes(copying: separator), node: leaves[index])
    }
  }

  /// Inner nodes of a level that have these children, which there is at least one of.
  func parents(of children: [MergedNode], level: Int) -> [MergedNode] {
    // The separator of a node's first child stands above the node, so that this is more than is needed.
    let sizes = children.map { Node.entrySize($0.separator.count, Node.childValueLength) }
    return parts(sizes).map { part in
      let size = sizes[part].reduce(NodePage.headerSize, +)
      let node = Node.make(level: level, capacity: Node.capacity(for: size, limit: pageSize))
      node.setFirstChild(children[part.lowerBound].node)
      for child in children[part.dropFirst()] {
        child.separator.lend { node.insertChild(child.node, separator: $0, at: node.page.count) }
      }
      return MergedNode(separator: children[part.lowerBound].separator, node: node)
    }
  }

  /// Which of the entries of these sizes come into one node: as few nodes as will do, which are about equally full.
  private func parts(_ sizes: [Int]) -> [Range<Int>] {
    let limit = pageSize - NodePage.headerSize
    let total = sizes.reduce(0, +)
    let count = max(1, (total + limit - 1) / limit)
    var parts: [Range<Int>] = []
    var start = 0
    var placed = 0
    while start < sizes.count {
      // Where this part should end, of all that there is.
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
