import Testing

@testable import Divan

/// Tests of replicas that edit one document and exchange revisions.
struct DocumentRevisionAlgebraTests {
  /// A revision with its whole history, newest first, and whether it is a deletion.
  private struct Edit: Hashable {
    var history: [RevisionID]
    var isDeleted: Bool

    /// Returns the newest revision and those before it, at most `count` in all.
    func path(of count: Int = .max) throws -> RevisionTree.Path {
      try RevisionTree.Path(Array(history.prefix(count)))
    }
  }

  /// A replica: its tree, and the revisions that it received, as a plain set.
  private struct Replica {
    var tree = RevisionTree()
    var known: Set<Edit> = []

    mutating func receive(_ edit: Edit) throws {
      tree.insert(try edit.path(), isDeleted: edit.isDeleted)
      known.insert(edit)
    }

    var leaves: [Edit] {
      let parents = Set(known.flatMap { $0.history.dropFirst() })
      return known.filter { !parents.contains($0.history[0]) }
        .sorted {
          ($0.isDeleted ? 0 : 1, $0.history[0]) > ($1.isDeleted ? 0 : 1, $1.history[0])
        }
    }

    func check() {
      #expect(tree.problem == nil)
      #expect(tree.leaves.map { tree.nodes[$0].revision } == leaves.map { $0.history[0] })
      #expect(tree.leaves.map { tree.nodes[$0].isDeleted } == leaves.map(\.isDeleted))
      for (index, leaf) in zip(tree.leaves, leaves) {
        #expect(tree.history(of: index).map(\.revision) == leaf.history)
      }
    }
  }

  private struct Cluster {
    var random: SeededRandom
    var replicas: [Replica]

    /// Returns a new edit of `parent`, or a first revision.
    mutating func edit(_ parent: Edit?, isDeleted: Bool = false) -> Edit {
      let digest: RevisionID.Digest =
        Bool.random(using: &random)
        ? .own(random.next(), random.next()) : .foreign(String(random.next(), radix: 36))
      let revision = RevisionID(
        generation: (parent?.history[0].generation ?? 0) + 1, digest: digest)
      return Edit(history: [revision] + (parent?.history ?? []), isDeleted: isDeleted)
    }

