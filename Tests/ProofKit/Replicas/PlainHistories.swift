package import Divan

/// A plain model of the revisions of one document that a store knows: the parent of each.
///
/// It receives the same histories as the store and copies nothing from it, so it can detect that
/// the store is wrong. It supports worlds in which each revision has one parent.
///
/// The rules are CouchDB's: a history is joined to the first tree that it meets; then revisions far
/// from every leaf are cut off; then trees that have a revision in common become one.
package struct PlainHistories: Equatable, Sendable {
  /// The parent of each revision, if both are known.
  private var parents: [RevisionID: RevisionID] = [:]
  /// All revisions whose IDs are known.
  package private(set) var known: Set<RevisionID> = []

  package init() {}

  /// The revisions without successors.
  package var leaves: Set<RevisionID> { known.subtracting(parents.values) }

  /// Returns a revision and its known ancestors, newest first.
  package func history(of revision: RevisionID) -> [RevisionID] {
    Array(sequence(first: revision) { parents[$0] })
  }

  /// Returns the known parent of a revision.
  package func parent(of revision: RevisionID) -> RevisionID? { parents[revision] }

  /// Inserts a history, newest first, and cuts revisions farther than `depth` from every leaf.
  package mutating func insert(_ path: [RevisionID], depth: Int) {
    var trees = Dictionary(grouping: leaves.map(history), by: { $0[$0.count - 1] })
      .sorted { $0.key < $1.key }.map(\.value)
    var met = PlainHistories()
    if let index = trees.firstIndex(where: { Self.meet($0, path) }) {
      for history in trees.remove(at: index) { met.join(history) }
    }
    met.join(path)
    trees.append(met.leaves.map(met.history))
    cut(trees, depth: depth)
  }

  /// Keeps the nearest `depth` revisions of each leaf.
  ///
  /// If a digest occurs twice, the histories are cut apart from each other first, as in CouchDB.
  private mutating func cut(_ trees: [[[RevisionID]]], depth: Int) {
    self = PlainHistories()
    let nodes = trees.flatMap { Set($0.joined()) }
    let digests = Set(nodes.map { $0.description.split(separator: "-", maxSplits: 1)[1] })
    let hasDigestTwice = digests.count < nodes.count
    for history in trees.joined() { join(history.prefix(depth)) }
    guard !hasDigestTwice else { return }
    for history in trees.joined() {
      for (child, parent) in zip(history, history.dropFirst())
      where known.contains(child) && known.contains(parent) {
        parents[child] = parent
      }
    }
  }

  /// Removes a leaf, and those of its ancestors that no other leaf has.
  package mutating func remove(leaf: RevisionID) {
    let others = leaves.subtracting([leaf]).map(history)
    self = PlainHistories()
    for history in others { join(history) }
  }

  private static func meet(_ tree: [[RevisionID]], _ path: [RevisionID]) -> Bool {
    let (root, start) = (tree[0][tree[0].count - 1], path[path.count - 1])
    return root.generation <= start.generation
      ? tree.contains { $0.contains(start) } : path.contains(root)
  }

  private mutating func join(_ history: some Sequence<RevisionID>) {
    var child: RevisionID?
    for revision in history {
      known.insert(revision)
      if let child { parents[child] = revision }
      child = revision
    }
  }
}
