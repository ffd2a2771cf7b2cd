import DivanLog
import Foundation
import TestSupport
import Testing

@testable import Divan

extension RevisionPathForm {
  /// Parses `3-c,b,a!`: a generation, the digests newest first, and `!` for a deletion.
  init(_ text: String) throws {
    let isDeleted = text.hasSuffix("!")
    let parts = text.dropLast(isDeleted ? 1 : 0).split(separator: "-" as Character)
    self.init(
      start: try #require(UInt64(parts[0])),
      ids: parts[1].split(separator: "," as Character).map(String.init),
      deleted: isDeleted ? true : nil)
  }
}

extension RevisionTree {
  /// Creates a tree of histories, whose revisions have the sequence numbers 1, 2, … .
  init(_ texts: String...) throws { try self.init(texts) }

  init(_ texts: [String], depth: Int = .max) throws {
    self.init()
    for (sequence, text) in zip(UInt64(1)..., texts) {
      try insert(RevisionPathForm(text), sequence: sequence, depth: depth)
    }
  }

  /// The histories of all leaves, the winner's first.
  var texts: [String] {
    leaves.map { leaf in
      "\(nodes[leaf].revision.generation)-"
        + history(of: leaf).map(\.revision.digestText).joined(separator: ",")
        + (nodes[leaf].isDeleted ? "!" : "")
    }
  }

  /// Returns the index of a revision that must exist.
  func nodeIndex(_ text: String) throws -> Int {
    try #require(index(of: RevisionID(parsing: text)))
  }
}

private func revision(_ text: String) throws -> RevisionID { try RevisionID(parsing: text) }

struct DocumentRevisionTreeTests {
  private static func fixture<T: Decodable>(_ name: String) throws -> T {
    let directory = ProjectFolder.url.appending(path: "Tests/Fixtures/revisions")
    return try JSONDecoder().decode(
      T.self, from: Data(contentsOf: directory.appendingPathComponent(name)))
  }

  private struct Merges: Decodable {
    struct Case: Decodable {
      var story: String
      var depth: Int?
      var before: [String]
      var insert: [String]
      var after: [String]
      var kinds: [String]
    }
    var cases: [Case]
  }

  @Test func `histories merge as in the recorded cases`() throws {
    let merges: Merges = try Self.fixture("merges.json")
    #expect(merges.cases.count > 30)
    for each in merges.cases {
      let depth = each.depth ?? .max
      var tree = try RevisionTree(each.before)
      let kinds = try each.insert.map {
        "\(try tree.insert(RevisionPathForm($0), depth: depth).kind)"
      }
      // The next insertion cuts what this one joined.
      if let winner = tree.winner {
        try tree.insert(.init([tree.nodes[winner].revision]), depth: depth)
      }
      #expect(tree.texts == each.after, "\(each.story)")
      #expect(kinds == each.kinds, "\(each.story)")
      #expect(tree.problem == nil, "\(each.story)")
    }
  }

  private struct Winners: Decodable {
    struct Case: Decodable {
      var story: String
      var leaves: [String]
      var order: [String]
      var conflicts: [String]
    }
    var cases: [Case]
  }

