extension RevisionTree {
  /// A revision and its known ancestors, without a gap.
  struct Path: Sendable {
    let revision: RevisionID
    /// The digests of its ancestors, nearest first.
    private(set) var ancestors: [RevisionID.Digest]
  }

  /// The result of an insertion.
  struct Insertion: Equatable, Sendable {
    /// The way in which the path met the tree, in CouchDB's terms.
    enum Kind: Sendable {
      /// The path continues a former leaf, or is the first one.
      case newLeaf
      /// The path begins a tree, or branches off at a node that has children.
      case newBranch
      /// The path ends within the tree.
      case internalNode
    }

    var kind: Kind
    /// Whether the revision is a leaf that the tree did not have; its record must be written.
    ///
    /// The revision may have been known before even if the kind is not ``Kind/internalNode``: if a
    /// longer history connects a tree with its beginning. Then no node has the given sequence
    /// number, whether the revision is a leaf or has successors.
    var isNewRevision: Bool
    /// Whether the tree has changed.
    ///
    /// For example, a known revision may have more ancestors.
    var hasChangedTree: Bool
    /// The sequence numbers of the records that are no longer needed.
    var released: [UInt64] = []

    fileprivate static let nothing = Insertion(
      kind: .internalNode, isNewRevision: false, hasChangedTree: false)
  }
}

extension RevisionTree.Path {
  /// Creates a path from a revision and the digests of its ancestors, nearest first.
  ///
  /// - Throws: ``DatabaseError/Code/invalidRevisionID`` if there are more than the generation
  ///   allows.
  init(
    _ revision: RevisionID, ancestors: [RevisionID.Digest] = []
  ) throws(DatabaseError) {
    guard UInt64(ancestors.count) < revision.generation else {
      throw DatabaseError(
        .invalidRevisionID,
        "Revision \(revision) cannot have \(ancestors.count) revisions before it")
    }
    self.revision = revision
    self.ancestors = ancestors
  }

  /// Creates a path from revisions, newest first.
  ///
  /// - Throws: ``DatabaseError/Code/invalidRevisionID`` if there are none, or their generations do
  ///   not count down by one.
  init(_ revisions: [RevisionID]) throws(DatabaseError) {
    guard let newest = revisions.first else {
      throw DatabaseError(.invalidRevisionID, "The history is empty")
    }
    for (later, earlier) in zip(revisions, revisions.dropFirst())
    where later.generation != earlier.generation + 1 {
      throw DatabaseError(
        .invalidRevisionID, "\(earlier) cannot be the revision before \(later)",
        hint:
          "A history names every revision from the newest on, and generations count down by one.")
    }
    try self.init(newest, ancestors: revisions.dropFirst().map(\.digest))
  }

  /// Returns the revision of a generation; nil if the path has none.
  subscript(_ generation: UInt64) -> RevisionID? {
    guard generation >= firstGeneration, generation <= revision.generation else { return nil }
    if generation == revision.generation { return revision }
    let steps = Int(revision.generation - generation)
    return RevisionID(generation: generation, digest: ancestors[steps - 1])
  }

  /// Returns the path starting at one of its revisions.
  func from(_ oldest: RevisionID) -> Self {
    var path = self
    path.ancestors = Array(ancestors.prefix(Int(clamping: revision.generation - oldest.generation)))
    return path
  }

  /// The generation of the oldest revision.
  var firstGeneration: UInt64 { revision.generation - UInt64(ancestors.count) }

  /// Returns the nodes of the path, oldest first.
  fileprivate func nodes(newest: RevisionNode) -> [RevisionNode] {
    var nodes: [RevisionNode] = []
    nodes.reserveCapacity(ancestors.count + 1)
    var generation = firstGeneration
    for digest in ancestors.reversed() {
      nodes.append(RevisionNode(revision: RevisionID(generation: generation, digest: digest)))
      generation += 1
    }
    nodes.append(newest)
    return nodes
  }
}

// MARK: - Inserting

extension RevisionTree {
  /// Creates a tree that is a single path.
  init(_ path: Path, isDeleted: Bool = false, isForeignEdit: Bool = false, sequence: UInt64 = 0) {
    self.init()
    insert(path, isDeleted: isDeleted, isForeignEdit: isForeignEdit, sequence: sequence)
  }

