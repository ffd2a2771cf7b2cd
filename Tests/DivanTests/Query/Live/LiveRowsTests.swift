import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// Tests that compare the rows of live queries with a plain search after each change.
struct LiveRowsTests {
  private struct Shown: Equatable {
    var id: String
    var revision: RevisionID
  }

  /// A live query and the rows that it showed last.
  private struct ObservedQuery {
    let query: QueryCore
    var rows: LiveRows
    var shown: [Shown] = []

    init(_ query: QueryCore) {
      self.query = query
      rows = LiveRows(query, spareCount: 3) { document in LiveContent(document) }
    }

    mutating func advance(
      to snapshot: Snapshot, _ plain: PlainQuery, _ comment: Comment
    ) throws {
      let difference = try rows.advance(to: snapshot.view)
      let all = (0..<rows.window.count).map { rows.row(at: $0) }
      let new = all.map { Shown(id: $0.id, revision: $0.revision) }
      #expect(new.map(\.id) == plain.ids(query), comment)
      #expect(TableView.show(shown, new, difference) == new, comment)
      #expect(difference.isEmpty == (shown == new), comment)
      var list = shown
      difference.apply(to: &list, from: new)
      #expect(list == new, comment)
      let old = Dictionary(uniqueKeysWithValues: shown.map { ($0.id, $0.revision) })
      let updated = Set(
        new.filter { row in old[row.id].map { $0 != row.revision } ?? false }.map(\.id))
      #expect(Set(difference.updates.map { new[$0.to].id }) == updated, comment)
      for row in all {
        let document = (row.content as? LiveContent<Document>)?.content
        #expect(document?.id == row.id && document?.revision == row.revision, comment)
      }
      var others = 0
      rows.list.forEach { others += $0.content == nil ? 1 : 0 }
      #expect(rows.list.count == all.count + others, comment)
      shown = new
    }
  }

  private func everything(_ snapshot: Snapshot) throws -> PlainQuery {
    var documents = snapshot.documents()
    var plain = PlainQuery(documents: [:])
    while let document = try documents.next() {
      plain.documents[document.id] = document.properties
    }
    return plain
  }

  /// Changes some documents in one transaction.
  private func change(_ database: Database, _ generator: inout RandomQueries) throws {
    try database.write { transaction in
      for _ in 0..<generator.pick([1, 1, 2, 5, 40]) {
        let id = "doc-\(generator.random.below(90))"
        switch generator.random.below(12) {
        case 0: _ = try transaction.purge(id)
        case 1, 2: _ = try transaction.delete(id)
        case 3:
          // Stores the same properties again, so that only the revision changes.
          guard let document = try transaction.document(id) else { continue }
          _ = try transaction.replace(id, with: document.properties)
        case 4:
          guard let base = try transaction.document(id) else { continue }
          for number in 0..<2 {
            var branch = base
            branch["n"] = .int(Int64(generator.random.below(20) + 20 * number))
            _ = try transaction.put(branch, onConflict: .branch)
          }
        case 5:
          guard let last = try transaction.leaves(of: id).last?.revision else { continue }
          _ = try transaction.purge(id, revision: last)
        default: _ = try transaction.replace(id, with: generator.document())
        }
      }
    }
  }

  @Test(arguments: 301...306)
  func `each step reports the difference between two results after any changes`(
    seed: UInt64
  ) throws {
    var generator = RandomQueries(seed: seed)
    let database = try Database.inMemory()
    if seed % 2 == 0 { for index in RandomQueries.indexes { try database.addIndex(index) } }
    for _ in 0..<6 { try change(database, &generator) }
    var observed = (0..<14).map { _ in ObservedQuery(generator.query()) }
    var queue = QueryCore()
    queue.sorts = [
      QuerySort(path: QueryPath(steps: [.key("n")]), descending: true, byBytes: false)
    ]
    (queue.limit, queue.offset) = (4, 2)
    observed.append(ObservedQuery(queue))
    for step in 0..<14 {
      let snapshot = try database.snapshot()
      let plain = try everything(snapshot)
      // A query that is not advanced at each step gets several changes at once.
      for index in observed.indices where generator.random.below(4) > 0 || step == 13 {
        try observed[index].advance(
          to: snapshot, plain, "seed \(seed), step \(step): \(observed[index].query)")
      }
      try change(database, &generator)
    }
    try database.close()
  }

