extension RevisionTree {
  /// Removes all nodes beyond the nearest `depth` of each leaf's history, which include the leaf.
  ///
  /// A node is kept as long as one leaf needs it. A tree may split into several. Returns the
  /// sequence numbers of the records that are no longer needed. The cost is that of an insertion.
  mutating func prune(toDepth depth: Int) -> [UInt64] {
    precondition(depth >= 1, "A leaf is always kept")
    if isChain { return removeFromChain(max(0, nodes.count - depth)) }
    let before = self
    return cut(toDepth: depth, joins: false) ? sequencesReleased(since: before) : []
  }

  /// Prunes, and returns whether that may have changed the tree.
  ///
  /// `joins` means that a root may have the revision of another node, and must be joined with it.
  mutating func cut(toDepth depth: Int, joins: Bool) -> Bool {
    guard joins || hasHistory(longerThan: depth) else { return false }
    // As in CouchDB, if any digest occurs twice, histories are cut apart and joined again. The
    // result differs in the ancestors that are kept beyond the required ones.
    if joins || hasDigestTwice { reinsert(depth: depth) } else { removeFarNodes(depth: depth) }
    return true
  }

  /// Returns the sequence numbers of the records that were needed before and are not now.
  func sequencesReleased(since before: RevisionTree) -> [UInt64] {
    let kept = Set(storedSequences)
    return before.storedSequences.filter { !kept.contains($0) }
  }

  private func hasHistory(longerThan depth: Int) -> Bool {
    var lengths = [Int](repeating: 1, count: nodes.count)
    for index in nodes.indices {
      if let parent = parent(of: index) { lengths[index] = lengths[parent] + 1 }
      if lengths[index] > depth { return true }
    }
    return false
  }

  private var hasDigestTwice: Bool {
    var seen: Set<RevisionID> = []
    seen.reserveCapacity(nodes.count)
    return !nodes.allSatisfy {
      seen.insert(RevisionID(generation: 1, digest: $0.revision.digest)).inserted
    }
  }

  /// Removes all nodes that no leaf needs.
  private mutating func removeFarNodes(depth: Int) {
    var stepsToLeaf = [Int](repeating: .max, count: nodes.count)
    for index in nodes.indices.reversed() {
      if stepsToLeaf[index] == .max { stepsToLeaf[index] = 0 }
      if let parent = parent(of: index) {
        stepsToLeaf[parent] = min(stepsToLeaf[parent], stepsToLeaf[index] + 1)
      }
    }
    var positions = [Int32](repeating: RevisionTree.noParent, count: nodes.count)
    var kept: [RevisionNode] = []
    for index in nodes.indices where stepsToLeaf[index] < depth {
      positions[index] = Int32(kept.count)
      var node = nodes[index]
      node.parentIndex = parent(of: index).map { positions[$0] } ?? RevisionTree.noParent
      kept.append(node)
    }
    nodes = kept
    sortNodes()
  }

  /// Removes the oldest nodes of a straight line, and returns the sequence numbers of their
  /// records.
  private mutating func removeFromChain(_ count: Int) -> [UInt64] {
    guard count > 0 else { return [] }
    let released = nodes[..<count].map(\.sequence).filter { $0 != 0 }
    nodes.removeFirst(count)
    for index in nodes.indices { nodes[index].parentIndex = Int32(index) - 1 }
    return released
  }

  /// Cuts every leaf's history to a depth and rebuilds the tree from them.
  ///
  /// Nodes that have the same revision as a root become one node with it. Takes time linear in *n*
  /// for each leaf.
  private mutating func reinsert(depth: Int) {
    let paths = nodes.indices.filter(isLeaf).map { Array(history(of: $0, limit: depth).reversed()) }
    var joined = RevisionTree()
    for path in paths.sorted(by: { $0[0].revision < $1[0].revision }) {
      var index: Int? = joined.insertPath(path)
      for node in path.reversed() {
        guard let at = index else { break }
        // Of two records of one revision, the older is kept.
        let sequence = joined.nodes[at].sequence
        if node.sequence != 0, sequence == 0 || node.sequence < sequence {
          joined.setRecord(
            isDeleted: node.isDeleted, isForeignEdit: node.isForeignEdit, sequence: node.sequence,
            at: at)
        }
        index = joined.parent(of: at)
      }
    }
    self = joined
  }
}

extension RevisionTree {
  /// Removes a leaf, and the ancestors that no other leaf has.
  ///
  /// Returns the sequence numbers of the records that are no longer needed. Takes time linear in
  /// *n*.
  mutating func removeLeaf(at leaf: Int) -> [UInt64] {
    precondition(isLeaf(leaf), "Only a leaf can be removed")
    defer { checkAfterMutation() }
    let end = leaf + 1
    let nextParent = end < nodes.count ? nodes[end].parentIndex : RevisionTree.noParent
    // In a straight line up from the leaf, each node directly precedes its only child.
    var start = leaf
    while let parent = parent(of: start), parent == start - 1, Int32(parent) != nextParent {
      start = parent
    }
    let released = nodes[start..<end].map(\.sequence).filter { $0 != 0 }
    let hasParent = parent(of: start) != nil
    nodes.removeSubrange(start..<end)
    for index in start..<nodes.count where nodes[index].parentIndex >= Int32(end) {
      nodes[index].parentIndex -= Int32(end - start)
    }
    leafCount -= 1
    if !hasParent { rootCount -= 1 }
    // If a revision ID occurs on several ancestors, another node may have the same record.
    let kept = Set(storedSequences)
    return released.filter { !kept.contains($0) }
  }
}