  /// Inserts a revision with its history, and prunes the tree to a depth.
  ///
  /// The sequence number is that of the revision's record, or 0.
  ///
  /// Existing nodes keep their flags and records; inserting a revision again has no effect except
  /// for pruning. Unknown ancestors become nodes without a record. Trees whose roots are on the
  /// path are joined to it. As in CouchDB, they are pruned before that, so the whole may be deeper
  /// until the next insertion.
  ///
  /// Takes time linear in *n* plus the length of the path; constant time, apart from pruning, for
  /// the child of a straight line's leaf; and *n* log *n* where trees are joined or split. If both
  /// happen at once, it takes time linear in *n* for each leaf.
  @discardableResult
  mutating func insert(
    _ path: Path, isDeleted: Bool = false, isForeignEdit: Bool = false, sequence: UInt64 = 0,
    depth: Int = .max
  ) -> Insertion {
    let newest = RevisionNode(
      revision: path.revision, isDeleted: isDeleted, isForeignEdit: isForeignEdit,
      sequence: sequence)
    let nodes = path.nodes(newest: newest)
    // A path whose own beginning is unknown belongs to the first node that has its first revision.
    if let start = firstIndex(of: nodes[0].revision) {
      return insert(nodes[1...], below: start, depth: depth)
    }
    return insert(nodes[...], below: nil, depth: depth)
  }

  /// Inserts a revision whose parent is at `parent`, with a generation one higher.
  ///
  /// The effect and the cost are the same as of
  /// ``insert(_:isDeleted:isForeignEdit:sequence:depth:)``.
  @discardableResult
  mutating func insert(
    _ revision: RevisionID, childOf parent: Int, isDeleted: Bool = false,
    isForeignEdit: Bool = false, sequence: UInt64 = 0, depth: Int = .max
  ) -> Insertion {
    precondition(
      nodes[parent].revision.generation + 1 == revision.generation,
      "A child's generation follows its parent's")
    let child = RevisionNode(
      revision: revision, isDeleted: isDeleted, isForeignEdit: isForeignEdit, sequence: sequence)
    return insert([child], below: parent, depth: depth)
  }

  /// Inserts a path of nodes, oldest first, below the node at `start` or as a tree of its own.
  private mutating func insert(
    _ path: ArraySlice<RevisionNode>, below start: Int?, depth: Int
  ) -> Insertion {
    defer { checkAfterMutation() }
    let (met, rest) = follow(path, from: start)
    if height(with: path) <= depth {
      return rest.isEmpty ? .nothing : attach(rest, below: met, joinsAllTrees: true)
    }
    if isChain, isEmpty || met == nodes.count - 1 {
      var insertion = rest.isEmpty ? .nothing : attach(rest, below: met, joinsAllTrees: true)
      let countBefore = nodes.count
      insertion.released = prune(toDepth: depth)
      if nodes.count < countBefore { insertion.hasChangedTree = true }
      return insertion
    }
    // The order is CouchDB's: the path is joined to the first tree that it meets, every leaf's
    // history is cut, and only then are overlapping trees joined.
    let joins = rootCount > (met == nil ? 0 : 1) ? countRoots(on: rest) : 0
    let before = self
    var insertion = rest.isEmpty ? .nothing : attach(rest, below: met, joinsAllTrees: false)
    if cut(toDepth: depth, joins: joins > (met == nil ? 1 : 0)) {
      if insertion.isNewRevision, let newest = path.last, newest.sequence != 0 {
        insertion.isNewRevision = keepsRecord(of: newest)
      }
      // Not earlier: a record that came with an inner revision has been dropped again by now.
      insertion.hasChangedTree = self != before
      insertion.released = sequencesReleased(since: before)
    }
    return insertion
  }

