import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that reads of a damaged store report data that may be missing.
struct DamagePolicyTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var path: String { path(1) }

  private func path(_ segment: Int) -> String {
    "\(CrashFixture.path)/000000000\(segment).segment"
  }

  private func open(
    _ damage: DamagePolicy, isReadOnly: Bool = true, fixture: CrashFixture? = nil
  ) throws -> Database {
    try (fixture ?? self.fixture).open {
      $0.maintenance = .manual
      $0.isReadOnly = isReadOnly
      $0.damage = damage
    }
  }

  /// Returns the offset of a text's first or last occurrence in the log.
  private func offset(of text: String, in segment: Int = 1, isLast: Bool = false) throws -> Int {
    let bytes = try fixture.fileSystem.contents(of: path(segment), limit: 1 << 20).array
    let text = Array(text.utf8)
    let offsets = bytes.indices.lazy.filter { bytes[$0...].starts(with: text) }
    return try #require(isLast ? Array(offsets).last : offsets.first)
  }

  private func expectDamaged<R>(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
  ) {
    let error = #expect(
      throws: DatabaseError.self, "\(what)", sourceLocation: sourceLocation
    ) { _ = try body() }
    #expect(error?.code == .damaged, "\(what)", sourceLocation: sourceLocation)
    #expect(error?.path != nil, "\(what)", sourceLocation: sourceLocation)
  }

  private func id(_ number: Int) -> String { "document \(number)." }

  private func fill(_ count: Int) throws {
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<count {
        _ = try transaction.replace(
          id(number), with: ["text": .string("\(number) of \(count)"), "n": .int(Int64(number))])
      }
    }
    try database.close()
  }

  // Found by an audit: a damaged size exhausted the read limit of the search for records.
  @Test(arguments: [0, 1, 4])
  func `a flipped bit in the framing of a large attachment loses no document`(byte: Int) throws {
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.attachmentInlineLimit = 64 << 10
    }
    var random = SeededGenerator(seed: 5)
    let content = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    try database.write { transaction in
      var document = Document(id: "attached")
      document.attachments["a"] = Document.Attachment(contentType: "x/y", content)
      _ = try transaction.put(document)
      for number in 0..<300 { _ = try transaction.replace(id(number), with: ["n": 1]) }
    }
    try database.close()
    let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20).array
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: content.prefix(64)) })
    // The content follows its length, its digest, two bytes, the checksum and the record's size.
    try fixture.fileSystem.corrupt(path, atOffset: start - (3 + 32 + 2 + 4 + 3) + byte, mask: 2)
    let opened = try open(.salvage)
    #expect(!opened.openingReport.damage.isEmpty)
    for number in 0..<300 { #expect(try opened.snapshot().document(id(number)) != nil) }
    expectDamaged("the content") {
      _ = try opened.snapshot().document("attached")?.attachments["a"]?.data()
    }
  }

  // Found by an external trial: 300 documents were missing, and only the opening report said so.
  @Test func `one flipped byte in a transaction of 300 documents loses one document`() throws {
    try fill(300)
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "150 of 300"), mask: 1)
    expectDamaged("opening for writing") { try open(.reject, isReadOnly: false) }
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    expectDamaged("count") { try snapshot.count }
    for number in 0..<300 where number != 150 {
      #expect(try snapshot.document(id(number))?["n"] == .int(Int64(number)))
      #expect(try snapshot.exists(id(number)))
      #expect(try snapshot.revision(of: id(number))?.generation == 1)
      #expect(try snapshot.leaves(of: id(number)).count == 1)
    }
    #expect(try snapshot.documents([id(3), id(4), id(299)]).compactMap(\.self).count == 3)
    for id in [id(150), "none"] {
      expectDamaged(id) { try snapshot.document(id) }
      expectDamaged(id) { try snapshot.exists(id) }
      expectDamaged(id) { try snapshot.revision(of: id) }
      expectDamaged(id) { try snapshot.revisions(of: id) }
      expectDamaged(id) { try snapshot.tombstone(id) }
      expectDamaged(id) { try snapshot.expiry(of: id) }
      expectDamaged(id) { try snapshot.branches(of: id) }
      expectDamaged(id) { try snapshot.documents([self.id(3), id]) }
    }
    expectDamaged("a range") {
      let cursor = snapshot.ids(.prefix("document 1"))
      return try cursor.collect()
    }
    expectDamaged("changes") {
      let cursor = snapshot.changes()
      return try cursor.collect()
    }
    let some = Query<Document>().filter { $0["n"] > 3 }.sorted(by: "n")
    expectDamaged("a query") { try snapshot.find(some) }
    expectDamaged("a query's count") { try snapshot.count(some) }
    expectDamaged("the count of all") { try snapshot.count(Query<Document>()) }
    expectDamaged("a sum") { try snapshot.sum(Query<Document>()) { $0["n"] } }
    expectDamaged("a view") {
      try snapshot.rowCount(
        of: MapReduceView("n", version: "1") { document, emit in
          emit(document["n"] ?? .null)
        })
    }
    expectDamaged("missing") { try snapshot.missingRevisions(among: [id(150): []]) }
    expectDamaged("leaves") { try snapshot.leaves(of: id(150)) }
    expectDamaged("statistics") { try database.statistics }
    expectDamaged("named snapshots") { try database.namedSnapshots() }
    expectDamaged("a named snapshot") { try database.snapshot(named: "none") }
    expectDamaged("an earlier version") { try database.snapshot(at: 1).count }
    expectDamaged("indexes") { try database.indexes() }
    expectDamaged("an index") { try snapshot.ids(by: "none") }
    expectDamaged("an export") {
      try snapshot.exportJSONLines { _ in }
    }
    expectDamaged("a local document") { try snapshot.localDocument("none") }
    expectDamaged("local documents") { try snapshot.localDocumentIDs() }

    let left = try open(.salvage, isReadOnly: false)
    #expect(left.openingReport.salvagedRecords == 299)
    #expect(!left.openingReport.damage.isEmpty)
    #expect(try left.snapshot().count == 299)
    for number in 0..<300 {
      #expect(try (left.snapshot().document(id(number)) == nil) == (number == 150))
    }
    let ids = try left.snapshot().ids()
    #expect(try ids.collect().count == 299)
    #expect(throws: DatabaseError.self) { try left.write { _ in } }
  }

  @Test func `records after the damage are certain; the count and absent documents are not`() throws
  {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      for text in ["first", "second", "third"] {
        try database.write { _ = try $0.replace(text, with: ["text": .string("\(text) text")]) }
      }
      try database.write { _ = try $0.replace("first", with: ["text": "again"]) }
      try database.write { _ = try $0.delete("third") }
      try database.write { try $0.putLocal("local", ["n": 1]) }
      try database.close()
    }
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "third text"), mask: 4)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("first")?["text"] == "again")
    #expect(try snapshot.document("third") == nil)
    #expect(try snapshot.tombstone("third") != nil)
    #expect(try snapshot.localDocument("local") == ["n": 1])
    // The lost record increased the document count, so it belonged to no existing document.
    #expect(try snapshot.document("second")?["text"] == "second text")
    expectDamaged("none") { try snapshot.document("none") }
    expectDamaged("count") { try snapshot.count }
    let remains = try open(.salvage)
    let left = try remains.snapshot()
    #expect(try left.document("second") != nil)
    #expect(try left.count == 2)
  }

  @Test func `after damage behind a checkpoint, the count equals the documents that are found`()
    throws
  {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<40, size: 50)
      try database.writeCheckpoint()
      try database.write { transaction in
        for number in 0..<10 {
          _ = try transaction.replace(id(number), with: ["text": .string("new \(number)")])
        }
        _ = try transaction.delete("doc-7")
      }
      try database.write { _ = try $0.replace("last", with: ["text": "end"]) }
      try database.close()
    }
    let segment = try #require(
      try (1...9).first { segment in
        try fixture.fileSystem.exists(path(segment))
          && fixture.fileSystem.contents(of: path(segment), limit: 1 << 20).array.contains(
            Array("new 4".utf8))
      })
    try fixture.fileSystem.corrupt(
      path(segment), atOffset: try offset(of: "new 4", in: segment), mask: 4)
    let remains = try open(.salvage)
    let left = try remains.snapshot()
    let ids = left.ids()
    let all = try ids.collect()
    #expect(try left.count == all.count)
    // The fixture adds one document of its own.
    #expect(all.count == 1 + 40 - 1 + 9 + 1)
    let changes = left.changes()
    let changed = try changes.collect().map(\.id)
    #expect(Set(changed).count == changed.count)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("last") != nil)
    // The document count shows that one new document is lost.
    for id in ["doc-1", id(3), id(5)] { #expect(try snapshot.document(id) != nil, "\(id)") }
    #expect(try snapshot.document("doc-7") == nil)
    for id in [id(4), "none"] { expectDamaged(id) { try snapshot.document(id) } }
  }

  /// Commits ten documents, then changes to three of them, then another document.
  private func change() throws {
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<10 { _ = try transaction.replace(id(number), with: ["text": "old"]) }
    }
    try database.write { transaction in
      for number in 3..<6 {
        _ = try transaction.replace(id(number), with: ["text": .string("new \(number)")])
      }
    }
    try database.write { _ = try $0.replace("last", with: ["text": "end"]) }
    try database.close()
  }

  @Test func `after a lost change, every document with only earlier records is uncertain`() throws {
    try change()
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "new 4"), mask: 1)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("last")?["text"] == "end")
    #expect(try snapshot.document(id(5))?["text"] == "new 5")
    for number in [0, 3, 4, 9] { expectDamaged("\(number)") { try snapshot.document(id(number)) } }
    #expect(try open(.salvage).snapshot().document(id(4))?["text"] == "old")
  }

  @Test func `after a lost deletion, every document that it may have deleted is uncertain`() throws
  {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      for number in 0..<4 {
        try database.write { _ = try $0.replace(id(number), with: ["n": 1]) }
      }
      try database.write { _ = try $0.delete(id(2)) }
      try database.write { _ = try $0.replace("last", with: ["text": "end"]) }
      try database.close()
    }
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: id(2), isLast: true), mask: 1)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("last") != nil)
    for number in 0..<4 { expectDamaged("\(number)") { try snapshot.document(id(number)) } }
  }

  @Test func `after a lost record, a document that was deleted earlier is uncertain`() throws {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      for id in ["kept", "deleted"] {
        try database.write { _ = try $0.replace(id, with: ["n": 1]) }
      }
      try database.write { _ = try $0.delete("deleted") }
      try database.write { _ = try $0.replace("deleted", with: ["text": "revived"]) }
      try database.close()
    }
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "revived"), mask: 1)
    let database = try open(.reject)
    #expect(try database.snapshot().document("kept") != nil)
    expectDamaged("deleted") { try database.snapshot().document("deleted") }
  }

  // The bytes are of the frame's header, of records with their sizes and checksums, and of the
  // trailer. The suite `bytes` flips every bit.
  @Test func `damage to any byte of a transaction never makes a read return an older revision`()
    throws
  {
    try change()
    let start = try offset(of: "old", isLast: true)
    let end = try offset(of: "end")
    var (right, refused) = (0, 0)
    for offset in start..<end {
      let mask = 1 << UInt8(offset % 8) as UInt8
      try fixture.fileSystem.corrupt(path, atOffset: offset, mask: mask)
      let database = try open(.reject)
      let snapshot = try database.snapshot()
      for number in 0..<10 {
        do {
          let text = try snapshot.document(id(number))?["text"]
          let expected = (3..<6).contains(number) ? "new \(number)" : "old"
          #expect(text == .string(expected), "byte \(offset), \(number)")
          right += 1
        } catch let error as DatabaseError {
          #expect(error.code == .damaged)
          refused += 1
        }
      }
      #expect(throws: DatabaseError.self) { try snapshot.count }
      // Restores the byte.
      try fixture.fileSystem.corrupt(path, atOffset: offset, mask: mask)
    }
    #expect(right > 200 && refused > 1000, "\(right) right, \(refused) refused")
  }

  @Test func `index reads and queries of a damaged store throw instead of leaving documents out`()
    throws
  {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try database.addIndex(DocumentIndex("by number", path: ["n"]))
      try database.close()
    }
    try fill(40)
    try fixture.fileSystem.corrupt(path(2), atOffset: try offset(of: "20 of 40", in: 2), mask: 1)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    expectDamaged("count") { try snapshot.count(by: "by number") }
    expectDamaged("IDs") {
      let ids = try snapshot.ids(by: "by number")
      return try ids.collect()
    }
    expectDamaged("documents") {
      let documents = try snapshot.documents(by: "by number")
      return try documents.collect()
    }
    let some = Query<Document>().filter { $0["n"] > 3 }
    expectDamaged("a query's count") { try snapshot.count(some) }
    expectDamaged("a query") { try snapshot.find(some) }
    #expect(try open(.salvage).snapshot().count(some) == 35)
  }

  @Test(.timeLimit(.minutes(30)))
  func `a loop that ignores damage errors still ends`() async throws {
    try fill(30)
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "15 of 30"), mask: 1)
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    var errorCount = 0
    var documents = snapshot.documents()
    while true {
      do {
        guard try documents.next() != nil else { break }
      } catch {
        errorCount += 1
      }
    }
    try snapshot.forEachValue(
      of: DocumentIndex("by number", path: ["n"]), orDamaged: { _ in errorCount += 1 },
      { _, _ in Issue.record("a value") })
    #expect(errorCount == 2)
    var feed = database.changeFeed().makeAsyncIterator()
    await #expect(throws: DatabaseError.self) { _ = try await feed.next() }
    let position = FeedPosition(storeID: database.storeID, sequence: 1 << 59)
    expectDamaged("a position") { try database.changeFeed(since: position) }
  }

  @Test func `after the log has lost its end, every read is uncertain`() throws {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 200)
      try database.close()
    }
    let size = try fixture.fileSystem.status(path).size
    try fixture.fileSystem.truncate(path, toSize: size - 60)
    expectDamaged("opening for writing") { try open(.reject, isReadOnly: false) }
    let database = try open(.reject)
    let snapshot = try database.snapshot()
    for number in 0..<4 { expectDamaged("\(number)") { try snapshot.document("doc-\(number)") } }
    expectDamaged("count") { try snapshot.count }
    #expect(try open(.salvage).snapshot().count >= 3)
  }

  // Found by an external trial: the copy had 99 of 100 documents, and looked sound.
  @Test(arguments: [DamagePolicy.reject, .salvage])
  func `a backup of a damaged store is refused`(policy: DamagePolicy) throws {
    try fill(100)
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "50 of 100"), mask: 1)
    let database = try open(policy)
    expectDamaged("backup") { try database.backup(to: "/copy.divan") }
    #expect(try !fixture.fileSystem.exists("/copy.divan"))
    #expect(try !fixture.fileSystem.exists("/copy.divan.building"))
  }

  @Test func `damage before a checkpoint affects only the damaged document`() throws {
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<20, size: 50)
      try database.writeCheckpoint()
      try database.close()
    }
    try fixture.fileSystem.corrupt(path, atOffset: try offset(of: "doc-3") + 30, mask: 1)
    let database = try open(.reject, isReadOnly: false)
    // The fixture adds one document of its own.
    #expect(try database.snapshot().count == 1 + 20)
    expectDamaged("doc-3") { try database.snapshot().document("doc-3") }
    #expect(try database.snapshot().document("doc-4") != nil)
    expectDamaged("backup") { try database.backup(to: "/copy.divan") }
  }
}
