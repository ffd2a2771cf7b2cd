/// The known revisions of one document, and their parents.
///
/// Usually the tree is a straight line. Edits of the same revision on two machines make branches,
/// and a history that was cut too short to be connected with the rest makes a second tree; the type
/// represents all trees together. The rules are CouchDB's: every machine that has seen the same
/// revisions has the same leaves and the same winner, independent of the order of arrival.
///
/// A revision ID may have different ancestors; then it is several nodes, which may share a record.
/// With the same ancestors, it is one node.
///
/// Positions (`Int`) count nodes from 0 and are valid until the next change of the tree. A node
/// takes 40 bytes. Costs are given in terms of the number of nodes, *n*.
///
/// Invariants, which ``problem`` checks:
/// - A child's generation is its parent's plus one.
/// - Parents precede their children, and a subtree is contiguous: `nodes` is each tree from its
///   root, depth first.
/// - Siblings ascend strictly by revision, and so do roots.
/// - No root has the revision of another node: they would be one node.
///
/// So equal trees are equal arrays, independent of the order of insertions.
struct RevisionTree: Sendable {
  // Only the files of this type set these three.
  var nodes: [RevisionNode]
  /// The number of nodes without children.
  var leafCount: Int
  /// The number of nodes without a parent.
  var rootCount: Int

  /// The parent index of a root.
  static let noParent: Int32 = -1

  /// Creates an empty tree.
  init() {
    nodes = []
    leafCount = 0
    rootCount = 0
  }
}

/// One revision in a ``RevisionTree``.
struct RevisionNode: Sendable, Equatable {
  let revision: RevisionID
  /// Whether the revision deletes the document; false if only its ID is known.
  var isDeleted = false
  /// Whether another store computed its ID, which then does not identify its properties.
  var isForeignEdit = false
  /// The parent's position; ``RevisionTree/noParent`` for a root.
  var parentIndex = RevisionTree.noParent
  /// The sequence number of the revision's record; 0 if there is none.
  var sequence: UInt64 = 0
}

extension RevisionTree: Equatable {
  static func == (a: RevisionTree, b: RevisionTree) -> Bool { a.nodes == b.nodes }
}

// MARK: - Lookup

extension RevisionTree {
  var isEmpty: Bool { nodes.isEmpty }

  /// Whether the tree is a straight line, or empty.
  var isChain: Bool { leafCount <= 1 }

  /// Whether the tree is a straight line in which only the leaf has more than an ID.
  ///
  /// Then the leaf and the digests of its ancestors describe all of it.
  var isPlainChain: Bool {
    isChain
      && nodes.dropLast().allSatisfy { !$0.isDeleted && !$0.isForeignEdit && $0.sequence == 0 }
  }

  /// Returns the position of a node's parent; nil for a root.
  func parent(of index: Int) -> Int? {
    let parent = nodes[index].parentIndex
    return parent == RevisionTree.noParent ? nil : Int(parent)
  }

  func isLeaf(_ index: Int) -> Bool {
    // A subtree is contiguous: a node's first child follows it directly.
    index + 1 == nodes.count || nodes[index + 1].parentIndex != Int32(index)
  }

  /// Returns the first position after a node and its descendants.
  func subtreeEnd(_ index: Int) -> Int {
    var end = index + 1
    while end < nodes.count, nodes[end].parentIndex >= Int32(index) { end += 1 }
    return end
  }

  /// Returns the position of a revision; nil if it is not known.
  ///
  /// Of several nodes, it is a leaf if there is one, otherwise the first.
  ///
  /// Takes constant time in a straight line, otherwise time linear in *n*.
  func index(of revision: RevisionID) -> Int? {
    if isChain { return chainIndex(of: revision) }
    var first: Int?
    for index in nodes.indices where nodes[index].revision == revision {
      if isLeaf(index) { return index }
      if first == nil { first = index }
    }
    return first
  }

  /// Returns the first position of a revision.
  ///
  /// It determines where a history belongs whose own beginning is unknown.
  func firstIndex(of revision: RevisionID) -> Int? {
    isChain ? chainIndex(of: revision) : nodes.firstIndex { $0.revision == revision }
  }

  private func chainIndex(of revision: RevisionID) -> Int? {
    guard let root = nodes.first?.revision, revision.generation >= root.generation,
      let index = Int(exactly: revision.generation - root.generation), index < nodes.count,
      nodes[index].revision == revision
    else { return nil }
    return index
  }

  /// Whether a revision is known, as a leaf or as an ancestor of one.
  func contains(_ revision: RevisionID) -> Bool { firstIndex(of: revision) != nil }

  /// Returns the node at `index` and its ancestors, nearest first, at most `limit`.
  ///
  /// Takes time linear in their number.
  func history(of index: Int, limit: Int = .max) -> [RevisionNode] {
    sequence(first: index) { parent(of: $0) }.prefix(limit).map { nodes[$0] }
  }