  /// Whether a node that was added is a leaf with its own record after trees were joined.
  ///
  /// The node may have been joined with an existing one. If that one is a leaf, its older record is
  /// kept. If it has successors, only its ID matters, so the record that came with the node is
  /// dropped: otherwise an inner revision would be stored as if it were a leaf.
  private mutating func keepsRecord(of added: RevisionNode) -> Bool {
    let position = nodes.firstIndex {
      $0.revision == added.revision && $0.sequence == added.sequence
    }
    guard let position else { return false }
    if isLeaf(position) { return true }
    setRecord(isDeleted: false, isForeignEdit: false, sequence: 0, at: position)
    return false
  }

  /// Returns the number of generations in the tree including the path, from oldest to newest.
  private func height(with path: ArraySlice<RevisionNode>) -> Int {
    // Roots ascend by generation.
    let lowest = min(
      nodes.first?.revision.generation ?? .max, path.first?.revision.generation ?? .max)
    var highest = path.last?.revision.generation ?? 0
    if isChain {
      highest = max(highest, nodes.last?.revision.generation ?? 0)
    } else {
      for node in nodes { highest = max(highest, node.revision.generation) }
    }
    return highest < lowest ? 0 : Int(clamping: highest - lowest + 1)
  }

  /// Follows a path along existing nodes.
  ///
  /// Returns the last node that it met, and the rest of the path.
  private func follow(
    _ path: ArraySlice<RevisionNode>, from start: Int?
  ) -> (met: Int?, rest: ArraySlice<RevisionNode>) {
    var met = start
    var rest = path
    while let index = met, let next = rest.first, let child = child(of: index, next.revision) {
      met = child
      rest.removeFirst()
    }
    return (met, rest)
  }

  /// Inserts a whole path of nodes, oldest first, and returns the position of its last node.
  ///
  /// All other trees must begin at the same generation or a lower one.
  mutating func insertPath(_ path: [RevisionNode]) -> Int {
    let start = firstIndex(of: path[0].revision)
    let (met, rest) = follow(start == nil ? path[...] : path[1...], from: start)
    return rest.isEmpty ? met ?? 0 : append(rest, below: met)
  }

  /// Adds the rest of a path, whose first node is not a child of the one at `start`.
  private mutating func attach(
    _ rest: ArraySlice<RevisionNode>, below start: Int?, joinsAllTrees: Bool
  ) -> Insertion {
    if rootCount > (start == nil ? 0 : 1), start == nil || joinsAllTrees,
      let insertion = attachJoining(rest, below: start, joinsAllTrees: joinsAllTrees)
    {
      return insertion
    }
    let kind: Insertion.Kind = (start.map(isLeaf) ?? isEmpty) ? .newLeaf : .newBranch
    _ = append(rest, below: start)
    return Insertion(kind: kind, isNewRevision: true, hasChangedTree: true)
  }

  /// Returns the child of a node that has a revision.
  ///
  /// Visits each node below at most once while a path is followed, so following it takes time
  /// linear in *n* plus its length.
  private func child(of index: Int, _ revision: RevisionID) -> Int? {
    var child = index + 1
    while child < nodes.count, nodes[child].parentIndex == Int32(index) {
      if nodes[child].revision == revision { return child }
      if nodes[child].revision > revision { return nil }
      child = subtreeEnd(child)
    }
    return nil
  }

  /// Adds nodes, each the child of the previous one, and returns the position of the last.
  ///
  /// They become a new branch of the node at `parent` or a tree of their own.
  private mutating func append(_ branch: ArraySlice<RevisionNode>, below parent: Int?) -> Int {
    guard let first = branch.first?.revision else { return parent ?? 0 }
    var position = parent.map { $0 + 1 } ?? 0
    let parentIndex = parent.map { Int32($0) } ?? RevisionTree.noParent
    while position < nodes.count, nodes[position].parentIndex == parentIndex,
      nodes[position].revision < first
    {
      position = subtreeEnd(position)
    }
    let wasLeaf = parent.map(isLeaf) ?? false
    nodes.insert(contentsOf: branch, at: position)
    nodes[position].parentIndex = parentIndex
    let end = position + branch.count
    for index in position + 1..<end { nodes[index].parentIndex = Int32(index - 1) }
    for index in end..<nodes.count where nodes[index].parentIndex >= Int32(position) {
      nodes[index].parentIndex += Int32(branch.count)
    }
    if !wasLeaf { leafCount += 1 }
    if parent == nil { rootCount += 1 }
    return end - 1
  }
}

