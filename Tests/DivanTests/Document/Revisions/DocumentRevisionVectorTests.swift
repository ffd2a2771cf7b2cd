import Foundation
import Testing

@testable import Divan

/// A revision path as CouchDB writes it: the digests run from the leaf to the oldest ancestor.
struct RevisionPathForm: Decodable, Hashable {
  var start: UInt64
  var ids: [String]
  var deleted: Bool?

  /// The path with 32-digit hexadecimal digests in one case, and no flag on a live leaf.
  var folded: RevisionPathForm {
    get throws {
      let ids = try zip(ids, 0...).map { digest, steps in
        try #require(RevisionID(generation: start - UInt64(steps), digest: digest)).digestText
      }
      return RevisionPathForm(start: start, ids: ids, deleted: deleted == true ? true : nil)
    }
  }

  var path: RevisionTree.Path {
    get throws {
      try RevisionTree.Path(
        ids.enumerated().map { steps, digest in
          try #require(RevisionID(generation: start - UInt64(steps), digest: digest))
        })
    }
  }
}

extension RevisionTree {
  /// Inserts a path in CouchDB's form.
  @discardableResult
  mutating func insert(
    _ form: RevisionPathForm, sequence: UInt64 = 0, depth: Int = .max
  ) throws -> Insertion {
    insert(
      try form.path, isDeleted: form.deleted ?? false, sequence: sequence, depth: depth)
  }

  /// All leaves with their histories, in CouchDB's form.
  var forms: Set<RevisionPathForm> {
    Set(
      leaves.map { leaf in
        RevisionPathForm(
          start: nodes[leaf].revision.generation,
          ids: history(of: leaf).map(\.revision.digestText),
          deleted: nodes[leaf].isDeleted ? true : nil)
      })
  }

  /// The leaves as text, the winner first.
  var leafTexts: [String] { leaves.map { nodes[$0].revision.description } }
  /// The live leaves other than the winner.
  var conflictTexts: [String] {
    leafRevisions.dropFirst().filter { !$0.isDeleted }.map(\.id.description)
  }
}

extension RevisionTree.Insertion.Kind {
  /// CouchDB's word for the kind of insertion.
  var word: String {
    switch self {
    case .newLeaf: "new_leaf"
    case .newBranch: "new_branch"
    case .internalNode: "internal_node"
    }
  }
}

/// A test case that inserts paths into a tree.
struct MergeCase: Decodable {
  var name: String
  var revs_limit: Int
  var before: [RevisionPathForm]
  var inserts: [RevisionPathForm]
  var after: [RevisionPathForm]
  var results: [String]
  var leaves_in_winning_order: [String]

  func check() throws {
    var tree = RevisionTree()
    for path in before { try tree.insert(path) }
    var words: [String] = []
    for (sequence, path) in zip(UInt64(1)..., inserts) {
      words.append(try tree.insert(path, sequence: sequence, depth: revs_limit).kind.word)
      #expect(tree.problem == nil, "\(name)")
      #expect(try tree.copyByCoding() == tree, "\(name)")
    }
    let expected = try Set(after.map { try $0.folded })
    #expect(tree.forms == expected, "\(name)")
    #expect(words == results, "\(name)")
    try tree.checkOrder(leaves_in_winning_order, name)
  }
}

extension RevisionTree {
  /// Checks that leaves come in an order that was recorded from CouchDB.
  ///
  /// CouchDB's order differs from ours in how it compares digests of 32 hexadecimal digits with
  /// others.
  func checkOrder(_ texts: [String], _ name: String) throws {
    let expected = try texts.map { try #require(RevisionID($0)) }
    let found = leaves.map { nodes[$0].revision }
    #expect(expected.sorted() == found.sorted(), "\(name)")
    if Set(expected.map { $0.digestText.utf8.count == 32 }).count == 1 {
      #expect(expected == found, "\(name)")
    } else {
      #expect(expected.map(\.generation) == found.map(\.generation), "\(name)")
    }
  }
}

/// Tests with cases recorded from CouchDB, which run only where the recordings are present.
struct DocumentRevisionVectorTests {
  private static func read<T: Decodable>(_ name: String) throws -> T? {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_VECTORS"] else {
      print("DIVAN_VECTORS is not set: \(name) was not read")
      return nil
    }
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
    return try JSONDecoder().decode(T.self, from: data)
  }

  private struct Merges: Decodable { var cases: [MergeCase] }

