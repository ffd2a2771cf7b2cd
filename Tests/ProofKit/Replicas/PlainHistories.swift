package import Divan

/// The revisions of one document that a store knows, kept in the plainest way: which revision each one
/// was made from.
///
/// It is given the same histories as the store and takes nothing over from it, so it can find that the
/// store is wrong. It holds worlds in which each revision has one parent.
///
/// The rules are CouchDB's: a history is joined to the first tree that it meets; then what is far from
/// every leaf is cut off; then trees that have a revision in common become one.
package struct PlainHistories: Equatable, Sendable {
  /// The revision that each one was made from, as far as both are known.
  private var parents: [RevisionID: RevisionID] = [:]
  /// All revisions whose IDs are known.
  package private(set) var known: Set<RevisionID> = []

  package init() {}

  /// The revisions from which no other one was made.
  package var leaves: Set<RevisionID> { known.subtracting(parents.values) }

  /// A revision and those before it, newest first, as far as they are known.
  package func history(of revision: RevisionID) -> [RevisionID] {
    Array(sequence(first: revision) { parents[$0] })
  }

  /// The known revision that one was made from.
  package func parent(of revision: RevisionID) -> RevisionID? { parents[revision] }

  /// Takes in a history, newest first, and cuts what is farther than `depth` from every leaf.
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

  /// Keeps what some leaf has among its nearest `depth` revisions.
  ///
  /// Where a digest occurs twice, the histories are cut apart from each other first, as in CouchDB.
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

  /// Forgets a leaf, and the revisions before it that no other leaf comes from.
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
