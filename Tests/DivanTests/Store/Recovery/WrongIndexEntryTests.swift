import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of index entries that are invalid or lead to the wrong record.
///
/// A reader that meets one gets an error and can continue after it.
struct WrongIndexEntryTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))

  private func id(_ number: Int) -> String { "doc-\(10_000 + number)" }

  private func store(
    _ count: Int = 200, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    let database = try fixture.open {
      $0.maintenance = .manual
      change(&$0)
    }
    try database.write { transaction in
      for number in 0..<count {
        try transaction.replace(id(number), with: ["n": .int(Int64(number))])
      }
    }
    return database
  }

  /// Replaces the index entry of a document with invalid bytes.
  private func spoil(_ number: Int, in database: Database) {
    let garbage: [UInt8] = [0xFF, 1]
    database.tamper { $0.documents.set(Array(id(number).utf8).span, garbage.span) }
  }

  /// Returns the IDs and the errors of a scan of all documents.
  private func scan(_ database: Database) throws -> (ids: [String], errors: [DatabaseError]) {
    var documents = try database.snapshot().documents()
    var (ids, errors) = ([String](), [DatabaseError]())
    while true {
      do {
        guard let document = try documents.next() else { return (ids, errors) }
        ids.append(document.id)
      } catch let error as DatabaseError {
        errors.append(error)
      }
    }
  }

  @Test func `a lookup that includes an invalid index entry throws instead of skipping it`()
    throws
  {
    let database = try store()
    spoil(10, in: database)
    func find(_ numbers: Range<Int>) throws -> [String] {
      let ids = numbers.map { id($0) }
      return try database.snapshot().find(Query<Document>().filter { $0.id.isIn(ids) }).map(\.id)
    }
    // A single document is looked up in another way than several.
    for numbers in [5..<15, 10..<11] {
      let error = #expect(throws: DatabaseError.self) { try find(numbers) }
      #expect(error?.code == .damaged && error?.message.contains("an index entry") == true)
    }
    for numbers in [11..<21, 11..<12] {
      #expect(try find(numbers) == numbers.map { id($0) })
    }
  }

  /// Documents are prefetched: those before the invalid entry are returned first.
  @Test func `a scan of documents throws at an invalid entry, and continues after it`() throws {
    let database = try store()
    spoil(10, in: database)
    let (ids, errors) = try scan(database)
    #expect(ids == (0..<200).filter { $0 != 10 }.map { id($0) })
    #expect(errors.map(\.code) == [.damaged])
    // Also if it is the first entry of a batch.
    spoil(0, in: database)
    let again = try scan(database)
    #expect(again.ids == (1..<200).filter { $0 != 10 }.map { id($0) })
    #expect(again.errors.count == 2)
  }

  @Test func `a scan of documents throws at an entry that leads to another document's record`()
    throws
  {
    let database = try store(3)
    let other = try database.entry(of: id(2))
    database.tamper { $0.set(other, for: Array(id(0).utf8)) }
    let (ids, errors) = try scan(database)
    #expect(ids == [id(1), id(2)])
    #expect(errors.map(\.documentID) == [id(0)])
    #expect(errors.allSatisfy { $0.message.contains(StoredDocument.wrongRecord) })
  }

  @Test func `an index is built from the documents even if the change order is wrong`()
    throws
  {
    let database = try store(3)
    let (first, last) = (try database.entry(of: id(0)), try database.entry(of: id(2)))
    database.tamper { $0.set(last.locator, forSequence: first.sequence) }
    try database.addIndex(DocumentIndex("n", on: "n"))
    let found = try database.snapshot().ids(by: "n", .equal(to: 2))
    #expect(try found.collect() == [id(2)])
    #expect(try !database.check().isSound)
  }

  @Test func `a count of all documents reports that the change order is wrong`() throws {
    let database = try store(3)
    let (first, last) = (try database.entry(of: id(0)), try database.entry(of: id(2)))
    let all = Query<Document>().filter { $0["n"] >= 0 }
    #expect(try database.snapshot().count(all) == 3)
    database.tamper { $0.set(last.locator, forSequence: first.sequence) }
    for _ in 0..<2 {
      let error = #expect(throws: DatabaseError.self) { try database.snapshot().count(all) }
      #expect(error?.code == .damaged)
      #expect(try database.snapshot().ids(all).count == 3)
    }
  }

  @Test func `an index build that fails with a read error succeeds later`() throws {
    let database = try store(3) { $0.readMode = .buffered }
    fixture.fileSystem.fail(.read, with: .inputOutput, isLasting: true)
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndex(DocumentIndex("n", on: "n"))
    }
    #expect(error?.code == .inputOutput)
    fixture.fileSystem.stopFailing()
    try database.addIndex(DocumentIndex("n", on: "n"))
    #expect(try database.snapshot().count(by: "n") == 3)
  }

  @Test func `an index build of thousands of documents reports progress while it reads them`()
    throws
  {
    // All documents are in one batch. A batch smaller than the reporting interval reports no
    // progress within it.
    let database = try store(10_000) { $0.indexBuildBatchSize = 20_000 }
    var shares: [Double] = []
    try database.addIndex(DocumentIndex("n", on: "n")) { share in
      shares.append(share)
    }
    #expect(shares.count >= 3 && shares == shares.sorted() && shares.last == 1, "\(shares)")
    #expect(try database.snapshot().count(by: "n") == 10_000)
  }

  /// The checksum of such a record is right, since it was written with that content.
  @Test func `a document with an invalid second property has no entry in a compound index`() throws
  {
    let sound = try (["a": 1, "b": "x"] as Value).stored.array
    // The text is one byte long and follows its tag.
    var (invalidTag, invalidText) = (sound, sound)
    invalidTag[sound.count - 2] = 0xFF
    invalidText[sound.count - 1] = 0xFF
    let database = try store(0)
    try database.addIndex(DocumentIndex("both", on: "a", "b"))
    for (sequence, (id, body)) in [("good", sound), ("tag", invalidTag), ("text", invalidText)]
      .enumerated()
    {
      let revision = try #require(RevisionID(generation: 1, digest: id))
      try database.adopt(
        DocumentRecord(
          idBytes: SharedBytes(utf8: id), sequence: UInt64(sequence + 1), revision: revision,
          isDeleted: false, ancestors: .none, body: SharedBytes(copying: body)))
    }
    let found = try database.snapshot().ids(by: "both")
    #expect(try found.collect() == ["good"])
  }
}
