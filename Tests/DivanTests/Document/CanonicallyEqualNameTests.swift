import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of texts that Swift compares as equal although their bytes differ.
///
/// For example, `é` can be one scalar, or `e` and a combining accent.
@Suite struct `Names that look alike` {
  private let one = "\u{E9}"
  private let two = "e\u{301}"

  private func content(_ text: String) -> Document.Attachment {
    Document.Attachment(contentType: "text/plain", Array(text.utf8))
  }

  private func texts(_ document: Document?) throws -> [String] {
    try (document?.attachments ?? [:]).map {
      String(decoding: try $0.value.data(), as: UTF8.self)
    }
  }

  private func document() -> Document {
    var document = Document(id: "a", Value.Object([(one, Value.int(1)), (two, Value.int(2))]))
    document.attachments[one] = content("one")
    document.attachments[two] = content("two")
    return document
  }

  @Test func `a document keeps attachments and properties under canonically equal names`() throws {
    let database = try Database.inMemory()
    let stored = try database.write { try $0.put(document()) }
    #expect(stored.attachments.count == 2)
    let read = try database.snapshot().document("a")
    // The text of two scalars begins with the smaller byte.
    #expect(try texts(read) == ["two", "one"])
    #expect(read?.properties[one] == 1 && read?.properties[two] == 2)
    #expect(read?.attachments == document().attachments)
    var changed = try #require(read)
    changed.attachments[two] = nil
    try database.write { _ = try $0.put(changed) }
    #expect(try texts(database.snapshot().document("a")) == ["one"])
  }

  @Test func `documents with canonically equal IDs are not equal`() throws {
    // The same edit has the same revision in both documents.
    let database = try Database.inMemory()
    let first = try database.write { try $0.put(Document(id: one, ["n": 1])) }
    let second = try database.write { try $0.put(Document(id: two, ["n": 1])) }
    #expect(first.revision == second.revision)
    #expect(first != second)
    #expect(Set([first, second]).count == 2)
    #expect(DocumentID(wrappedValue: one) != DocumentID(wrappedValue: two))
    #expect(DocumentID(wrappedValue: one) == DocumentID(wrappedValue: one))
    #expect(DocumentID(wrappedValue: nil) == DocumentID(wrappedValue: nil))
    #expect(DocumentID(wrappedValue: one) != DocumentID(wrappedValue: nil))
  }

  @Test func `export and import keep attachments and properties with canonically equal names`()
    throws
  {
    let source = try Database.inMemory()
    try source.write { _ = try $0.put(document()) }
    var lines: [UInt8] = []
    try source.snapshot().exportJSONLines(
      options: JSONLines.ExportOptions(content: [.attachments])
    ) { lines += $0 }
    let target = try Database.inMemory()
    var pieces = [lines]
    let report = try target.importJSONLines { pieces.popLast() }
    #expect(report.storedCount == 1)
    let read = try target.snapshot().document("a")
    #expect(try texts(read) == ["two", "one"])
    #expect(read?.properties == document().properties)
  }

  @Test func `importing a line with canonically equal attachment names keeps both attachments`()
    throws
  {
    let database = try Database.inMemory()
    var lines = [
      Array(
        #"{"_id":"a","_attachments":{"\#(one)":{"data":"b25l"},"\#(two)":{"data":"dHdv"}}}"#.utf8)
    ]
    try database.importJSONLines { lines.popLast() }
    #expect(try texts(database.snapshot().document("a")) == ["two", "one"])
  }

  @Test func `resolving branches keeps attachments with canonically equal names`() throws {
    let database = try Database.inMemory()
    var base = Document(id: "a", ["n": 1])
    base = try database.write { [base] in try $0.put(base) }
    var mine = Document(id: "a", ["n": 1])
    mine.attachments[one] = content("one")
    var theirs = Document(id: "a", ["n": 1])
    theirs.attachments[two] = content("two")
    let first = try #require(base.revision)
    let a = try #require(RevisionID("2-" + String(repeating: "a", count: 32)))
    let b = try #require(RevisionID("2-" + String(repeating: "b", count: 32)))
    try database.write { [mine, theirs] transaction in
      try transaction.insert(mine, history: [a, first])
      try transaction.insert(theirs, history: [b, first])
      _ = try transaction.resolve("a") { $0.mine == nil ? .theirs : .mine }
    }
    #expect(try texts(database.snapshot().document("a")) == ["two", "one"])
  }

  @Test func `decoding canonically equal keys into a Swift dictionary throws`() throws {
    let document = document()
    #expect(throws: (any Error).self) { try document.decode([String: Int].self) }
    #expect(try document.decode(Value.Object.self) == document.properties)
    struct Outer: Decodable { var inner: [String: Int] }
    let nested = Document(["inner": .object(document.properties)])
    #expect(throws: (any Error).self) { try nested.decode(Outer.self) }
    let plain = Document(["inner": ["a": 1, "\u{E9}": 2]])
    #expect(try plain.decode(Outer.self).inner == ["a": 1, "\u{E9}": 2])
  }

  @Test func `a value of a type keeps an undeclared property with a canonically equal name`()
    throws
  {
    struct Counted: Codable {
      var count: Int
      enum CodingKeys: String, CodingKey { case count = "\u{E9}" }
    }
    struct Keys: Decodable {
      var count: Int
      init(from decoder: any Decoder) throws {
        count = try decoder.container(keyedBy: Counted.CodingKeys.self).allKeys.count
      }
    }
    let database = try Database.inMemory()
    let other = Document(id: "a", Value.Object([(two, Value.int(2))]))
    try database.write { _ = try $0.put(other) }
    #expect(try other.decode(Keys.self).count == 0)
    try database.write { _ = try $0.put(Counted(count: 1), id: "a") }
    let read = try #require(try database.snapshot().document("a"))
    #expect(read.properties[one] == 1 && read.properties[two] == 2)
    #expect(try read.decode(Keys.self).count == 1)
  }

  @Test func `encoding canonically equal keys with another encoder throws`() throws {
    #expect(throws: EncodingError.self) {
      try JSONEncoder().encode(Value.object(document().properties))
    }
    #expect(try JSONEncoder().encode(["é": 1] as Value) == Data(#"{"é":1}"#.utf8))
  }

  @Test func `a model keeps undeclared properties with canonically equal names`() throws {
    let database = try Database.inMemory()
    let context = database.makeContext()
    let model = Model(in: context)
    try model.setValue(1, for: one)
    try model.setValue(2, for: two)
    model.attachments[one] = content("one")
    model.attachments[two] = content("two")
    try model.save()
    let read = try database.snapshot().document(model.id)
    #expect(read?.properties[one] == 1 && read?.properties[two] == 2)
    #expect(try texts(read) == ["two", "one"])
    try model.setValue(nil, for: two)
    model.attachments[one] = nil
    try model.save()
    let changed = try database.snapshot().document(model.id)
    #expect(changed?.properties[one] == 1 && changed?.properties[two] == nil)
    #expect(try texts(changed) == ["two"])
  }
}
