import Divan
import DivanLog

/// The positions at which the revisions of a document are drawn.
///
/// Generations are columns, and each leaf is a lane, the winner's first. Where nothing happens for
/// several generations, one column stands for all of them. So a long history stays small.
struct RevisionPicture {
  /// A revision that is drawn.
  struct Node: Equatable {
    let revision: String
    let generation: UInt64
    let column: Int
    let lane: Int
    /// The position of the nearest ancestor that is drawn; nil if there is none.
    let parent: Int?
    /// The number of revisions between the two that are not drawn.
    let skippedCount: Int
    let state: State
    /// Whether the content is still in the log.
    let isRetained: Bool
  }

  enum State: Equatable {
    case winner, deletedWinner, branch, deletedBranch, ancestor, deletedAncestor
  }

  let id: String
  private(set) var nodes: [Node] = []
  /// The number of columns, lanes, known revisions and leaves.
  private(set) var columnCount = 0
  private(set) var laneCount = 0
  let revisionCount: Int
  let leafCount: Int
  /// The number of leaves that are not deleted.
  let branchCount: Int

  /// The most lanes and columns that are drawn.
  static let laneLimit = 24
  static let columnLimit = 40
}

extension RevisionPicture {
  /// The number of leaves that are not drawn.
  var omittedLeafCount: Int { leafCount - laneCount }

  /// Lays out the revisions of a document, each of which comes after its parent.
  init(_ id: String, _ revisions: [InspectedRevision]) {
    self.id = id
    revisionCount = revisions.count
    let leaves = revisions.indices.filter { revisions[$0].isLeaf }.sorted {
      let (a, b) = (revisions[$0], revisions[$1])
      if a.isWinner != b.isWinner { return a.isWinner }
      if a.isDeleted != b.isDeleted { return b.isDeleted }
      return a.revision == b.revision ? $0 < $1 : a.revision > b.revision
    }
    leafCount = leaves.count
    branchCount = leaves.count { !revisions[$0].isDeleted }
    var lanes: [Int: Int] = [:]
    for leaf in leaves.prefix(RevisionPicture.laneLimit) {
      var next: Int? = leaf
      while let index = next, lanes[index] == nil {
        lanes[index] = laneCount
        next = revisions[index].parent
      }
      laneCount += 1
    }
    place(revisions, lanes)
  }

  private mutating func place(_ revisions: [InspectedRevision], _ lanes: [Int: Int]) {
    let columns = RevisionPicture.columns(revisions, lanes)
    columnCount = columns.count
    var positions: [Int: Int] = [:]
    for index in revisions.indices {
      let found = revisions[index]
      guard let lane = lanes[index], let column = columns[found.revision.generation] else {
        continue
      }
      var (parent, skippedCount) = (found.parent, 0)
      while let above = parent, positions[above] == nil {
        skippedCount += 1
        parent = revisions[above].parent
      }
      positions[index] = nodes.count
      nodes.append(
        Node(
          revision: "\(found.revision)", generation: found.revision.generation, column: column,
          lane: lane, parent: parent.flatMap { positions[$0] }, skippedCount: skippedCount,
          state: State(found), isRetained: found.locator != nil))
    }
  }

  /// Returns the columns of the generations that are drawn.
  private static func columns(
    _ revisions: [InspectedRevision], _ lanes: [Int: Int]
  ) -> [UInt64: Int] {
    var drawn: Set<UInt64> = []
    for index in lanes.keys {
      let found = revisions[index]
      let generation = found.revision.generation
      if found.isLeaf || found.parent == nil { drawn.insert(generation) }
      if found.isLeaf, generation > 1 { drawn.insert(generation - 1) }
      if found.locator != nil { drawn.insert(generation) }
      if let parent = found.parent, lanes[parent] != lanes[index] {
        drawn.formUnion([generation, generation - 1])
      }
    }
    // The newest ones count most.
    let newest = drawn.sorted().suffix(columnLimit)
    return Dictionary(uniqueKeysWithValues: newest.enumerated().map { ($0.element, $0.offset) })
  }
}

extension RevisionPicture.State {
  fileprivate init(_ revision: InspectedRevision) {
    self =
      switch (revision.isLeaf, revision.isWinner, revision.isDeleted) {
      case (true, true, false): .winner
      case (true, true, true): .deletedWinner
      case (true, false, false): .branch
      case (true, false, true): .deletedBranch
      case (false, _, false): .ancestor
      case (false, _, true): .deletedAncestor
      }
  }
}
