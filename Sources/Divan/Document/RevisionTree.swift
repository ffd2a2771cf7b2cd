/// The revisions of one document that are known, and which was made from which.
///
/// Usually that is a straight line. Edits of the same revision on two machines make branches, and a
/// history that was cut too short to be connected with the rest makes a second tree: all trees
/// together are meant by the name. The rules are CouchDB's, so that every machine that has seen the
/// same revisions has the same leaves and the same winner, in whatever order they came.
///
/// A revision ID may stand on different ancestors; then it is several nodes, which may share a
/// record. Where it stands on the same ones it is one.
///
/// Positions (`Int`) count nodes from 0 and hold until the next change of the tree. A node takes 40
/// bytes. What an operation costs is said in terms of their number, *n*.
///
/// Invariants, which ``problem`` checks:
/// - A child's generation is its parent's plus one.
/// - Parents stand before their children, and a subtree is contiguous: `nodes` is each tree from its
///   root on, depth first.
/// - Siblings ascend strictly by revision, and so do roots.
/// - No root has the revision of another node: they would be one node.
///
/// So equal trees are equal arrays, whatever the order in which they grew.
struct RevisionTree: Sendable {
  // Only the files of this type set these three.
  var nodes: [RevisionNode]
  /// How many nodes have no children.
  var leafCount: Int
  /// How many nodes have no parent.
  var rootCount: Int

  /// Instead of a root's parent.
  static let noParent: Int32 = -1

  /// Begins with no revisions.
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
  /// Whether its ID was computed by another store, and so says nothing about its body.
  var isForeignEdit = false
  /// The parent's position; ``RevisionTree/noParent`` for a root.
  var parentIndex = RevisionTree.noParent
  /// The sequence number of the record that holds the body; 0 if no body is held.
  var sequence: UInt64 = 0
}

extension RevisionTree: Equatable {
  static func == (a: RevisionTree, b: RevisionTree) -> Bool { a.nodes == b.nodes }
}

// MARK: - Looking around

extension RevisionTree {
  var isEmpty: Bool { nodes.isEmpty }

  /// Whether the tree is a straight line, or empty.
  var isChain: Bool { leafCount <= 1 }

  /// Whether the tree is a straight line, and only of its leaf is more known than the ID: all of it
  /// is then said by the leaf and the digests of its ancestors.
  var isPlainChain: Bool {
    isChain
      && nodes.dropLast().allSatisfy { !$0.isDeleted && !$0.isForeignEdit && $0.sequence == 0 }
  }

  /// The position of a node's parent; nil for a root.
  func parent(of index: Int) -> Int? {
    let parent = nodes[index].parentIndex
    return parent == RevisionTree.noParent ? nil : Int(parent)
  }

  func isLeaf(_ index: Int) -> Bool {
    // A subtree is contiguous: a node's first child stands next to it.
    index + 1 == nodes.count || nodes[index + 1].parentIndex != Int32(index)
  }

  /// The first position after a node and all that is below it.
  func subtreeEnd(_ index: Int) -> Int {
    var end = index + 1
    while end < nodes.count, nodes[end].parentIndex >= Int32(index) { end += 1 }
    return end
  }

  /// The position of a revision: of a leaf if one of several nodes is one, or else of the first;
  /// nil if it is not known.
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

  /// The first position of a revision.
  ///
  /// It decides where a history belongs whose own beginning is unknown.
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

  /// The revision at `index` and those before it, the nearest first, at most `limit`.
  ///
  /// Takes time linear in their number.
  func history(of index: Int, limit: Int = .max) -> [RevisionNode] {
    sequence(first: index) { parent(of: $0) }.prefix(limit).map { nodes[$0] }
  }

  /// The winning revision and those before it, the nearest first; nothing of an empty tree.
  ///
  /// Takes time linear in *n*.
  var winningHistory: [RevisionNode] { winner.map { history(of: $0) } ?? [] }
}

// MARK: - Leaves

extension RevisionTree {
  /// Whether the leaf at `a` is shown rather than the one at `b`: live before deleted, then the
  /// higher generation, then the higher digest.
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

  /// The position of the leaf that stands for the document; nil if there are no revisions.
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

// MARK: - What a peer asks

extension RevisionTree {
  /// Those of `revisions` that are not known here, in their order.
  ///
  /// Takes time linear in *n* plus their number.
  func missing(of revisions: [RevisionID]) -> [RevisionID] {
    guard revisions.count > 4, !isChain else { return revisions.filter { !contains($0) } }
    let known = Set(nodes.lazy.map(\.revision))
    return revisions.filter { !known.contains($0) }
  }

  /// Revisions known here that may be ancestors of one that is not: on each branch the highest of a
  /// lower generation; the highest first.
  ///
  /// Takes time linear in *n*, and *m* log *m* for a result of *m*.
  func possibleAncestors(of revision: RevisionID) -> [RevisionID] {
    var found: [RevisionID] = []
    for index in nodes.indices where nodes[index].revision.generation < revision.generation {
      // Of the nodes below the generation in question, those at the end of their branch.
      if nodes[index].revision.generation + 1 == revision.generation || isLeaf(index) {
        found.append(nodes[index].revision)
      }
    }
    found.sort(by: >)
    // The same ID on different ancestors is one answer.
    return found.indices.filter { $0 == 0 || found[$0] != found[$0 - 1] }.map { found[$0] }
  }
}

extension RevisionTree {
  /// A revision of which two histories tell different parents.
  struct Contradiction: Equatable {
    let revision: RevisionID
    let knownParent: RevisionID
    let otherParent: RevisionID
  }

  /// Where a path names another parent for a revision than the one that is known here; nil if nowhere.
  ///
  /// Of a revision that stands on several parents, one must be the path's. Takes time linear in *n*,
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

// MARK: - Bodies

extension RevisionTree {
  /// Says which record holds the body of a revision: 0 if it is held no more.
  mutating func setSequence(_ sequence: UInt64, at index: Int) {
    nodes[index].sequence = sequence
  }

  /// Notes what became known of a revision of which only the ID was: what its record says.
  mutating func setBody(isDeleted: Bool, isForeignEdit: Bool, sequence: UInt64, at index: Int) {
    nodes[index].isDeleted = isDeleted
    nodes[index].isForeignEdit = isForeignEdit
    nodes[index].sequence = sequence
  }

  /// The sequence numbers of all records that hold a body, in the order of the nodes.
  var heldSequences: [UInt64] { nodes.lazy.map(\.sequence).filter { $0 != 0 } }
}
