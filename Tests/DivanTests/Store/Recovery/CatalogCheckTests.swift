import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

extension Database {
  /// Appends a record of a kind with any payload, and returns its location.
  fileprivate func plant(_ kind: Record.Kind, _ payload: [UInt8]) throws -> RecordLocator {
    try write { try $0.appendRecord(kind, id: nil) { writer in writer.append(payload) } }
  }

  fileprivate func plant(
    _ kind: Record.Kind, _ encode: (inout ByteWriter) -> Void
  ) throws -> RecordLocator {
    try write { try $0.appendRecord(kind, id: nil, encode: encode) }
  }
}

extension Version {
  fileprivate mutating func lead(_ key: [UInt8], to locator: RecordLocator) {
    var scratch = ByteWriter()
    setCatalog(key, leadingTo: locator, scratch: &scratch)
  }
}

/// Tests of index entries that contradict the log: `check()` finds them, and reads report damage.
///
/// The entries are of attachments, local documents, expiries, snapshots, indexes and documents.
struct CatalogCheckTests {
  private let database: Database
  private let poster = [UInt8](repeating: 1, count: 100_000)

  init() throws {
    var configuration = Configuration.small(on: MemoryFileSystem())
    configuration.maintenance = .manual
    configuration.history = .unlimited
    database = try Database(at: "/s", configuration: configuration)
    let poster = poster
    try database.write { transaction in
      var document = Document(id: "a", ["n": 1])
      document.attachments["note"] = Document.Attachment(contentType: "x/y", [1, 2, 3])
      document.attachments["poster"] = Document.Attachment(contentType: "x/y", poster)
      try transaction.put(document)
      try transaction.setExpiry(Date(timeIntervalSince1970: 4_000_000_000), of: "a")
      try transaction.putLocal("here", ["n": 1])
      try transaction.putLocal("there", ["n": 2])
    }
    try database.write { _ = try $0.replace("b", with: ["n": 1]) }
    try database.saveSnapshot(named: "first")
    try database.saveSnapshot(named: "second")
  }

  private var note: SHA256.Digest {
    SHA256.digest(of: SharedBytes(copying: [1, 2, 3]))
  }

  private func problems(_ tampering: (inout Version) -> Void) throws -> [String] {
    database.tamper(tampering)
    let report = try database.check()
    for problem in report.problems { #expect(problem.code == .damaged) }
    return report.problems.map(\.message)
  }

  private func locator(_ key: [UInt8]) throws -> RecordLocator {
    try #require(try database.store.view().locator(in: \.catalog, key))
  }

  private func expectDamage(_ body: () throws -> Void) {
    let error = #expect(throws: DatabaseError.self) { try body() }
    #expect(error?.code == .damaged)
  }

  private func key(_ local: String) -> [UInt8] { CatalogKey.local(SharedBytes(utf8: local)) }
  private func name(_ name: String) -> [UInt8] { CatalogKey.named(SharedBytes(utf8: name)) }

  @Test func `a check of a sound catalog finds no problems`() throws {
    #expect(try problems { _ in }.isEmpty)
  }

  @Test func `a check finds local document entries that lead to a wrong or unreadable record`()
    throws
  {
    let here = try locator(key("here"))
    let wrong = "the index and the log disagree about a local document"
    let there = try locator(key("there"))
    #expect(try problems { $0.lead(key("here"), to: there) } == [wrong])
    expectDamage { _ = try database.snapshot().localDocument("here") }
    let removed = try database.plant(.localDocument) {
      LocalDocumentRecord(idBytes: SharedBytes(utf8: "here"), superseded: nil, body: nil).encode(
        to: &$0)
    }
    #expect(try problems { $0.lead(key("here"), to: removed) } == [wrong])
    expectDamage { _ = try database.snapshot().localDocument("here") }
    let garbage = try database.plant(.localDocument, [9])
    #expect(try problems { $0.lead(key("here"), to: garbage) }.first?.contains("flags") == true)
    expectDamage { _ = try database.snapshot().localDocument("here") }
    let document = try database.entry(of: "b").locator
    #expect(
      try problems { $0.lead(key("here"), to: document) }.first?
        .contains("not the one that the index names") == true)
    #expect(try problems { $0.lead(key("here"), to: here) }.isEmpty)
    #expect(try database.snapshot().localDocument("here")?["n"] == 1)
  }

