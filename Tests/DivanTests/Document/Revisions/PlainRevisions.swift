@testable import Divan

/// A plain implementation of a document's revisions as whole histories.
///
/// `RevisionTree` is compared with it.
struct PlainRevisions {
  /// All histories with a common beginning, each from that beginning to a leaf.
  struct Tree {
    var start: UInt64
    var histories: [[String]]
  }

  var trees: [Tree] = []

  /// Inserts a history into the first tree that it meets.
  ///
  /// Then cuts all histories to a depth, and joins trees where one contains the beginning of
  /// another.
  mutating func insert(_ form: RevisionPathForm, depth: Int) -> RevisionTree.Insertion.Kind {
    let history = Array(form.ids.reversed())
    let start = form.start + 1 - UInt64(history.count)
    let kind = insert(history, start: start)
    trees = cut(to: depth)
    return kind
  }

  /// Inserts a history, the oldest revision first.
  private mutating func insert(
    _ history: [String], start: UInt64
  ) -> RevisionTree.Insertion.Kind {
    trees.sort { ($0.start, $0.histories[0][0]) < ($1.start, $1.histories[0][0]) }
    for index in trees.indices {
      let tree = trees[index]
      if tree.start <= start {
        // The paths to the history's first revision in the tree; the first one in order is
        // used.
        let steps = Int(start - tree.start)
        let prefixes = tree.histories.filter { $0.count > steps && $0[steps] == history[0] }
          .map { Array($0[..<steps]) }.sorted { $0.lexicographicallyPrecedes($1) }
        if let prefix = prefixes.first { return trees[index].add(prefix + history) }
      } else {
        let steps = Int(tree.start - start)
        if history.count > steps, history[steps] == tree.histories[0][0] {
          trees[index].histories = tree.histories.map { history[..<steps] + $0 }
          trees[index].start = start
          return trees[index].add(history)
        }
      }
    }
    let isFirst = trees.isEmpty
    trees.append(Tree(start: start, histories: [history]))
    return isFirst ? .newLeaf : .newBranch
  }

  private func cut(to depth: Int) -> [Tree] {
    var digests: Set<String> = []
    var hasDigestTwice = false
    for tree in trees {
      for node in tree.nodes where !digests.insert(node[node.count - 1]).inserted {
        hasDigestTwice = true
      }
    }
    guard hasDigestTwice else { return trees.flatMap { $0.pruned(to: depth) } }
    var cut: [(start: UInt64, history: [String])] = []
    for tree in trees {
      for history in tree.histories {
        let dropped = max(0, history.count - depth)
        cut.append((tree.start + UInt64(dropped), Array(history[dropped...])))
      }
    }
    var joined = PlainRevisions()
    for each in cut.sorted(by: { $0.start < $1.start }) {
      _ = joined.insert(each.history, start: each.start)
    }
    return joined.trees
  }

  /// All leaves with their histories, newest first, and none marked as deleted.
  var forms: Set<RevisionPathForm> {
    Set(
      trees.flatMap { tree in
        tree.histories.map {
          RevisionPathForm(start: tree.start + UInt64($0.count) - 1, ids: $0.reversed())
        }
      })
  }
}

extension PlainRevisions.Tree {
  /// Every node, as the history that leads to it.
  var nodes: Set<[String]> {
    Set(histories.flatMap { history in history.indices.map { Array(history[...$0]) } })
  }

  fileprivate mutating func add(_ history: [String]) -> RevisionTree.Insertion.Kind {
    if histories.contains(where: { $0.starts(with: history) }) { return .internalNode }
    let leaf = histories.firstIndex { history.starts(with: $0) }
    if let leaf { histories.remove(at: leaf) }
    histories.append(history)
    return leaf == nil ? .newBranch : .newLeaf
  }

  /// Returns the trees without the nodes that are not among the nearest ancestors of any leaf.
  fileprivate func pruned(to depth: Int) -> [PlainRevisions.Tree] {
    let kept = nodes.filter { node in
      histories.contains { $0.starts(with: node) && $0.count - node.count < depth }
    }
    let roots = kept.filter { $0.count == 1 || !kept.contains($0.dropLast()) }
    return roots.map { root in
      let histories = self.histories.filter { history in
        history.starts(with: root)
          && (root.count...history.count).allSatisfy { kept.contains(Array(history[..<$0])) }
      }
      return PlainRevisions.Tree(
        start: start + UInt64(root.count) - 1,
        histories: histories.map { Array($0[(root.count - 1)...]) })
    }
  }
}