  /// The winning revision and its ancestors, nearest first; empty for an empty tree.
  ///
  /// Takes time linear in *n*.
  var winningHistory: [RevisionNode] { winner.map { history(of: $0) } ?? [] }
}

// MARK: - Leaves

extension RevisionTree {
  /// Whether the leaf at `a` wins over the one at `b`.
  ///
  /// Live wins over deleted, then the higher generation, then the higher digest.
  private func precedes(_ a: Int, _ b: Int) -> Bool {
    let (first, second) = (nodes[a], nodes[b])
    if first.isDeleted != second.isDeleted { return second.isDeleted }
    if first.revision != second.revision { return first.revision > second.revision }
    return a < b
  }

  /// The positions of all leaves, the winner's first.
  ///
  /// Takes time linear in *n*, and *m* log *m* for *m* leaves.
  var leaves: [Int] {
    if isChain { return isEmpty ? [] : [nodes.count - 1] }
    return nodes.indices.filter(isLeaf).sorted(by: precedes)
  }

  /// The position of the winning leaf; nil if there are no revisions.
  ///
  /// Takes constant time in a straight line, otherwise time linear in *n*.
  var winner: Int? {
    if isChain { return isEmpty ? nil : nodes.count - 1 }
    var winner: Int?
    for index in nodes.indices where isLeaf(index) {
      if winner.map({ precedes(index, $0) }) ?? true { winner = index }
    }
    return winner
  }

  /// The leaves by their IDs, in the order of ``leaves``.
  var leafRevisions: [LeafRevision] {
    leaves.map { LeafRevision(id: nodes[$0].revision, isDeleted: nodes[$0].isDeleted) }
  }
}

// MARK: - Replication

extension RevisionTree {
  /// Returns the elements of `revisions` that are not known, in their order.
  ///
  /// Takes time linear in *n* plus their number.
  func missing(of revisions: [RevisionID]) -> [RevisionID] {
    guard revisions.count > 4, !isChain else { return revisions.filter { !contains($0) } }
    let known = Set(nodes.lazy.map(\.revision))
    return revisions.filter { !known.contains($0) }
  }

  /// Returns known revisions that may be ancestors of an unknown one, highest first.
  ///
  /// On each branch, it is the highest revision of a lower generation.
  ///
  /// Takes time linear in *n*, and *m* log *m* for a result of *m*.
  func possibleAncestors(of revision: RevisionID) -> [RevisionID] {
    var found: [RevisionID] = []
    for index in nodes.indices where nodes[index].revision.generation < revision.generation {
      // Of the nodes below the given generation, those at the end of their branch.
      if nodes[index].revision.generation + 1 == revision.generation || isLeaf(index) {
        found.append(nodes[index].revision)
      }
    }
    found.sort(by: >)
    // The same ID on different ancestors is returned once.
    return found.indices.filter { $0 == 0 || found[$0] != found[$0 - 1] }.map { found[$0] }
  }
}

extension RevisionTree {
  /// A revision whose parent differs between two histories.
  struct Contradiction: Equatable {
    let revision: RevisionID
    let knownParent: RevisionID
    let otherParent: RevisionID
  }

  /// Returns a revision whose parent in a path contradicts the known parent; nil if there is none.
  ///
  /// If a revision has several parents, one of them must be the path's. Takes time linear in *n*,
  /// unless there are many such revisions.
  func contradiction(to path: Path) -> Contradiction? {
    for index in nodes.indices {
      guard let found = contradiction(to: path, at: index) else { continue }
      let isConfirmed = nodes.indices.contains { other in
        nodes[other].revision == found.revision
          && parent(of: other).map { nodes[$0].revision } == found.otherParent
      }
      if !isConfirmed { return found }
    }
    return nil
  }

  private func contradiction(to path: Path, at index: Int) -> Contradiction? {
    let revision = nodes[index].revision
    guard let parent = parent(of: index), path[revision.generation] == revision,
      let other = path[revision.generation - 1], other != nodes[parent].revision
    else { return nil }
    return Contradiction(
      revision: revision, knownParent: nodes[parent].revision, otherParent: other)
  }
}

// MARK: - Records

extension RevisionTree {
  /// Sets the sequence number of a revision's record; 0 if there is none any more.
  mutating func setSequence(_ sequence: UInt64, at index: Int) {
    nodes[index].sequence = sequence
  }

  /// Adds the data of a record to a revision of which only the ID was known.
  mutating func setRecord(isDeleted: Bool, isForeignEdit: Bool, sequence: UInt64, at index: Int) {
    nodes[index].isDeleted = isDeleted
    nodes[index].isForeignEdit = isForeignEdit
    nodes[index].sequence = sequence
  }

  /// The sequence numbers of all records, in the order of the nodes.
  var storedSequences: [UInt64] { nodes.lazy.map(\.sequence).filter { $0 != 0 } }
}