  @Test func `listing local documents throws for an ID that is not UTF-8, but not in other ranges`()
    throws
  {
    let odd = try database.plant(.localDocument) {
      LocalDocumentRecord(
        idBytes: SharedBytes(copying: [0xFF]), superseded: nil,
        body: try? (["n": 1] as Value).stored
      ).encode(to: &$0)
    }
    _ = try problems { $0.lead(CatalogKey.local(SharedBytes(copying: [0xFF])), to: odd) }
    expectDamage { _ = try database.snapshot().localDocumentIDs() }
    let ids = try database.snapshot().localDocumentIDs(..<"z")
    #expect(ids == ["here", "there"])
  }

  @Test func `a check finds expiry entries that no document has, and missing ones`() throws {
    let expiry = try #require(
      try database.snapshot().view.newestRecord(
        of: database.entry(of: "a"), "a"
      ).details?.expiry)
    let a = SharedBytes(utf8: "a")
    let wrong = "the index and the log disagree about an expiry"
    let count = "the index has 2 expiries, and 1 documents expire"
    let value: [UInt8] = [1]
    for key in [
      CatalogKey.expiry(expiry + 1, a), CatalogKey.expiry(expiry, SharedBytes(utf8: "b")),
      CatalogKey.expiry(expiry, SharedBytes(utf8: "missing")),
      CatalogKey.expiry(expiry, SharedBytes(copying: [0xFF])),
      [CatalogKey.Kind.expiry.rawValue, 1, 2],
    ] {
      #expect(try problems { $0.catalog.set(key.span, value.span) } == [wrong, count], "\(key)")
      #expect(try problems { $0.catalog.remove(key.span) }.isEmpty)
    }
    // No document is purged because of an entry that only the index has.
    let past = CatalogKey.expiry(1, SharedBytes(utf8: "b"))
    database.tamper { $0.catalog.set(past.span, value.span) }
    #expect(try database.purgeExpiredDocuments() == 0)
    #expect(try database.snapshot().document("b") != nil)
    database.tamper { $0.catalog.remove(past.span) }
    #expect(
      try problems { $0.catalog.remove(CatalogKey.expiry(expiry, a).span) }
        == ["the index has 0 expiries, and 1 documents expire"])
  }

  @Test func `a check finds named snapshots and commit points under the wrong key`() throws {
    let first = try locator(name("first"))
    let wrong = "the index and the log disagree about a named snapshot"
    let second = try locator(name("second"))
    #expect(try problems { $0.lead(name("first"), to: second) } == [wrong])
    let removed = try database.plant(.snapshotName) {
      SnapshotNameRecord(name: SharedBytes(utf8: "first"), superseded: nil, commitPoint: nil)
        .encode(
          to: &$0)
    }
    #expect(try problems { $0.lead(name("first"), to: removed) } == [wrong])
    // Reading it reports that there is none.
    let error = #expect(throws: DatabaseError.self) { try database.snapshot(named: "first") }
    #expect(error?.code == .notFound)
    #expect(try database.namedSnapshots().map(\.name) == ["second"])
    let garbage = try database.plant(.snapshotName, [9])
    #expect(try problems { $0.lead(name("first"), to: garbage) }.first?.contains("flags") == true)
    expectDamage { _ = try database.snapshot(named: "first") }
    #expect(try problems { $0.lead(name("first"), to: first) }.isEmpty)

    let moment = try locator(CatalogKey.commitPoint(1))
    let other = try locator(CatalogKey.commitPoint(2))
    #expect(
      try problems { $0.lead(CatalogKey.commitPoint(1), to: other) }
        == ["the index and the log disagree about a commit point"])
    let odd = try database.plant(.commitPoint, [9])
    #expect(try problems { $0.lead(CatalogKey.commitPoint(1), to: odd) }.count == 1)
    expectDamage { _ = try database.snapshot(at: Date(timeIntervalSince1970: 1)) }
    #expect(try problems { $0.lead(CatalogKey.commitPoint(1), to: moment) }.isEmpty)
  }

  @Test func `a check finds missing, swapped and unreadable attachments`() throws {
    let key = CatalogKey.attachment(note)
    let original = try locator(key)
    let document = try #require(try database.snapshot().document("a"))
    let attachment = try #require(document.attachments["note"])
    let poster = try locator(CatalogKey.attachment(SHA256.digest(of: SharedBytes(copying: poster))))
    func read() throws {
      _ = try #require(try database.read { try $0.document("a") })
        .attachments["note"]?.data()
    }
    #expect(
      try problems { $0.lead(key, to: poster) } == [
        "the store is damaged: the record is of another attachment"
      ])
    expectDamage { try read() }
    let garbage = try database.plant(.attachment, [9])
    #expect(try problems { $0.lead(key, to: garbage) }.first?.contains("unknown form") == true)
    expectDamage { try read() }
    #expect(
      try problems { $0.catalog.remove(key.span) }.first?.contains("\"note\" is missing") == true)
    expectDamage { try read() }
    // Content that was read before is still there.
    #expect(try attachment.data() == Data([1, 2, 3]))
    #expect(try problems { $0.lead(key, to: original) }.isEmpty)
    let short: [UInt8] = [CatalogKey.Kind.attachment.rawValue, 1]
    #expect(
      try problems { $0.lead(short, to: original) } == [
        "the index has an invalid attachment digest"
      ])
    // An entry that cannot be interpreted is kept.
    try database.compact()
    #expect(try problems { _ in } == ["the index has an invalid attachment digest"])
    #expect(try problems { $0.catalog.remove(short.span) }.isEmpty)
    // The length in a document must match the content.
    let wrong = Document.Attachment(
      contentType: "x/y", length: 4, generation: 1, body: attachment.body)
    expectDamage { _ = try wrong.data() }
  }

  @Test func `a check finds index definitions that are swapped, removed or unreadable`() throws {
    for name in ["m", "n"] { try database.addIndex(DocumentIndex(name, on: "n")) }
    #expect(try problems { _ in }.isEmpty)
    let n = CatalogKey.index(SharedBytes(utf8: "n"))
    let (sound, other) = (
      try locator(n), try locator(CatalogKey.index(SharedBytes(utf8: "m")))
    )
    let wrong = "the index and the log disagree about an index of documents"
    #expect(try problems { $0.lead(n, to: other) } == [wrong])
    let removed = try database.plant(.indexDefinition) {
      IndexDefinitionRecord(name: SharedBytes(utf8: "n"), superseded: nil, definition: nil).encode(
        to: &$0)
    }
    #expect(try problems { $0.lead(n, to: removed) } == [wrong])
    let unknown = try database.plant(.indexDefinition) {
      IndexDefinitionRecord(
        name: SharedBytes(utf8: "n"), superseded: nil,
        definition: IndexDefinition(index: DocumentIndex("n", on: "n"), number: 999, isReady: true)
      ).encode(to: &$0)
    }
    #expect(try problems { $0.lead(n, to: unknown) } == [wrong])
    let garbage = try database.plant(.indexDefinition, [0xFF])
    #expect(try problems { $0.lead(n, to: garbage) }.first?.contains("flags") == true)
    #expect(try problems { $0.lead(n, to: sound) }.isEmpty)
    // A query of an index with an unreadable record reports damage, not that there is no such
    // index.
    let lost = CatalogKey.index(SharedBytes(utf8: "lost"))
    database.tamper { $0.lead(lost, to: garbage) }
    expectDamage { _ = try database.snapshot().ids(by: "lost") }
  }

  // A check that counted the entries of indexes of values only took this store for sound.
  @Test func `a check finds entries of values with the number of a full-text index`() throws {
    try database.addIndex(DocumentIndex("words", fullText: "text"))
    #expect(try problems { _ in }.isEmpty)
    let definition = try #require(
      try database.store.view().state.indexes.first { $0.index.name == "words" })
    let key = IndexEntries.prefix(definition.number) + IndexedValue(.null).bytes + [0x61]
    let one: [UInt8] = [1]
    #expect(
      try problems { $0.catalog.set(key.span, one.span) }
        == [#"the index "words" has entries of another kind of index"#])
    #expect(try problems { $0.catalog.remove(key.span) }.isEmpty)
  }

  @Test func `a check finds index entries that are invalid or lead to no document`() throws {
    try database.addIndex(DocumentIndex("n", on: "n", isUnique: false))
    try database.addIndex(DocumentIndex("text", on: "text", isUnique: true))
    let long = String(repeating: "x", count: 300)
    try database.write { _ = try $0.replace("long", with: ["text": .string(long)]) }
    #expect(try problems { _ in }.isEmpty)
    let count = try database.snapshot().count(by: "n")
    func prefix(_ name: String) throws -> [UInt8] {
      IndexEntries.prefix(
        try #require(try database.store.view().state.indexes.first { $0.index.name == name }).number
      )
    }
    let one: [UInt8] = [1]
    // Two sizes, a size that exceeds the key, and no value at all.
    for (rest, value) in [([1, 2], [1, 1]), ([1, 2], [3]), ([1, 2], [2])] as [([UInt8], [UInt8])] {
      let key = try prefix("n") + rest
      #expect(
        try problems { $0.catalog.set(key.span, value.span) }
          == [#"the index "n" has \#(count + 1) entries, and should have \#(count)"#])
      expectDamage { _ = try database.snapshot().count(by: "n") }
      #expect(try problems { $0.catalog.remove(key.span) }.isEmpty)
    }
    // An entry that is too short for an index number belongs to no index.
    let short = [CatalogKey.Kind.indexEntry.rawValue, 0]
    #expect(try problems { $0.catalog.set(short.span, one.span) }.isEmpty)
    #expect(try database.snapshot().count(by: "n") == count)
    database.tamper { $0.catalog.remove(short.span) }
    // An ID must be valid UTF-8.
    let invalidID = try prefix("n") + IndexedValue(.null).bytes + [0xFF]
    database.tamper { $0.catalog.set(invalidID.span, one.span) }
    expectDamage { _ = try database.snapshot().ids(by: "n").collect() }
    database.tamper { $0.catalog.remove(invalidID.span) }
    // Where the value is cut, the document is read. One does not exist; the other one is found.
    let orphan = try prefix("text") + IndexedValue(.string(long)).bytes + Array("missing".utf8)
    let size: [UInt8] = [6]
    database.tamper { $0.catalog.set(orphan.span, size.span) }
    let found = try database.snapshot().ids(by: "text", IndexRange(from: .string(long))).collect()
    #expect(found == ["long"])
    database.tamper { $0.catalog.remove(orphan.span) }
    // Nor does such an entry make a value count as a duplicate.
    let doubled = try prefix("text") + IndexedValue("a").bytes + Array("zz".utf8)
    let huge: [UInt8] = [200]
    database.tamper { $0.catalog.set(doubled.span, huge.span) }
    try database.write { _ = try $0.replace("a", with: ["text": "a"]) }
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.replace("b", with: ["text": "a"]) }
    }
    #expect(error?.code == .notUnique)
  }

  @Test func `an unreadable revision tree damages only its document`() throws {
    let revision = RevisionID(generation: 1, digest: .own(1, 2))
    for (id, tree) in [("garbage", [0xFF, 0xFF, 9] as [UInt8]), ("empty", [0])] {
      var record = try DocumentRecord.forged(id, sequence: 20, revision)
      record.details = DocumentDetails(tree: SharedBytes(copying: tree))
      try database.adopt(record)
      expectDamage { _ = try database.snapshot().leaves(of: id) }
      let document = Document(id: id, revision: revision, EncodedValue(record.body))
      expectDamage { try database.write { _ = try $0.put(document) } }
    }
    #expect(try database.snapshot().document("b") != nil)
  }

  @Test func `a check finds an index entry that names the wrong winner`() throws {
    let revisions = try ["2-bb", "2-cc"].map { try RevisionID(parsing: $0) }
    try database.write { transaction in
      for revision in revisions {
        _ = try transaction.insert(
          Document(id: "c", ["r": .string("\(revision)")]), history: [revision])
      }
    }
    let sound = try database.entry(of: "c")
    #expect(sound.revision == revisions[1])
    #expect(try problems { _ in }.isEmpty)
    // According to the index, a third revision wins.
    var wrong = sound
    wrong.revision = RevisionID(generation: 9, digest: .own(9, 9))
    database.tamper { $0.set(wrong, for: Array("c".utf8)) }
    #expect(
      try problems { _ in } == ["the index and the log disagree about a revision"])
    let document = Document(
      id: "c", revision: wrong.revision, EncodedValue(try (["n": 1] as Value).stored))
    expectDamage { try database.write { _ = try $0.put(document) } }
    // The other leaf's record is missing.
    wrong = sound
    database.tamper {
      $0.set(sound, for: Array("c".utf8))
      $0.retained.remove(RetainedKey.bytes(SharedBytes(utf8: "c"), sound.sequence - 1).span)
    }
    expectDamage { _ = try database.snapshot().leaves(of: "c") }
  }

  @Test func `a check finds a record that names another winner than its revision tree has`()
    throws
  {
    try database.write { _ = try $0.replace("b", with: ["n": 2]) }
    let current = try database.entry(of: "b")
    var record = try DocumentRecord.forged(
      "b", sequence: current.sequence + 1, RevisionID(parsing: "1-bb"))
    record.superseded = .init(sequence: current.sequence, locator: current.locator)
    record.details = DocumentDetails(
      winner: .init(
        revision: RevisionID(generation: 9, digest: .own(9, 9)), isDeleted: false, sequence: 2),
      mayRetainOlder: true)
    try database.write { try $0.addNewestRecord(record, id: "b", over: current) }
    #expect(
      try problems { _ in } == ["the document's revision tree: the index has another winner"])
  }
}