  @Test func `the winner and the order of leaves do not depend on the insertion order`() throws {
    let winners: Winners = try Self.fixture("winners.json")
    #expect(winners.cases.count >= 10)
    for each in winners.cases {
      for texts in [each.leaves, each.leaves.reversed()] {
        let tree = try RevisionTree(texts)
        #expect(tree.leafTexts == each.order, "\(each.story)")
        #expect(tree.winner == tree.leaves.first, "\(each.story)")
        #expect(
          tree.conflictTexts == each.conflicts,
          "\(each.story)")
      }
    }
  }

  @Test func `an empty tree has no revisions, leaves or winner`() throws {
    var tree = RevisionTree()
    #expect(tree.isEmpty && tree.isChain && tree.isPlainChain && tree.winner == nil)
    #expect(tree.leaves == [] && tree.leafRevisions == [] && tree.storedSequences == [])
    #expect(try !tree.contains(revision("1-a")))
    #expect(try tree.possibleAncestors(of: revision("9-a")) == [])
    #expect(tree.prune(toDepth: 1) == [])
    #expect(tree.problem == nil)
  }

  @Test func `a chain is plain if only its leaf has a payload and no ancestor is deleted`() throws {
    var tree = try RevisionTree("3-c,b,a")
    #expect(tree.isChain && tree.isPlainChain)
    try tree.insert(RevisionPathForm("4-d,c"), sequence: 2)
    #expect(tree.isChain && !tree.isPlainChain)
    tree.setSequence(0, at: try tree.nodeIndex("3-c"))
    #expect(tree.isPlainChain)
    #expect(
      try tree.history(of: tree.nodeIndex("4-d")).map(\.revision) == [
        revision("4-d"), revision("3-c"), revision("2-b"), revision("1-a"),
      ])
    try tree.insert(RevisionPathForm("5-e,d!"), sequence: 3)
    try tree.insert(RevisionPathForm("6-f,e"), sequence: 4)
    tree.setSequence(0, at: try tree.nodeIndex("4-d"))
    tree.setSequence(0, at: try tree.nodeIndex("5-e"))
    #expect(tree.isChain && !tree.isPlainChain, "a digest does not say that a revision is deleted")
    try tree.insert(RevisionPathForm("2-x,a"))
    #expect(!tree.isChain && !tree.isPlainChain)
  }

  @Test func `inserting a known revision changes neither its flags nor its payload`() throws {
    var tree = try RevisionTree("2-b,a!", "3-c,b")
    let before = tree
    for text in ["2-b,a", "2-b", "3-c,b,a!", "3-c"] {
      let insertion = try tree.insert(RevisionPathForm(text), sequence: 9)
      #expect(!insertion.isNewRevision && !insertion.hasChangedTree)
    }
    #expect(tree == before)
    #expect(try tree.nodes[tree.nodeIndex("2-b")].isDeleted)
    #expect(tree.storedSequences == [1, 2])
  }

  @Test func `a leaf that receives a longer history is not new and keeps its payload`() throws {
    for depth in [Int.max, 4, 3] {
      var tree = try RevisionTree("1-a", "3-c!")
      let insertion = try tree.insert(RevisionPathForm("3-c,b,a"), sequence: 9, depth: depth)
      #expect(insertion == .init(kind: .newLeaf, isNewRevision: false, hasChangedTree: true))
      #expect(tree.texts == ["3-c,b,a!"])
      #expect(tree.storedSequences == [1, 2])
    }
    // Here the trees are cut and rebuilt.
    var tree = try RevisionTree("1-a", "5-e", "7-g,f!")
    let insertion = try tree.insert(
      RevisionPathForm("7-g,f,e,d,c,b,a"), sequence: 9, depth: 5)
    #expect(
      insertion == .init(kind: .newLeaf, isNewRevision: false, hasChangedTree: true, released: [1]))
    #expect(tree.texts == ["7-g,f,e,d,c!"])
    #expect(tree.storedSequences == [2, 3])
  }

  @Test func `looking up a revision with several occurrences prefers a leaf`() throws {
    let tree = try RevisionTree("2-x,a", "2-x,b", "3-y,x,a")
    let leaf = try tree.nodeIndex("2-x")
    #expect(tree.isLeaf(leaf))
    #expect(try tree.firstIndex(of: revision("2-x")) != leaf)
    #expect(try tree.contains(revision("2-x")) && !tree.contains(revision("2-z")))
    var other = tree
    let insertion = other.insert(try revision("3-z"), childOf: leaf, sequence: 7)
    #expect(insertion == .init(kind: .newLeaf, isNewRevision: true, hasChangedTree: true))
    #expect(other.texts == ["3-z,x,b", "3-y,x,a"])
  }

  @Test func `editing a revision with successors branches once, however often it is repeated`()
    throws
  {
    var tree = try RevisionTree("3-c,b,a")
    let parent = try tree.nodeIndex("2-b")
    #expect(tree.insert(try revision("3-d"), childOf: parent).kind == .newBranch)
    #expect(tree.insert(try revision("3-d"), childOf: parent).kind == .internalNode)
    #expect(tree.insert(try revision("3-c"), childOf: parent).kind == .internalNode)
    #expect(tree.texts == ["3-d,b,a", "3-c,b,a"])
  }

  @Test func `a tree lists missing revisions and their possible ancestors`() throws {
    let tree = try RevisionTree("4-d,c,b,a", "3-x,b,a", "2-z,a!", "6-q,p")
    let requested = try ["3-c", "9-z", "3-x", "1-b", "6-q", "4-e"].map(revision)
    #expect(try tree.missing(of: requested) == ["9-z", "1-b", "4-e"].map(revision))
    #expect(try tree.missing(of: Array(requested.prefix(2))) == ["9-z"].map(revision))
    func ancestors(_ text: String) throws -> [String] {
      try tree.possibleAncestors(of: revision(text)).map(\.description)
    }
    #expect(try ancestors("7-m") == ["6-q", "4-d", "3-x", "2-z"])
    #expect(try ancestors("6-m") == ["5-p", "4-d", "3-x", "2-z"])
    #expect(try ancestors("4-m") == ["3-x", "3-c", "2-z"])
    #expect(try ancestors("2-m") == ["1-a"])
    #expect(try ancestors("1-m") == [])
  }

  @Test func `pruning returns the sequence numbers whose payloads are released`() throws {
    var line = try RevisionTree("1-a", "2-b,a", "3-c,b", "4-d,c")
    #expect(line.prune(toDepth: 4) == [])
    #expect(line.prune(toDepth: 2) == [1, 2])
    #expect(line.texts == ["4-d,c"])
    let insertion = try line.insert(RevisionPathForm("5-e,d"), sequence: 5, depth: 2)
    #expect(insertion.released == [3])

    var tree = try RevisionTree("1-a", "2-b,a", "3-c,b", "4-d,c", "5-e,d", "3-x,b")
    #expect(tree.prune(toDepth: 2) == [1, 3])
    #expect(tree.texts == ["5-e,d", "3-x,b"])
    #expect(tree.rootCount == 2 && tree.problem == nil)
  }

  @Test func `removing a leaf removes the ancestors that no other leaf needs`() throws {
    var tree = try RevisionTree("1-a", "2-b,a", "3-c,b", "4-d,c", "3-x,b", "7-q,p")
    #expect(tree.removeLeaf(at: try tree.nodeIndex("4-d")) == [3, 4])
    #expect(tree.texts == ["7-q,p", "3-x,b,a"])
    #expect(tree.problem == nil)
    #expect(tree.removeLeaf(at: try tree.nodeIndex("7-q")) == [6])
    #expect(tree.removeLeaf(at: try tree.nodeIndex("3-x")) == [1, 2, 5])
    #expect(tree.isEmpty && tree.problem == nil && tree.leafCount == 0 && tree.rootCount == 0)
  }

  @Test func `a revision's payload can be added after the revision`() throws {
    var tree = try RevisionTree("2-b,a")
    tree.setRecord(
      isDeleted: false, isForeignEdit: true, sequence: 7, at: try tree.nodeIndex("1-a"))
    #expect(tree.storedSequences == [7, 1])
    #expect(try tree.nodes[tree.nodeIndex("1-a")].isForeignEdit)
  }

  @Test func `an inconsistent history is refused`() throws {
    for texts in [
      [], ["3-c", "1-a"], ["3-c", "3-b"], ["2-b", "3-a"], ["3-c", "2-b", "1-a", "1-z"],
    ] {
      #expect(throws: DatabaseError.self) { try RevisionTree.Path(texts.map(revision)) }
    }
    let digests = try ["1-b", "1-a"].map { try revision($0).digest }
    #expect { try RevisionTree.Path(revision("2-c"), ancestors: digests) } throws: {
      ($0 as? DatabaseError)?.code == .invalidRevisionID
    }
    #expect(try RevisionTree.Path(revision("3-c"), ancestors: digests).firstGeneration == 1)
    let last = try #require(RevisionID(generation: RevisionID.generationLimit, digest: "z"))
    var tree = RevisionTree(try RevisionTree.Path(last, ancestors: digests))
    #expect(try tree.insert(RevisionPathForm("1-a"), depth: 2).kind == .newBranch)
    #expect(tree.problem == nil && tree.leafCount == 2)
  }

  @Test func `many conflicts or a long history take little space`() throws {
    #expect(MemoryLayout<RevisionNode>.stride == 48)
    func own(_ generation: UInt64, _ number: UInt64) -> RevisionID {
      RevisionID(generation: generation, digest: .own(number, number))
    }
    var wide = RevisionTree(try RevisionTree.Path(own(1, 0)))
    for number in 1...1000 as ClosedRange<UInt64> {
      let parent = try #require(wide.index(of: own(1, 0)))
      wide.insert(own(2, number), childOf: parent, sequence: number, depth: 20)
    }
    #expect(
      wide.leafCount == 1000 && wide.leafRevisions.count { !$0.isDeleted } == 1000
        && wide.problem == nil)
    #expect(wide.winner == wide.index(of: own(2, 1000)))
    #expect(wide.stored.count < 21 * 1001)

    var deep = RevisionTree(try RevisionTree.Path(own(1, 1)))
    for number in 2...10_000 as ClosedRange<UInt64> {
      let parent = try #require(deep.index(of: own(number - 1, number - 1)))
      deep.insert(own(number, number), childOf: parent, sequence: number)
    }
    #expect(deep.isChain && deep.nodes.count == 10_000 && deep.problem == nil)
    #expect(try deep.copyByCoding() == deep)
    #expect(deep.stored.count < 21 * 10_000)
    #expect(deep.prune(toDepth: 20).count == 9979)
  }
}