  @Test func `a limited query keeps few spare rows and finds more when they run out`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 100..<200 {
        _ = try transaction.put(Document(id: "\(number)", ["n": .int(Int64(number))]))
      }
    }
    let query = Query<Document>().sorted(by: "n").offset(1).limit(5)
    var rows = LiveRows(query.core, spareCount: 10, load: nil)
    func ids() -> [String] { (0..<rows.window.count).map { rows.row(at: $0).id } }
    _ = try rows.advance(to: database.snapshot().view)
    #expect(rows.list.count == 16 && ids() == ["101", "102", "103", "104", "105"])
    for number in 100..<140 {
      try database.write { _ = try $0.delete("\(number)") }
      let difference = try rows.advance(to: database.snapshot().view)
      #expect(difference.deletions == [0] && difference.insertions == [4])
      #expect(difference.moves.isEmpty && difference.updates.isEmpty)
      #expect(ids() == (number + 2..<number + 7).map(String.init))
      #expect((6...16).contains(rows.list.count))
    }
    try database.write { transaction in
      for number in 0..<60 {
        _ = try transaction.put(Document(id: "a\(number)", ["n": .int(Int64(number))]))
      }
    }
    _ = try rows.advance(to: database.snapshot().view)
    #expect(ids() == ["a1", "a2", "a3", "a4", "a5"] && rows.list.count == 16)
    // The documents whose rows were dropped are found again.
    try database.write { transaction in
      for number in 0..<60 { _ = try transaction.delete("a\(number)") }
    }
    _ = try rows.advance(to: database.snapshot().view)
    #expect(ids() == ["141", "142", "143", "144", "145"])
    try database.close()
  }

  @Test func `a failed step changes nothing, and the next one reports the whole difference`() throws
  {
    struct Own: Error {}
    let database = try Database.inMemory()
    var rows = LiveRows(Query<Document>().sorted(by: "n").core) { document in
      if document["bad"] == true { throw Own() }
      return LiveContent(document)
    }
    func put(_ id: String, _ properties: Value.Object) throws {
      try database.write { _ = try $0.replace(id, with: properties) }
    }
    for id in ["a", "b", "c"] { try put(id, ["n": 1]) }
    #expect(try rows.advance(to: database.snapshot().view).insertions == [0, 1, 2])
    try put("a", ["n": 2])
    try put("d", ["n": 0, "bad": true])
    for _ in 0..<2 {
      #expect(throws: Own.self) { try rows.advance(to: database.snapshot().view) }
      #expect((0..<rows.window.count).map { rows.row(at: $0).id } == ["a", "b", "c"])
    }
    try put("d", ["n": 0])
    let difference = try rows.advance(to: database.snapshot().view)
    #expect((0..<rows.window.count).map { rows.row(at: $0).id } == ["d", "b", "c", "a"])
    #expect(difference.insertions == [0] && difference.moves.map(\.from) == [0])
    #expect(difference.updates.map(\.to) == [3] && difference.deletions.isEmpty)
    try database.close()
  }

  @Test func `a cancelled step stops soon and changes nothing`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<100 {
        _ = try transaction.put(Document(id: "\(100 + number)", ["n": .int(Int64(number))]))
      }
    }
    func cancel(_ rows: inout LiveRows, when isCancelled: @escaping () -> Bool) throws {
      let view = try database.snapshot().view
      let error = #expect(throws: DatabaseError.self) {
        try rows.advance(to: view, isCancelled: isCancelled)
      }
      #expect(error?.code == .cancelled)
    }
    var checks = 0
    let afterTen = {
      checks += 1
      return checks > 10
    }
    // Cancel while no row is found.
    var nothing = LiveRows(Query<Document>().filter { $0["n"] > 1000 }.core, load: nil)
    try cancel(&nothing, when: afterTen)
    #expect(checks == 11)
    // Cancel while documents are loaded.
    let loaded = Recorder<String>()
    var rows = LiveRows(Query<Document>().sorted(by: "n").core) { document in
      loaded.append(document.id)
      return LiveContent(document)
    }
    try cancel(&rows) { loaded.all.count == 5 }
    #expect(loaded.all.count == 5 && rows.window.isEmpty)
    #expect(try rows.advance(to: database.snapshot().view).insertions.count == 100)
    // Cancel while rows are looked up after a purge.
    try database.write { _ = try $0.purge("150") }
    checks = 0
    try cancel(&rows, when: afterTen)
    #expect(checks == 11 && rows.window.count == 100)
    #expect(try rows.advance(to: database.snapshot().view).deletions == [50])
    try database.close()
  }

  @Test func `a step replaces only the rows of changed documents`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(
        contentsOf: (0..<4000).map { Document(id: "\($0)", ["n": .int(Int64($0 % 100))]) })
    }
    var rows = LiveRows(Query<Document>().sorted(by: "n").core, load: nil)
    _ = try rows.advance(to: database.snapshot().view)
    #expect(rows.window.count == 4000)
    let first = rows.list
    for number in 0..<20 {
      let id = "\(number * 199)"
      let before = rows.list
      try database.write { _ = try $0.replace(id, with: ["n": 1000]) }
      let difference = try rows.advance(to: database.snapshot().view)
      let move = try #require(difference.moves.first)
      #expect(before[move.from].id == id && rows.row(at: move.to).id == id && move.to > 3979)
      #expect(difference.moves.map(\.to) == difference.updates.map(\.to))
      #expect(difference.moves.count == 1 && difference.deletions.isEmpty)
    }
    // Rows that did not change keep their identity.
    var kept: Set<ObjectIdentifier> = []
    first.forEach { kept.insert(ObjectIdentifier($0)) }
    rows.list.forEach { kept.remove(ObjectIdentifier($0)) }
    #expect(kept.count == 20)
    #expect(rows.row(at: 3999).id == "995")
    try database.close()
  }
}
