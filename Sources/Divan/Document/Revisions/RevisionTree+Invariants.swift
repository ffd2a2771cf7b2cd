extension RevisionTree {
  /// Traps if an invariant is violated, if built with `DIVAN_INTERNAL_CHECKS`.
  @inline(__always)
  func checkAfterMutation() {
    #if DIVAN_INTERNAL_CHECKS
      let problem = self.problem
      precondition(problem == nil, problem ?? "")
    #endif
  }

  /// A description of the first violated invariant; nil if there is none.
  var problem: String? {
    var lastRoot: RevisionID?
    for (index, node) in nodes.enumerated() {
      guard node.revision.generation >= 1,
        node.revision.generation <= RevisionID.generationLimit
      else { return "node \(index) has a generation out of range" }
      guard let parent = parent(of: index) else {
        if let lastRoot, lastRoot >= node.revision { return "root \(index) is out of order" }
        lastRoot = node.revision
        continue
      }
      guard parent >= 0, parent < index else { return "node \(index) precedes its parent" }
      if nodes[parent].revision.generation + 1 != node.revision.generation {
        return "node \(index) does not have the generation after its parent's"
      }
      if parent == index - 1 { continue }
      // The sibling before this one is the previous node, or an ancestor of it.
      var sibling = index - 1
      while let above = self.parent(of: sibling), above != parent { sibling = above }
      if self.parent(of: sibling) == nil {
        return "the subtree above node \(index) is not contiguous"
      }
      if nodes[sibling].revision >= node.revision { return "node \(index) is out of order" }
    }
    if leafCount != nodes.indices.count(where: isLeaf) { return "the count of leaves is wrong" }
    if rootCount != nodes.count(where: { $0.parentIndex == RevisionTree.noParent }) {
      return "the count of roots is wrong"
    }
    return hasDistinctRoots ? nil : "a root has the revision of another node"
  }

  /// Whether no root has the revision of another node.
  ///
  /// Takes time linear in *n* if there are several roots, otherwise constant time.
  var hasDistinctRoots: Bool {
    // In one tree, no other node has the root's generation.
    guard rootCount > 1 else { return true }
    var roots: Set<RevisionID> = []
    for node in nodes where node.parentIndex == RevisionTree.noParent {
      guard roots.insert(node.revision).inserted else { return false }
    }
    return nodes.allSatisfy {
      $0.parentIndex == RevisionTree.noParent || !roots.contains($0.revision)
    }
  }
}
