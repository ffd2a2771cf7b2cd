import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of full-text indexes, compared with the words of all documents.
struct FullTextIndexTests {
  private let store = IndexFixture()
  private let index = DocumentIndex("text", fullText: "title", "tags", "body.text")

  /// A document's words, as a person would split them.
  typealias Words = [String: Set<String>]

  private static let vocabulary = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"]

  private func text(_ random: inout SeededRandom, upTo count: Int) -> String {
    (0..<Int.random(in: 0...count, using: &random)).map { _ in
      // Early words are frequent.
      FullTextIndexTests.vocabulary[
        min(.random(in: 0..<8, using: &random), .random(in: 0..<8, using: &random))]
    }.joined(separator: " ")
  }

  private func properties(_ random: inout SeededRandom) -> Value.Object {
    var object: Value.Object = ["number": .int(.random(in: 0...99, using: &random))]
    if Int.random(in: 0..<5, using: &random) > 0 {
      object["title"] = .string(text(&random, upTo: 4))
    }
    if Int.random(in: 0..<4, using: &random) > 0 {
      object["tags"] = .array(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in .string(text(&random, upTo: 2)) })
    }
    if Bool.random(using: &random) { object["body"] = ["text": .string(text(&random, upTo: 40))] }
    return object
  }

  /// Returns the documents with a word in a property, by reading all of them.
  private func expected(_ word: String, _ field: Int?, _ snapshot: Snapshot) throws -> Set<String> {
    var found: Set<String> = []
    var documents = snapshot.documents()
    while let document = try documents.next() {
      var texts: [[String]] = [[], [], []]
      if case .string(let title)? = document["title"] { texts[0] = [title] }
      if case .array(let tags)? = document["tags"] { texts[1] = tags.compactMap(\.stringValue) }
      if case .object(let body)? = document["body"], case .string(let text)? = body["text"] {
        texts[2] = [text]
      }
      let words = texts.map { Set($0.flatMap { $0.split(separator: " ").map(String.init) }) }
      if field.map({ words[$0].contains(word) }) ?? words.contains(where: { $0.contains(word) }) {
        found.insert(document.id)
      }
    }
    return found
  }

  private func found(_ text: String, _ snapshot: Snapshot) throws -> Set<String> {
    let condition = FullTextCondition(query: FullTextQuery(text), indexName: "text")
    var search = try FullTextSearch(condition, in: snapshot.view)
    var ids: Set<String> = []
    while let id = try search.nextID() {
      #expect(ids.insert(try #require(id.text)).inserted)
    }
    var counted = try FullTextSearch(condition, in: snapshot.view)
    #expect(try counted.countRest() == ids.count, "\(text)")
    return ids
  }

  private func expectAll(_ snapshot: Snapshot, _ comment: Comment) throws {
    for word in FullTextIndexTests.vocabulary {
      #expect(try found(word, snapshot) == expected(word, nil, snapshot), comment)
      for (field, name) in ["title", "tags", "body.text"].enumerated() {
        #expect(
          try found("\"\(name)\":\(word)", snapshot) == expected(word, field, snapshot), comment)
      }
    }
  }

  private func expectSound(_ database: Database, _ comment: Comment) throws {
    let problems = try database.check().problems
    #expect(problems.isEmpty, "\(comment): \(problems.prefix(3))")
    try expectAll(database.snapshot(), comment)
  }

  private func change(_ database: Database, _ random: inout SeededRandom) throws {
    try database.write { transaction in
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let id = "doc-\(Int.random(in: 0..<60, using: &random))"
        switch Int.random(in: 0..<8, using: &random) {
        case 0: _ = try transaction.delete(id)
        case 1: _ = try transaction.purge(id)
        case 2:
          let generation = UInt64.random(in: 1...9, using: &random)
          let revision = try #require(
            RevisionID(
              generation: generation, digest: "\(UInt8.random(in: 16...99, using: &random))"))
          _ = try transaction.insert(
            Document(id: id, properties(&random)), history: [revision])
        case 3:
          // Nothing of a transaction that is rolled back is in the index.
          try? transaction.savepoint {
            _ = try transaction.replace(id, with: properties(&random))
            throw DatabaseError(.cancelled, "rolled back")
          }
        default: _ = try transaction.replace(id, with: properties(&random))
        }
      }
    }
  }

  @Test func `every word finds exactly the documents that have it, after any changes`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for nodeSize in [4064, 1280] {
      var fixture = store.fixture
      var database = try store.open { $0.nodeSize = nodeSize }
      for _ in 0..<30 { try change(database, &random) }
      try database.addIndex(index)
      try expectSound(database, "seed \(seed): built")
      var kept: [Snapshot] = []
      for round in 0..<12 {
        for _ in 0..<6 { try change(database, &random) }
        if Bool.random(using: &random) { try database.writeCheckpoint() }
        if round % 4 == 3 { try database.compact() }
        try expectSound(database, "seed \(seed): round \(round)")
        if round % 3 == 0 { kept.append(try database.snapshot()) }
        for snapshot in kept { try expectAll(snapshot, "seed \(seed): an older snapshot") }
        if round % 5 == 4 {
          kept = []
          fixture = CrashFixture(
            fixture.fileSystem.restarted(.processEnd), CrashWriter(seed: UInt64(round)),
            life: round + Int(nodeSize))
          if Bool.random(using: &random) { try store.forgetCheckpoints(fixture) }
          database = try store.open(fixture) { $0.nodeSize = nodeSize }
          #expect(try database.indexes() == [index])
          try expectSound(database, "seed \(seed): opened again")
        }
      }
      kept = []
      try database.close()
      for name in fixture.fileSystem.names(in: CrashFixture.path) {
        try? fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
      }
    }
  }

  @Test func `a transaction finds its own changes, and others do not until it commits`() throws {
    let database = try store.open()
    try database.addIndex(index)
    try database.write { _ = try $0.replace("a", with: ["title": "oak"]) }
    let before = try database.snapshot()
    try database.write { transaction in
      _ = try transaction.replace("b", with: ["title": "oak elm"])
      _ = try transaction.replace("a", with: ["title": "elm"])
      let condition = FullTextCondition(query: FullTextQuery("elm"), indexName: "text")
      var search = try FullTextSearch(condition, in: transaction.view)
      #expect(try search.countRest() == 2)
      #expect(try found("oak", database.snapshot()) == ["a"])
    }
    #expect(try found("oak", database.snapshot()) == ["b"])
    #expect(try found("oak", before) == ["a"])
  }

  @Test func `a document with more text than a page has is found by all of its words`() throws {
    let database = try store.open { $0.nodeSize = 1280 }
    try database.addIndex(index)
    // One word at 20,000 places takes many parts of a value; its neighbours fill a block.
    let text = (0..<20_000).map { "oak \($0 % 50 == 0 ? "elm " : "")" }.joined()
    for number in 0..<5 {
      try database.write {
        _ = try $0.replace("d\(number)", with: ["body": ["text": .string(text)]])
      }
    }
    try expectSound(database, "large")
    #expect(try found("\"oak elm\"", database.snapshot()).count == 5)
    try database.writeCheckpoint()
    for number in 0..<4 {
      try database.write { _ = try $0.replace("d\(number)", with: ["title": "oak"]) }
    }
    try expectSound(database, "smaller")
    #expect(try found("\"oak elm\"", database.snapshot()) == ["d4"])
    try database.write { _ = try $0.delete("d4") }
    try expectSound(database, "gone")
  }

  @Test func `a term of many documents is divided into blocks, and put together by any order`()
    throws
  {
    let database = try store.open()
    try database.addIndex(index)
    var random = SeededRandom(seed: 7)
    for number in (0..<600).shuffled(using: &random) {
      try database.write {
        _ = try $0.replace(
          "d\(number)", with: ["title": .string("oak \(number % 2 == 0 ? "elm" : "fir")")])
      }
    }
    // The word comes to old documents, between others.
    for number in (0..<600).shuffled(using: &random) where number % 3 == 0 {
      try database.write { _ = try $0.replace("d\(number)", with: ["title": "elm ash"]) }
    }
    try expectSound(database, "changed")
    for number in (0..<600).shuffled(using: &random) where number % 5 != 0 {
      try database.write { _ = try $0.delete("d\(number)") }
    }
    try expectSound(database, "deleted")
  }

  @Test func `an index that is built beside writers has the words of all documents`() throws {
    let database = try store.open { $0.indexBuildWorkerCount = 2 }
    var random = SeededRandom(seed: 11)
    for start in stride(from: 0, to: 3000, by: 500) {
      try database.write { transaction in
        for number in start..<start + 500 {
          _ = try transaction.replace("n\(number)", with: properties(&random))
        }
      }
    }
    var rounds = 0
    try database.addIndex(index) { _ in
      rounds += 1
      for _ in 0..<5 { try change(database, &random) }
      try database.write { _ = try $0.replace("n7", with: ["title": "oak elm"]) }
    }
    #expect(rounds > 0)
    try expectSound(database, "built")
  }

  /// Regression test: a document that was written between the slices of a build was added twice, or
  /// its words were put into blocks that overlap.
  @Test(arguments: 0..<4)
  func `writers between the slices of a build neither lose words nor double documents`(
    round: Int
  ) throws {
    let database = try store.open {
      $0.indexBuildWorkerCount = 1 + round % 2
      $0.indexBuildBatchSize = 8
    }
    let vocabulary = (0..<200).map { "w\($0)" }
    @Sendable func text(_ random: inout SeededRandom) -> Value {
      .string(
        (0..<6).map { _ in vocabulary[.random(in: 0..<200, using: &random)] }
          .joined(separator: " "))
    }
    var random = SeededRandom(seed: UInt64(round))
    try database.write { transaction in
      for number in 0..<600 {
        _ = try transaction.replace("n\(number)", with: ["title": text(&random)])
      }
    }
    let isDone = Mutex(false)
    let index = index
    onOwnThreads(2) { thread in
      if thread == 0 {
        #expect(throws: Never.self) { try database.addIndex(index) }
        isDone.withLock { $0 = true }
        return
      }
      var random = SeededRandom(seed: UInt64(100 + round))
      while !isDone.withLock({ $0 }) {
        let id = "n\(Int.random(in: 0..<620, using: &random))"
        try? database.write { transaction in
          switch Int.random(in: 0..<4, using: &random) {
          case 0: _ = try transaction.delete(id)
          case 1:
            // The same document again, after its purge.
            let old = try transaction.document(id)?.properties
            _ = try transaction.purge(id)
            if let old { _ = try transaction.put(Document(id: id, old)) }
          default: _ = try transaction.replace(id, with: ["title": text(&random)])
          }
        }
      }
    }
    let problems = try database.check().problems
    #expect(problems.isEmpty, "\(problems.prefix(3))")
    let snapshot = try database.snapshot()
    for word in vocabulary { #expect(try found(word, snapshot) == expected(word, nil, snapshot)) }
  }

  /// Regression test: a damaged page of words was replaced by an empty one, and nothing was found.
  @Test func `a damaged page of words is an error, and not a page without words`() throws {
    let database = try store.open()
    try database.addIndex(index)
    try database.write { transaction in
      for number in 0..<500 {
        _ = try transaction.replace(
          "d\(number)", with: ["title": .string("oak elm\(number) fir\(number)")])
      }
    }
    try database.writeCheckpoint()
    try database.close()
    let names = store.checkpoints(store.fixture)
    var noticed = 0
    for page in 1..<60 {
      let fixture = store.reopened(50 + page)
      for name in names {
        try? fixture.fileSystem.corrupt(name, atOffset: 4096 * page + 2000, mask: 1)
      }
      let again = try store.open(fixture)
      for number in stride(from: 0, to: 500, by: 7) {
        do {
          #expect(try found("elm\(number)", again.snapshot()) == ["d\(number)"])
        } catch let error as DatabaseError {
          #expect(error.code == .damaged)
          noticed += 1
        }
      }
    }
    #expect(noticed > 0)
  }

  /// Regression test: a zero byte, which ends a term in keys, came into a term.
  ///
  /// Then the document could be stored, and neither be changed nor deleted.
  @Test func `a word that begins with a zero byte has a term without it`() throws {
    let database = try store.open()
    try database.addIndex(index)
    let texts = ["\u{0}\u{200D}😀", "\u{0}\u{200D}\u{2764} oak", "a\u{0}b", "\u{0}"]
    for round in 0..<3 {
      try database.write { transaction in
        for (number, text) in texts.enumerated() {
          _ = try transaction.replace(
            "d\(number)", with: ["title": .string(text), "round": .int(Int64(round))])
          _ = try transaction.replace(
            "e\(number)", with: ["tags": [.string(text), .string("\(round)")]])
        }
      }
      #expect(try database.check().problems.isEmpty)
    }
    #expect(try found("😀", database.snapshot()) == ["d0", "e0"])
    #expect(try found("\u{0}\u{200D}😀", database.snapshot()) == ["d0", "e0"])
    #expect(try found("b oak", database.snapshot()) == [])
    _ = try database.snapshot().suggestions(for: "oka", index: "text")
    try database.write { transaction in
      for number in texts.indices {
        _ = try transaction.delete("d\(number)")
        try transaction.purge("e\(number)")
      }
    }
    try expectSound(database, "after deletions")
    #expect(
      try database.store.view().state.texts.tables(
        of: #require(database.store.view().state.indexes.first)
      ).figures().documentCount == 0)
  }

  @Test func `words of a document that could not be read are neither found nor counted`() throws {
    let database = try store.open()
    try database.addIndex(index)
    try database.write { transaction in
      for number in 0..<200 {
        _ = try transaction.replace(
          "d\(number)", with: ["title": "oak", "number": .int(Int64(number))])
      }
    }
    func count() throws -> Int {
      let condition = FullTextCondition(query: FullTextQuery("oak"), indexName: "text")
      var search = try FullTextSearch(condition, in: database.snapshot().view)
      return try search.countRest()
    }
    #expect(try count() == 200)
    for id in ["d7", "d8", "d9"] {
      let view = try database.store.view()
      let locator = try #require(try view.entry(id)).locator
      let path = try #require(view.state.segments[locator.fileID]).file.path
      try store.fixture.fileSystem.corrupt(path, atOffset: Int(locator.offset) + 20, mask: 1)
    }
    // What the index had of them is not known, so it stays, and its numbers have no document.
    try database.write { transaction in
      _ = try transaction.replace("d7", with: ["title": "elm"])
      _ = try transaction.replace("d8", with: ["title": "oak elm"])
      try transaction.purge("d9")
    }
    #expect(try count() == 198)
    #expect(try found("oak", database.snapshot()).count == 198)
    #expect(try found("elm", database.snapshot()) == ["d7", "d8"])
    try expectAll(database.snapshot(), "beside numbers without a document")
    func damagedIndexes() throws -> [DatabaseError] {
      // The check also reports the frame that was damaged.
      try database.check().problems.filter { $0.message.contains("full-text") }
    }
    #expect(try damagedIndexes().isEmpty)
    // Without the note of it, a check reports them.
    let definition = try #require(database.store.view().state.indexes.first)
    try database.store.withWriter { writer in
      writer.changeNewest { version in
        let tables = version.texts.tables(of: definition)
        guard var figures = try? tables.figures() else { return }
        figures.hasOrphans = false
        version.texts.set(tables.keys.figures.span, ([0] + figures.bytes).span)
      }
    }
    #expect(try damagedIndexes().count == 1)
  }

  @Test func `an encrypted store has room for the parts of a long value`() throws {
    // Pages of an encrypted store are smaller, and a part of a value fills one entry.
    let limit = BTree.entryLimit(pageSize: CheckpointHeader.pageSize - FileEncryption.overhead)
    for treeLimit in [994, 1002, 298] {
      let key = FullTextKeys(1).blocks(of: Array("oak".utf8)) + UInt64(7).bigEndianBytes
      let entries = TextValue.entries(
        key, Array(repeating: 1, count: 5000), treeLimit: treeLimit)
      for entry in entries {
        #expect(entry.key.count + entry.value.count <= min(limit, treeLimit))
      }
      #expect(entries.reduce(0) { $0 + $1.value.count } == 5001)
    }
  }

  @Test func `an index of other rules is built again at the next opening`() throws {
    let database = try store.open()
    try database.addIndex(index)
    try database.write { _ = try $0.replace("a", with: ["title": "oak"]) }
    let definition = try #require(database.store.view().state.indexes.first)
    try database.store.withWriter { writer in
      writer.changeNewest { version in
        let key = version.texts.tables(of: definition).keys.figures
        version.texts.set(key.span, [0, 99, 1, 1, 0, 1, 1, 0, 0, 0, 0].span)
      }
    }
    try database.writeCheckpoint()
    try database.close()
    let again = try store.open(store.reopened(50))
    try expectSound(again, "built again")
    #expect(try found("oak", again.snapshot()) == ["a"])
  }

  @Test func `other weights change the ranking, and the index is not built again`() throws {
    let database = try store.open()
    try database.addIndex(index)
    try database.write { transaction in
      _ = try transaction.replace("title", with: ["title": "elm"])
      _ = try transaction.replace("body", with: ["body": ["text": "elm elm elm"]])
      for number in 0..<20 { _ = try transaction.replace("d\(number)", with: ["title": "oak"]) }
    }
    // Their numbers are not used again, unless the index is built again.
    try database.write { transaction in
      for number in 0..<20 { _ = try transaction.delete("d\(number)") }
    }
    try database.writeCheckpoint()
    func expect(_ database: Database, _ order: [String]) throws {
      let elm = Query<Document>().filter(.matches(.fullText("elm"), index: "text"))
      #expect(try database.snapshot().ids(elm.sort(.relevance)) == order)
      let definition = try #require(database.store.view().state.indexes.first)
      let tables = try database.store.view().state.texts.tables(of: definition)
      #expect(try tables.figures().nextNumber == 22)
      try expectSound(database, "\(order)")
    }
    try expect(database, ["body", "title"])
    var changed = DocumentIndex(
      "text", fullText: "title", "tags", "body.text",
      options: FullTextOptions(weights: ["title": 50]))
    try database.replaceIndex(with: changed)
    #expect(try database.indexes() == [changed])
    try expect(database, ["title", "body"])
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [changed])
    try expect(again, ["title", "body"])
    // Another option is another index.
    changed = DocumentIndex(
      "text", fullText: "title", "tags", "body.text", options: FullTextOptions(stopWords: [.german])
    )
    #expect(!changed.hasSameTerms(as: index) && !index.hasSameTerms(as: changed))
    try again.replaceIndex(with: changed)
    let definition = try #require(again.store.view().state.indexes.first)
    #expect(
      try again.store.view().state.texts.tables(of: definition).figures().nextNumber == 2)
  }

  @Test func `removing an index removes its words, and the name is free for another one`() throws {
    let database = try store.open()
    try database.addIndex(index)
    var random = SeededRandom(seed: 3)
    for _ in 0..<20 { try change(database, &random) }
    #expect(try database.removeIndex(named: "text"))
    #expect(database.store.commits.visible?.state.texts.isEmpty == true)
    #expect(throws: DatabaseError.self) { try found("oak", database.snapshot()) }
    let other = DocumentIndex(
      "text", fullText: "title", options: FullTextOptions(stemming: .german, weights: ["title": 2]))
    try database.addIndex(other)
    #expect(try database.indexes() == [other])
    let again = try store.open(store.reopened(50))
    #expect(try again.indexes() == [other])
  }
}
