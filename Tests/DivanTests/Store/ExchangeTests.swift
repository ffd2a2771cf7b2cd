import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of the operations that a replicator needs.
struct ExchangeTests {
  private let disk = SimulatedDisk(seed: 24)

  private func open() throws -> Database {
    try Database(at: "/exchange.divan", configuration: disk.configuration())
  }

  /// Returns the revisions of texts such as `3-c`.
  private func revisions(_ texts: String...) throws -> [RevisionID] {
    try texts.map { try #require(RevisionID($0)) }
  }

  private func leaf(_ text: String, isDeleted: Bool = false) throws -> LeafRevision {
    LeafRevision(id: try #require(RevisionID(text)), isDeleted: isDeleted)
  }

  // MARK: Leaves

  /// Gives a document three leaves, one of them deleted.
  private func branch(_ database: Database) throws {
    try database.write { transaction in
      try transaction.insert(Document(id: "d", ["n": 1]), history: revisions("2-b", "1-a"))
      try transaction.insert(Document(id: "d", ["n": 2]), history: revisions("2-c", "1-a"))
      try transaction.insert(
        Document(id: "d"), history: revisions("3-x", "2-d", "1-a"), isDeleted: true)
      try transaction.put(Document(id: "plain"))
    }
  }

  @Test func `the feed and snapshots list all leaves, including deleted ones, the winner first`()
    async throws
  {
    let database = try open()
    try branch(database)
    let expected = try [leaf("2-c"), leaf("2-b"), leaf("3-x", isDeleted: true)]
    let snapshot = try database.snapshot()
    #expect(try snapshot.leafRevisions(of: "d") == expected)
    #expect(try snapshot.leafRevisions(of: "none") == [])
    let plain = try #require(try snapshot.revision(of: "plain"))
    #expect(
      try snapshot.leafRevisions(of: "plain") == [LeafRevision(id: plain, isDeleted: false)])
    var seen: [String: Change] = [:]
    for try await change in database.changeFeed() {
      seen[change.id] = change
      if seen.count == 2 { break }
    }
    #expect(seen["d"]?.leaves == expected && seen["d"]?.hasConflicts == true)
    #expect(seen["plain"]?.leaves.map(\.id) == [plain] && seen["plain"]?.hasConflicts == false)

    // A deleted leaf is no conflict.
    try await database.write { transaction in
      for leaf in try transaction.branches(of: "d").dropFirst() { try transaction.delete(leaf) }
    }
    let changes = try database.snapshot().changes()
    let change = try #require(try changes.collect().first { $0.id == "d" })
    #expect(change.leaves.map(\.isDeleted) == [false, true, true] && !change.hasConflicts)
    #expect(try change.leaves.map(\.id) == database.snapshot().leaves(of: "d").map(\.revision))
  }

  // MARK: Within a transaction

  @Test func `a transaction reads like a snapshot that includes its own changes`() throws {
    let database = try open()
    try database.write {
      try $0.insert(Document(id: "old", ["n": 1]), history: revisions("2-b", "1-a"))
    }
    let before = try database.snapshot()
    try database.write { transaction in
      try transaction.insert(Document(id: "old", ["n": 2]), history: revisions("3-c", "2-b"))
      try transaction.insert(
        Document(id: "gone", ["last": 1]), history: revisions("2-y", "1-x"), isDeleted: true)
      #expect(try transaction.revision(of: "old")?.description == "3-c")
      #expect(try transaction.revisions(of: "old") == revisions("3-c", "2-b", "1-a"))
      #expect(
        try transaction.revisions(leadingTo: revisions("2-b")[0], of: "old")
          == revisions("2-b", "1-a"))
      #expect(try transaction.revision(revisions("3-c")[0], of: "old")?["n"] == 2)
      #expect(try transaction.revision(revisions("9-z")[0], of: "old") == nil)
      #expect(try transaction.tombstone("gone")?["last"] == 1)
      #expect(try transaction.tombstone("old") == nil)
      #expect(try transaction.leafRevisions(of: "gone") == [leaf("2-y", isDeleted: true)])
      #expect(try transaction.leafRevisions(of: "old") == [leaf("3-c")])
      let missing = try transaction.missingRevisions(among: [
        "old": revisions("3-c", "4-d"), "gone": revisions("2-y"), "new": revisions("1-q"),
      ])
      #expect(try missing["old"]?.missing == revisions("4-d"))
      #expect(try missing["old"]?.possibleAncestors == revisions("3-c"))
      #expect(missing["gone"] == nil)
      #expect(try missing["new"]?.missing == revisions("1-q"))
      let cursor = try transaction.changes(since: before.sequence)
      #expect(try cursor.collect().map(\.id) == ["old", "gone"])
      #expect(try transaction.changeCount(since: before.sequence) == 2)
      #expect(try transaction.changeCount() == 2)
    }
    #expect(try before.changeCount() == 1)
    var kept: WriteTransaction?
    try database.write { kept = $0 }
    #expect(throws: DatabaseError.self) { try kept?.changeCount() }
    #expect(throws: DatabaseError.self) { try kept?.missingRevisions(among: [:]) }
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `the count of changes equals the number that the feed returns`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var configuration = disk.configuration()
    configuration.history = HistoryRetention(revisions: 20)
    let database = try Database(at: "/pending.divan", configuration: configuration)
    for _ in 0..<40 {
      try database.write { transaction in
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let id = "d\(Int.random(in: 0..<12, using: &random))"
          switch Int.random(in: 0..<6, using: &random) {
          case 0: try transaction.delete(id)
          case 1: try transaction.purge(id)
          default:
            try transaction.replace(id, with: ["n": .int(.random(in: 0..<9, using: &random))])
          }
        }
      }
      if Int.random(in: 0..<9, using: &random) == 0 { try database.compact() }
    }
    let snapshot = try database.snapshot()
    for sequence in 0...snapshot.sequence + 1 {
      let changes = snapshot.changes(since: sequence)
      let count = try changes.collect().count
      #expect(try snapshot.changeCount(since: sequence) == count, "seed \(seed), \(sequence)")
    }
    let past = try database.snapshot(at: snapshot.sequence - 5)
    for sequence in 0...past.sequence {
      let changes = past.changes(since: sequence)
      let count = try changes.collect().count
      #expect(try past.changeCount(since: sequence) == count, "seed \(seed), \(sequence)")
    }
  }

  // MARK: Batches

  @Test func `inserting a batch stores each revision or reports its error`() throws {
    let database = try open()
    database.setValidation(named: "bad") { revision in
      if revision.document["bad"] != nil { try revision.reject("it is bad") }
    }
    try database.write {
      try $0.insert(Document(id: "known"), history: revisions("1-a"))
    }
    let batch = try [
      IncomingRevision(Document(id: "new", ["n": 1]), history: revisions("2-b", "1-a")),
      IncomingRevision(Document(id: "known"), history: revisions("1-a")),
      IncomingRevision(Document(id: "_no"), history: revisions("1-a")),
      IncomingRevision(Document(id: "odd"), history: revisions("3-c", "1-a")),
      IncomingRevision(Document(id: "refused", ["bad": true]), history: revisions("1-a")),
      IncomingRevision(Document(id: "new", ["n": 2]), history: revisions("3-c", "2-b")),
      IncomingRevision(Document(id: "gone"), history: revisions("2-d", "1-c"), isDeleted: true),
    ]
    let results = try database.write { try $0.insert(contentsOf: batch, origin: "peer") }
    let outcomes = results.map { result in
      switch result {
      case .success(let isStored): isStored ? "stored" : "known"
      case .failure(let error): error.code.description
      }
    }
    #expect(
      outcomes == [
        "stored", "known", "invalidDocumentID", "invalidRevisionID", "validationFailed", "stored",
        "stored",
      ])
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("new")?["n"] == 2)
    #expect(try snapshot.revisions(of: "new") == revisions("3-c", "2-b", "1-a"))
    #expect(try snapshot.tombstone("gone") != nil)
    let ids = snapshot.ids()
    #expect(try ids.collect() == ["known", "new"])
    let changes = snapshot.changes()
    #expect(try changes.collect().filter { $0.origin == "peer" }.map(\.id) == ["new", "gone"])
    #expect(try database.check().problems.isEmpty)
  }

  @Test func `an error of the whole batch is thrown, and no revision is stored`() throws {
    var configuration = disk.configuration()
    configuration.transactionSizeLimit = 64 << 10
    let database = try Database(at: "/small.divan", configuration: configuration)
    let batch = try (0..<100).map { number in
      IncomingRevision(
        Document(id: "d\(number)", ["text": .string(String(repeating: "x", count: 2000))]),
        history: try revisions("1-a"))
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.insert(contentsOf: batch) }
    }
    #expect(error?.code == .transactionTooLarge)
    #expect(try database.snapshot().changeCount() == 0)
  }

  // MARK: Contradictory histories

  @Test func `a history that contradicts known revisions is refused, or the known ones count`()
    throws
  {
    let database = try open()
    func insert(_ history: [RevisionID], _ contradictions: HistoryContradictions) throws -> Bool {
      try database.write {
        try $0.insert(
          Document(id: "d", ["n": .int(Int64(history[0].generation))]), history: history,
          contradictions: contradictions)
      }
    }
    _ = try insert(revisions("3-c", "2-b", "1-a"), .rejected)
    let other = try revisions("4-d", "3-c", "2-x", "1-a")
    let error = #expect(throws: DatabaseError.self) { try insert(other, .rejected) }
    #expect(error?.code == .invalidRevisionID)
    #expect(try insert(other, .keepingKnown))
    // Two contradictions; the newest known revision counts.
    #expect(try insert(revisions("5-e", "4-d", "3-y", "2-b", "1-z"), .keepingKnown))
    #expect(try !insert(revisions("4-d", "3-y"), .keepingKnown))
    func compare(_ database: Database) throws {
      let snapshot = try database.snapshot()
      #expect(try snapshot.leafRevisions(of: "d") == [leaf("5-e")])
      #expect(try snapshot.revisions(of: "d") == revisions("5-e", "4-d", "3-c", "2-b", "1-a"))
      #expect(try database.check().problems.map(\.description) == [])
    }
    try compare(database)
    try database.close()
    try compare(try open())
  }

  @Test func `a parent that contradicts the digest of the revision is not adopted`() throws {
    // A revision of this store, whose parent was pruned.
    var configuration = disk.configuration()
    configuration.revisionDepth = 1
    let forgetful = try Database(at: "/exchange.divan", configuration: configuration)
    try forgetful.write { try $0.put(Document(id: "d", ["n": 1])) }
    try forgetful.write { try $0.update("d") { $0["n"] = 2 } }
    try forgetful.close()
    let database = try open()
    let document = try #require(try database.snapshot().document("d"))
    let own = try #require(document.revision)
    let wrong = try #require(RevisionID("1-ffffffffffffffffffffffffffffffff"))
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.insert(document, history: [own, wrong]) }
    }
    #expect(error?.code == .invalidRevisionID)
    let isStored = try database.write {
      try $0.insert(document, history: [own, wrong], contradictions: .keepingKnown)
    }
    #expect(!isStored)
    #expect(try database.snapshot().revisions(of: "d") == [own])
    #expect(try database.check().problems.isEmpty)
  }

  // MARK: Design documents

  @Test func `a design document is stored like any other document`() throws {
    let database = try open()
    let text =
      #"{"_id":"_design/films","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"views":{}}"#
    var lines = [Array(text.utf8)]
    let report = try database.importJSONLines { lines.popLast() }
    #expect(report.storedCount == 1)
    try database.write { try $0.update("_design/films") { $0["language"] = "swift" } }
    try database.close()
    let snapshot = try open().snapshot()
    #expect(try snapshot.document("_design/films")?["language"] == "swift")
    let ids = snapshot.ids(.prefix("_design/"))
    #expect(try ids.collect() == ["_design/films"])
  }

  // MARK: Attachments

  private typealias ForeignDigest = Document.Attachment.ForeignDigest

  @Test func `the external digest of an attachment persists until its content changes`()
    throws
  {
    let database = try open()
    let compressed = ForeignDigest("md5-abc==", encoding: "gzip", encodedLength: 3)
    let plain = ForeignDigest("sha1-def=")
    var document = Document(id: "film", ["n": 1])
    document.attachments["plot"] = Document.Attachment(contentType: "text/plain", [1, 2, 3, 4])
    document.attachments["plot"]?.foreignDigest = compressed
    document.attachments["plot"]?.generation = 2
    document.attachments["still"] = Document.Attachment(contentType: "image/png", [5])
    document.attachments["still"]?.foreignDigest = plain
    document.attachments["own"] = Document.Attachment(contentType: "image/png", [6])
    document.attachments["unknown"] = Document.Attachment(contentType: "image/png", [7])
    document.attachments["unknown"]?.foreignDigest = ForeignDigest("md5-x", encoding: "br")
    try database.write { [document] in
      try $0.insert(document, history: revisions("3-c", "2-b", "1-a"))
    }
    func expect(_ film: Document?, _ still: ForeignDigest?) throws {
      let attachments = try #require(film).attachments
      #expect(attachments["plot"]?.foreignDigest == compressed)
      #expect(attachments["plot"]?.generation == 2)
      #expect(attachments["still"]?.foreignDigest == still)
      #expect(attachments["own"]?.foreignDigest == nil && attachments["own"]?.generation == 3)
      #expect(attachments["unknown"]?.foreignDigest == ForeignDigest("md5-x", encoding: "br"))
      #expect(try attachments["plot"]?.data() == Data([1, 2, 3, 4]))
    }
    try expect(try database.snapshot().document("film"), plain)

    // The same revision in another store, and in one that imports it as JSON Lines.
    let copy = try Database.inMemory()
    let film = try #require(try database.snapshot().document("film"))
    try copy.write { try $0.insert(film, history: revisions("3-c", "2-b", "1-a")) }
    try expect(try copy.snapshot().document("film"), plain)
    var text: [UInt8] = []
    try database.snapshot().exportJSONLines { text += $0 }
    let imported = try Database.inMemory()
    var lines = text.split(separator: 0x0A).map { Array($0) + [0x0A] }
    try imported.importJSONLines { lines.isEmpty ? nil : lines.removeFirst() }
    try expect(try imported.snapshot().document("film"), plain)

    // Changing something else keeps the external digests; new content has none.
    try database.write { transaction in
      try transaction.update("film") { film in
        film["n"] = 2
        film.attachments["still"] = Document.Attachment(contentType: "image/png", [8])
      }
    }
    try expect(try database.snapshot().document("film"), nil)
    try database.compact()
    try expect(try database.snapshot().document("film"), nil)
    try database.close()
    let reopened = try open()
    try expect(try reopened.snapshot().document("film"), nil)
    #expect(try reopened.check().problems.isEmpty)
  }

  @Test func `importing a CouchDB dump keeps the digests of attachments`() throws {
    let database = try open()
    let text =
      #"{"_id":"a","_attachments":{"t":{"content_type":"text/plain","revpos":1,"#
      + #""digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","encoding":"gzip","encoded_length":25,"data":"aGVsbG8="}}}"#
    var lines = [Array(text.utf8)]
    try database.importJSONLines { lines.popLast() }
    let attachment = try database.snapshot().document("a")?.attachments["t"]
    #expect(
      attachment?.foreignDigest
        == ForeignDigest("md5-XUFAKrxLKna5cZ2REBfFkg==", encoding: "gzip", encodedLength: 25))
    #expect(try attachment?.data() == Data("hello".utf8))
  }

  @Test(arguments: [
    ForeignDigest(""), ForeignDigest(String(repeating: "x", count: 1025)),
    ForeignDigest("md5-a", encoding: ""), ForeignDigest("md5-a", encodedLength: 1),
    ForeignDigest("md5-a", encoding: "gzip", encodedLength: -1),
    ForeignDigest("md5-a", encoding: "gzip", encodedLength: .max),
  ])
  func `an invalid external digest of an attachment is refused`(
    digest: Document.Attachment.ForeignDigest
  ) throws {
    let database = try Database.inMemory()
    var document = Document(id: "a")
    document.attachments["x"] = Document.Attachment(contentType: "a/b", [1])
    document.attachments["x"]?.foreignDigest = digest
    let error = #expect(throws: DatabaseError.self) {
      try database.write { [document] in _ = try $0.put(document) }
    }
    #expect(error?.code == .invalidAttachment)
  }
}
