import DivanTesting
import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of full-text indexes with the text of attachments, compared with that of all documents.
struct FullTextAttachmentTests {
  private typealias Fixture = AttachmentIndexFixture

  private let store = AttachmentIndexFixture()

  // MARK: Changes

  private static func words(_ random: inout SeededRandom, upTo count: Int) -> String {
    (0..<Int.random(in: 0...count, using: &random)).map { _ in
      // Early words are frequent.
      Fixture.vocabulary[
        min(.random(in: 0..<8, using: &random), .random(in: 0..<8, using: &random))]
    }.joined(separator: " ")
  }

  private static func attachment(_ random: inout SeededRandom) -> Document.Attachment {
    let types = ["text/plain", "text/plain", "text/x; charset=utf-8", "image/png", "x/text"]
    return Fixture.text(
      words(&random, upTo: .random(in: 0...20, using: &random)),
      types[.random(in: types.indices, using: &random)])
  }

  private static func document(_ id: String, _ random: inout SeededRandom) -> Document {
    var document = Document(id: id, ["number": .int(.random(in: 0...99, using: &random))])
    if Bool.random(using: &random) { document["title"] = .string(words(&random, upTo: 4)) }
    for name in ["a", "b", "c"] where Bool.random(using: &random) {
      document.attachments[name] = attachment(&random)
    }
    return document
  }