// MARK: - Joining trees

extension RevisionTree {
  /// Does the same as `attach` if roots of other trees are on the path; otherwise returns nil.
  private mutating func attachJoining(
    _ path: ArraySlice<RevisionNode>, below start: Int?, joinsAllTrees: Bool
  ) -> Insertion? {
    var roots = rootsByRevision[...]
    // Both ascend by generation. A root of a lower generation than the path's first cannot be on
    // it.
    func root(_ revision: RevisionID) -> Int? {
      while let root = roots.first, nodes[root].revision < revision { roots.removeFirst() }
      return roots.first.flatMap { nodes[$0].revision == revision ? $0 : nil }
    }
    let oldCount = nodes.count
    var added: [RevisionNode] = []
    var joints: [(root: Int, parent: Int)] = []
    var kind: Insertion.Kind?
    var at = start
    var hasMet = start != nil
    for node in path {
      if let index = at, index < oldCount, let child = child(of: index, node.revision) {
        at = child
        continue
      }
      // The kind that CouchDB reports describes how the path left the tree that it met first.
      if let index = at, hasMet, kind == nil { kind = isLeaf(index) ? .newLeaf : .newBranch }
      if joinsAllTrees || !hasMet, let root = root(node.revision) {
        if let at { joints.append((root, at)) }
        at = root
        hasMet = true
      } else {
        var node = node
        node.parentIndex = at.map { Int32($0) } ?? RevisionTree.noParent
        added.append(node)
        at = oldCount + added.count - 1
      }
    }
    guard !joints.isEmpty, let last = at else { return nil }
    nodes += added
    for joint in joints { nodes[joint.root].parentIndex = Int32(joint.parent) }
    sortNodes()
    return Insertion(
      kind: kind ?? .internalNode, isNewRevision: last >= oldCount, hasChangedTree: true)
  }

  /// The positions of the roots, ascending by revision.
  private var rootsByRevision: [Int] {
    nodes.indices.filter { nodes[$0].parentIndex == RevisionTree.noParent }
  }

  /// Returns the number of roots whose revision is on the path.
  private func countRoots(on path: ArraySlice<RevisionNode>) -> Int {
    var path = path
    return rootsByRevision.count { root in
      while let node = path.first, node.revision.generation < nodes[root].revision.generation {
        path.removeFirst()
      }
      return path.first?.revision == nodes[root].revision
    }
  }

  /// Sorts nodes whose parents are correct, in time *n* log *n*.
  mutating func sortNodes() {
    let none = RevisionTree.noParent
    // Lists of children, built from the end, so that each ascends.
    var firstChild = [Int32](repeating: none, count: nodes.count)
    var nextSibling = firstChild
    var firstRoot = none
    let descending = nodes.indices.sorted { nodes[$0].revision > nodes[$1].revision }
    for index in descending {
      let parent = nodes[index].parentIndex
      if parent == none {
        nextSibling[index] = firstRoot
        firstRoot = Int32(index)
      } else {
        nextSibling[index] = firstChild[Int(parent)]
        firstChild[Int(parent)] = Int32(index)
      }
    }
    var positions = [Int32](repeating: none, count: nodes.count)
    var sorted: [RevisionNode] = []
    sorted.reserveCapacity(nodes.count)
    var next = firstRoot
    while next != none {
      let index = Int(next)
      positions[index] = Int32(sorted.count)
      sorted.append(nodes[index])
      // Down, or to the next sibling of the nearest node above that has one.
      var above = next
      next = firstChild[index]
      while next == none, above != none {
        next = nextSibling[Int(above)]
        above = nodes[Int(above)].parentIndex
      }
    }
    for index in sorted.indices where sorted[index].parentIndex != none {
      sorted[index].parentIndex = positions[Int(sorted[index].parentIndex)]
    }
    nodes = sorted
    recount()
  }

  /// Recounts leaves and roots.
  mutating func recount() {
    leafCount = nodes.indices.count(where: isLeaf)
    rootCount = nodes.count { $0.parentIndex == RevisionTree.noParent }
  }
}