    mutating func step() throws {
      let index = Int.random(in: replicas.indices, using: &random)
      let leaves = replicas[index].leaves
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try replicas[index].receive(edit(nil))
      case 1...4: try replicas[index].receive(edit(leaves.randomElement(using: &random)))
      case 5: try replicas[index].receive(edit(leaves.first, isDeleted: true))
      case 6:
        // A conflict: an edit of a revision that has edits.
        let parent = replicas[index].known.sorted { $0.history[0] < $1.history[0] }
          .randomElement(using: &random)
        try replicas[index].receive(edit(parent, isDeleted: .random(using: &random)))
      case 7:
        // A resolution: one leaf continues, and the others are deleted.
        for (offset, leaf) in leaves.enumerated() where !leaf.isDeleted || offset == 0 {
          try replicas[index].receive(edit(leaf, isDeleted: offset > 0))
        }
      default:
        // Another replica receives some revisions, with whole histories, in any order.
        let other = Int.random(in: replicas.indices, using: &random)
        let sent = replicas[index].known.sorted { $0.history[0] < $1.history[0] }
          .shuffled(using: &random)
        for edit in sent.prefix(Int.random(in: 0...4, using: &random)) {
          // A revision comes with all its ancestors.
          let before = replicas[index].known.filter { edit.history.contains($0.history[0]) }
          try replicas[other].receive(edit)
          replicas[other].known.formUnion(before)
        }
      }
    }
  }

  @Test func `replicas with the same revisions have equal trees in any order of delivery`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<30 {
      var cluster = Cluster(
        random: SeededRandom(seed: random.next()),
        replicas: Array(repeating: Replica(), count: Int.random(in: 2...4, using: &random)))
      for _ in 0..<Int.random(in: 5...60, using: &random) { try cluster.step() }
      for replica in cluster.replicas { replica.check() }

      let everything = Set(cluster.replicas.flatMap(\.known)).sorted {
        $0.history[0] < $1.history[0]
      }
      var trees: [RevisionTree] = []
      for index in cluster.replicas.indices {
        let leaves = cluster.replicas.flatMap(\.leaves).shuffled(using: &random)
        for leaf in leaves {
          try cluster.replicas[index].receive(leaf)
        }
        cluster.replicas[index].known = Set(everything)
        cluster.replicas[index].check()
        trees.append(cluster.replicas[index].tree)
      }
      // A new replica may receive everything in any order, some revisions twice, and some without
      // their whole histories.
      for _ in 0..<3 {
        var tree = RevisionTree()
        for edit in everything.shuffled(using: &random) {
          tree.insert(
            try edit.path(of: Int.random(in: 1...4, using: &random)), isDeleted: edit.isDeleted)
        }
        #expect(tree.problem == nil)
        for edit in everything.shuffled(using: &random) {
          tree.insert(try edit.path(), isDeleted: edit.isDeleted)
        }
        trees.append(tree)
      }
      for tree in trees {
        #expect(tree.forms == trees[0].forms)
        #expect(tree.leafTexts == trees[0].leafTexts)
        #expect(
          tree.winner.map { tree.nodes[$0].revision }
            == trees[0].winner.map { trees[0].nodes[$0].revision })
        var again = tree
        let insertions = try everything.shuffled(using: &random).map {
          again.insert(try $0.path(), isDeleted: $0.isDeleted, sequence: 9)
        }
        #expect(insertions.allSatisfy { $0.kind == .internalNode && !$0.hasChangedTree })
        #expect(again == tree)
        #expect(try tree.copyByCoding() == tree)
      }
    }
  }

  @Test(arguments: [2, 4, 40])
  func `random histories merge as in the reference tree at every depth limit`(digests: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<80 {
      let depth = [1, 2, 3, 5, Int.max].randomElement(using: &random) ?? 1
      var tree = RevisionTree()
      var plain = PlainRevisions()
      var story = "depth \(depth):"
      for sequence in 1...12 as ClosedRange<UInt64> {
        // Few digests, so that the same ones occur in many places.
        let start = UInt64.random(in: 1...7, using: &random)
        let count = Int.random(in: 1...Int(start), using: &random)
        let form = RevisionPathForm(
          start: start,
          ids: (0..<count).map { _ in "d\(Int.random(in: 0..<digests, using: &random))" })
        story += " \(form.start)-\(form.ids.joined(separator: ","))"
        let before = tree
        let insertion = try tree.insert(form, sequence: sequence, depth: depth)
        let kind = plain.insert(form, depth: depth)
        let held = Set(tree.storedSequences)
        let isRight =
          try tree.forms == plain.forms && insertion.kind == kind && tree.problem == nil
          && insertion.hasChangedTree == (tree != before)
          && insertion.isNewRevision == held.contains(sequence)
          && insertion.released == before.storedSequences.filter { !held.contains($0) }
          && tree.copyByCoding() == tree
        try #require(isRight, "\(story): \(insertion), \(tree.forms), \(plain.forms)")
      }
      try checkRemovals(of: tree, &random, story)
    }
  }

  /// The last history ends in a revision with successors, and everything new in it is cut off.
  ///
  /// Regression: it was reported as a change, because its payload was still present when that was
  /// decided.
  @Test func `inserting a history whose new revisions are all pruned reports no change`() throws {
    var tree = RevisionTree()
    let histories: [(start: UInt64, ids: [String])] = [
      (1, ["d0"]), (2, ["d1", "d1"]), (4, ["d1"]), (2, ["d1"]), (4, ["d0", "d1", "d0", "d0"]),
      (2, ["d1", "d0"]), (3, ["d1", "d1", "d0"]), (3, ["d0", "d1"]),
      (5, ["d1", "d0", "d1", "d1", "d1"]), (4, ["d0", "d1", "d1", "d1"]),
    ]
    for (index, history) in histories.enumerated() {
      let before = tree
      let form = RevisionPathForm(start: history.start, ids: history.ids)
      let insertion = try tree.insert(form, sequence: UInt64(index + 1), depth: 3)
      #expect(insertion.hasChangedTree == (tree != before), "\(history)")
    }
  }

  /// Removes leaf after leaf, and compares with a tree that lacks the leaf's history.
  private func checkRemovals(
    of tree: RevisionTree, _ random: inout SeededRandom, _ story: String
  ) throws {
    var tree = tree
    while let leaf = tree.leaves.randomElement(using: &random) {
      let before = tree
      let histories = before.leaves.filter { $0 != leaf }.map { before.history(of: $0) }
      let kept = Set(histories.flatMap { $0.map(\.sequence) })
      let released = tree.removeLeaf(at: leaf)
      let isRight =
        tree.problem == nil
        && tree.leaves.map { tree.history(of: $0).map(\.revision) }
          == histories.map { $0.map(\.revision) }
        && Set(released) == Set(before.storedSequences).subtracting(kept)
      try #require(isRight, "\(story): \(before.leafTexts[0])")
    }
    #expect(tree.isEmpty)
  }
}