  /// Changes documents in each way that there is.
  private static func change(_ database: Database, _ random: inout SeededRandom) throws {
    try database.write { transaction in
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let id = "doc-\(Int.random(in: 0..<30, using: &random))"
        switch Int.random(in: 0..<11, using: &random) {
        case 0: _ = try transaction.delete(id)
        case 1: _ = try transaction.purge(id)
        case 2:
          let revision = try #require(
            RevisionID(
              generation: .random(in: 1...9, using: &random),
              digest: "\(UInt8.random(in: 16...99, using: &random))"))
          _ = try transaction.insert(document(id, &random), history: [revision])
        case 3:
          try? transaction.savepoint {
            _ = try transaction.put(document(id, &random), onConflict: .overwrite)
            throw DatabaseError(.cancelled, "rolled back")
          }
        case 4:
          // One leaf of a conflict is purged, so that another one may win.
          let leaf = try transaction.branches(of: id).last?.revision
          if let leaf { _ = try transaction.purge(id, revision: leaf) }
        case 5, 6:
          // Only an attachment changes.
          _ = try transaction.update(id) { $0.attachments["b"] = attachment(&random) }
        case 7: _ = try transaction.update(id) { $0.attachments.removeValue(forKey: "a") }
        case 8: _ = try transaction.update(id) { $0["number"] = .int(-1) }
        case 9:
          // The same text under another name.
          _ = try transaction.update(id) {
            if let moved = $0.attachments.removeValue(forKey: "a") { $0.attachments["d"] = moved }
          }
        default: _ = try transaction.put(document(id, &random), onConflict: .overwrite)
        }
      }
    }
  }

  @Test(arguments: [nil, 7] as [UInt8?])
  func `every word finds the documents whose attachments have it, after any changes`(
    secret: UInt8?
  ) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    let store = AttachmentIndexFixture(cipher: secret.map { TestCipher(secret: UInt64($0)) })
    var fixture = store.fixture
    var database = try store.open()
    for _ in 0..<20 { try Self.change(database, &random) }
    try database.addIndex(store.index)
    try store.expectSound(database, "seed \(seed): built")
    var kept: Snapshot? = try database.snapshot()
    for round in 0..<10 {
      for _ in 0..<6 { try Self.change(database, &random) }
      if Bool.random(using: &random) { try database.writeCheckpoint() }
      if round % 3 == 2 { try database.compact() }
      try store.expectSound(database, "seed \(seed): round \(round)")
      if let kept { try store.expectAll(kept, "seed \(seed): an older snapshot") }
      if round % 4 == 3 {
        kept = nil
        fixture = CrashFixture(
          fixture.fileSystem.restarted(.processEnd), CrashWriter(seed: UInt64(round)),
          life: round + 1, cipher: fixture.cipher)
        if Bool.random(using: &random) {
          for name in fixture.fileSystem.names(in: CrashFixture.path)
          where name.hasSuffix(".checkpoint") {
            try fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
          }
        }
        database = try store.open(fixture)
        #expect(try database.indexes() == [store.index])
        #expect(database.openingReport.unreadAttachments.isEmpty)
        try store.expectSound(database, "seed \(seed): opened again")
      }
    }
    let reader = try store.open(fixture) { $0.isReadOnly = true }
    try store.expectAll(reader.snapshot(), "seed \(seed): read only")
  }

  @Test func `an index that several threads build beside writers has all attachments`() throws {
    let database = try store.open { $0.indexBuildWorkerCount = 2 }
    var random = SeededRandom(seed: 5)
    try database.write { transaction in
      for number in 0..<600 { _ = try transaction.put(Self.document("n\(number)", &random)) }
    }
    var rounds = 0
    try database.addIndex(store.index) { _ in
      rounds += 1
      for _ in 0..<5 { try Self.change(database, &random) }
    }
    #expect(rounds > 0)
    try store.expectSound(database, "built")
  }

  @Test func `a transaction finds the attachments that it stored`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try database.write { transaction in
      var document = Document(id: "a")
      document.attachments["n"] = Fixture.text(Fixture.long("oak"))
      _ = try transaction.put(document)
      #expect(try store.found("oak", in: transaction) == ["a"])
      #expect(try store.found("oak", in: database.snapshot()) == [])
      let byReading = Query<Document>().filter {
        .matches(.fullText("oak"), index: "text") || $0["title"] == "none"
      }
      #expect(try transaction.ids(byReading) == ["a"])
    }
    try store.expectSound(database, "committed")
  }

  @Test func `documents that expire leave the index`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    try database.write { transaction in
      var document = Document(id: "a")
      document.attachments["n"] = Fixture.text("oak")
      _ = try transaction.put(document)
      try transaction.setExpiry(Date(timeIntervalSince1970: 1), of: "a")
    }
    try store.fixture.purgeExpired(database, afterSeconds: 20)
    #expect(try store.found("oak", in: database.snapshot()) == [])
    try store.expectSound(database, "expired")
  }

  @Test func `imported documents are found by the text of their attachments`() throws {
    let database = try store.open()
    var document = Document(id: "a", ["title": "elm"])
    document.attachments["n"] = Fixture.text(Fixture.long("oak"))
    try database.write { _ = try $0.put(document) }
    var lines = Data()
    _ = try database.snapshot().exportJSONLines { lines += $0 }
    let other = try AttachmentIndexFixture().open()
    try other.addIndex(store.index)
    var pieces = [lines]
    _ = try other.importJSONLines { pieces.popLast() }
    try store.expectSound(other, "imported")
    #expect(try store.found("oak", in: other.snapshot()) == ["a"])
  }

  // MARK: Text

  @Test(
    arguments: [
      ("text/plain", true), ("TEXT/HTML", true), (" text/csv", true), ("text/", true),
      ("text/plain; charset=utf-8", true), ("text/plain;charset=\"UTF-8\"", true),
      ("text/plain; format=flowed; Charset = US-ASCII ", true), ("text/plain;", true),
      ("text/plain; charset=iso-8859-1", false), ("text/plain; charset=\"utf-16\"", false),
      ("text/plain; charset", true), ("text/plain; charset=", false), ("text", false),
      ("application/json", false), ("image/png", false), ("x/text/plain", false), ("\"", false),
    ])
  func `attachments are text by their type, if their character set is UTF-8`(
    type: String, isText: Bool
  ) throws {
    let database = try store.open()
    try database.addIndex(store.index)
    var document = Document(id: "a")
    document.attachments["n"] = Fixture.text("oak", type)
    try database.write { _ = try $0.put(document) }
    #expect(try store.found("oak", in: database.snapshot()) == (isText ? ["a"] : []))
  }

  @Test func `phrases do not reach from one attachment into the next`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    var document = Document(id: "a", ["title": "oak"])
    document.attachments["1"] = Fixture.text("elm fir")
    document.attachments["2"] = Fixture.text("ash larch")
    try database.write { _ = try $0.put(document) }
    for (text, isFound) in [
      ("\"elm fir\"", true), ("\"ash larch\"", true), ("\"fir ash\"", false),
      ("NEAR(fir ash, 99)", false), ("NEAR(fir ash, 100)", true), ("\"oak elm\"", false),
      ("oak elm larch", true), ("title:elm", false), ("_attachments:oak", false),
    ] {
      #expect(try store.found(text, in: database.snapshot()) == (isFound ? ["a"] : []), "\(text)")
    }
  }

  @Test func `bytes that are not UTF-8 are replaced, and the words around them are found`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    var document = Document(id: "a")
    document.attachments["n"] = Document.Attachment(
      contentType: "text/plain",
      Array("oak ".utf8) + [0xFF, 0xC3, 0x20, 0xED, 0xA0, 0x80]
        + Array(" elm\u{0}fir caf".utf8) + [0xC3])
    try database.write { _ = try $0.put(document) }
    for word in ["oak", "elm", "fir", "caf"] {
      #expect(try store.found(word, in: database.snapshot()) == ["a"], "\(word)")
    }
    #expect(try database.check().isSound)
  }

  @Test func `an index has the first 4 MiB of an attachment, and 16 MiB of a document`() throws {
    let (limit, total) = (AttachedTexts.sizeLimit, AttachedTexts.documentSizeLimit)
    #expect(limit == 4 << 20 && total == 16 << 20)
    let database = try Database.inMemory()
    var document = Document(id: "a")
    // The scalar at the limit is left out as a whole.
    for (name, size) in [("1", limit - 1), ("2", limit - 3), ("3", 100), ("4", limit + 9)] {
      document.attachments[name] = Fixture.text(String(repeating: "a", count: size) + "€€")
    }
    document.attachments["5"] = Fixture.text(String(repeating: "b", count: limit))
    document.attachments["6"] = Fixture.text("c")
    document.attachments["0"] = Fixture.text(String(repeating: "x", count: limit), "image/png")
    try database.write { _ = try $0.put(document) }
    var texts = AttachedTexts(try #require(try database.snapshot().document("a")).attachments)
    #expect(!texts.isWhole)
    try texts.read(of: "a")
    #expect(texts.isWhole)
    // All but the third have the limit, and that is what is left for the fifth.
    let left = total - 3 * limit - 106
    #expect(texts.texts.map(\.count) == [limit - 1, limit, 106, limit, left, 0])
  }

  @Test func `an attachment of nothing has no words, and one of spaces neither`() throws {
    let database = try store.open()
    try database.addIndex(store.index)
    for (id, text) in [("a", ""), ("b", "  \n"), ("c", "oak")] {
      var document = Document(id: id)
      document.attachments["n"] = Fixture.text(text)
      try database.write { _ = try $0.put(document) }
    }
    #expect(try store.found("oak", in: database.snapshot()) == ["c"])
    try store.expectSound(database, "empty")
  }
}
