import Testing

@testable import Divan

/// Tests of documents that are stored although they were changed since they were read.
struct ConflictPolicyTests {
  private let database: Database
  private let read: Document

  private static func attachment(_ text: String) -> Document.Attachment {
    Document.Attachment(contentType: "text/plain", Array(text.utf8))
  }

  init() throws {
    database = try Database.inMemory()
    var first = Document(id: "a", ["title": "first", "kept": true])
    first.attachments["cover"] = ConflictPolicyTests.attachment("cover")
    first.attachments["notes"] = ConflictPolicyTests.attachment("notes")
    let document = first
    try database.write { _ = try $0.put(document) }
    read = try #require(try database.snapshot().document("a"))
    try database.write { _ = try $0.update("a") { $0["title"] = "second" } }
  }

  private func put(_ document: Document, _ policy: ConflictPolicy) throws -> Document {
    try database.write { try $0.put(document, onConflict: policy) }
  }

  @Test func `the policy fail stores nothing over a change`() throws {
    #expect(code { _ = try put(read, .fail) } == .conflict)
    #expect(code { _ = try put(Document(id: "a"), .fail) } == .conflict)
    #expect(try database.snapshot().document("a")?["title"] == "second")
  }

  @Test func `the policy overwrite lets the last writer win, with its own attachments`() throws {
    var mine = read
    mine["title"] = "mine"
    mine.attachments["notes"] = nil
    let stored = try put(mine, .overwrite)
    #expect(stored.revision?.generation == 3)
    let found = try #require(try database.snapshot().document("a"))
    #expect(found["title"] == "mine" && found["kept"] == true)
    #expect(found.attachments.keys.sorted() == ["cover"])
    #expect(try !database.snapshot().hasConflict("a"))
  }

  @Test func `a document that was never read overwrites properties and keeps attachments`() throws {
    var mine = Document(id: "a", ["title": "mine"])
    mine.attachments["notes"] = ConflictPolicyTests.attachment("other notes")
    _ = try put(mine, .overwrite)
    let found = try #require(try database.snapshot().document("a"))
    #expect(found.properties == ["title": "mine"])
    #expect(found.attachments.keys.sorted() == ["cover", "notes"])
    let notes = try found.attachments["notes"]?.data()
    #expect(notes.map { Array($0) } == Array("other notes".utf8))
    // Replacing the document, by contrast, removes them.
    try database.write { _ = try $0.replace("a", with: ["title": "replaced"]) }
    #expect(try database.snapshot().document("a")?.attachments.isEmpty == true)
  }

  @Test func `the policy overwrite creates documents and succeeds deleted ones`() throws {
    #expect(try put(Document(id: "new", ["n": 1]), .overwrite).revision?.generation == 1)
    try database.write { _ = try $0.delete("a") }
    let stored = try put(Document(id: "a", ["n": 2]), .overwrite)
    #expect(stored.revision?.generation == 4 && stored.attachments.isEmpty)
    #expect(try database.snapshot().document("a")?.properties == ["n": 2])
  }

  @Test func `the policy branch keeps both changes`() throws {
    var mine = read
    mine["title"] = "mine"
    _ = try put(mine, .branch)
    let snapshot = try database.snapshot()
    #expect(try snapshot.hasConflict("a"))
    #expect(try Set(snapshot.branches(of: "a").map { $0["title"] }) == ["mine", "second"])
    #expect(code { _ = try put(Document(id: "a"), .branch) } == .conflict)
  }
}