  @Test(arguments: [("revtree-merge.json", 47), ("revtree-random.json", 150)])
  func `histories merge as in CouchDB`(name: String, count: Int) throws {
    guard let merges: Merges = try Self.read(name) else { return }
    #expect(merges.cases.count == count)
    for each in merges.cases { try each.check() }
  }

  private struct Winners: Decodable {
    struct Case: Decodable {
      var name: String
      var leaves: [RevisionPathForm]
      var winner: String
      var winner_deleted: Bool
      var all_leaves_in_order: [String]
      var conflicts: [String]?
    }
    var cases: [Case]
  }

  @Test func `the winner is the same as in CouchDB`() throws {
    guard let winners: Winners = try Self.read("winning-rev.json") else { return }
    #expect(winners.cases.count == 39)
    for each in winners.cases {
      for paths in [each.leaves, each.leaves.reversed()] {
        var tree = RevisionTree()
        for path in paths { try tree.insert(path) }
        try tree.checkOrder(each.all_leaves_in_order, each.name)
        // Digests of several sizes are compared as text here, and as other bytes in CouchDB.
        guard Set(each.leaves.map { $0.ids[0].utf8.count }).count == 1 else { continue }
        let winner = try #require(tree.winner)
        #expect(tree.nodes[winner].revision.description == each.winner, "\(each.name)")
        #expect(tree.nodes[winner].isDeleted == each.winner_deleted, "\(each.name)")
        #expect(tree.conflictTexts == each.conflicts ?? [], "\(each.name)")
      }
    }
  }

  private struct Forms: Decodable {
    struct Accepted: Decodable {
      var rev: String
      var status: Int
      var stored_as: String?
      var revisions: RevisionPathForm?
    }
    struct Strict: Decodable {
      struct Valid: Decodable { var text: String, generation: UInt64, id: String }
      var valid: [Valid]
      var invalid: [String]
    }
    struct Order: Decodable {
      struct Case: Decodable { var a: String, b: String, order: Int }
      var cases: [Case]
    }
    var accepted_rev_forms: [Accepted]
    var strict_parsing: Strict
    var text_order: Order
  }

  /// Where a revision and its history disagree, CouchDB trusts the history.
  ///
  /// So does `insert`. An import refuses such a line, for the reason that docs/JSON_LINES.md gives.
  private func checkHistories(of forms: [Forms.Accepted]) throws {
    let disagreeing = forms.filter { $0.revisions != nil }
    #expect(disagreeing.count == 2)
    for form in disagreeing {
      let revisions = try #require(form.revisions)
      let history = try zip(revisions.ids, 0...).map { digest, steps in
        try #require(RevisionID(generation: revisions.start - steps, digest: digest))
      }
      let database = try Database.inMemory()
      let ids = revisions.ids.map { "\"\($0)\"" }.joined(separator: ",")
      let line =
        #"{"_id":"a","_rev":"\#(form.rev)","_revisions":{"start":\#(revisions.start),"ids":[\#(ids)]}}"#
      let error = try database.importError(line)
      #expect(error.code == .invalidRevisionID && error.propertyPath == "_rev")
      try database.write {
        _ = try $0.insert(
          Document(id: "a", revision: RevisionID(form.rev), .emptyObject), history: history)
      }
      #expect(try database.snapshot().revision(of: "a")?.description == form.stored_as)
    }
  }

  @Test func `revision IDs parse and sort as in CouchDB`() throws {
    guard let forms: Forms = try Self.read("rev-ids.json") else { return }
    for form in forms.accepted_rev_forms where form.revisions == nil {
      // CouchDB stores generation 0 and empty digests, which mean nothing; we refuse them.
      let isStrict = !form.rev.hasPrefix("0-") && !form.rev.hasSuffix("-")
      let expected = form.status == 201 && isStrict ? form.stored_as : nil
      #expect(RevisionID(form.rev)?.description == expected, "\(form.rev)")
    }
    for form in forms.strict_parsing.valid {
      #expect(RevisionID(form.text)?.generation == form.generation)
      #expect(RevisionID(form.text)?.digestText == form.id)
    }
    for text in forms.strict_parsing.invalid { #expect(RevisionID(text) == nil, "\(text)") }
    try checkHistories(of: forms.accepted_rev_forms)
    var compared = 0
    for pair in forms.text_order.cases {
      // Some of the texts are not revision IDs.
      guard let a = RevisionID(pair.a), let b = RevisionID(pair.b) else { continue }
      #expect((a < b ? -1 : a > b ? 1 : 0) == pair.order, "\(pair.a) \(pair.b)")
      compared += 1
    }
    #expect(compared > 5)
  }
}
