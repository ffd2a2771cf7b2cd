import DivanLog
import DivanTesting
import Testing

@testable import Divan

/// Tests of documents as values: new ones, ones that were read, and changes to both.
struct DocumentTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  /// Puts a document twice, so that it has a parent, and reads it.
  private func readDocument() throws -> (put: Document, read: Document) {
    try database.write { _ = try $0.put(Document(id: "film:1", ["title": "M"])) }
    let put = try #require(
      try database.update("film:1") {
        $0["year"] = 1931
        $0.attachments["poster"] = Document.Attachment(contentType: "image/png", [1, 2, 3])
      })
    return (put, try #require(try database.snapshot().document("film:1")))
  }

  @Test func `reading a document returns what was put`() throws {
    let (put, read) = try readDocument()
    #expect(read == put)
    #expect(read.id == "film:1" && read.revision == put.revision && !read.isDeleted)
    #expect(read.parentRevision == put.parentRevision && read.parentRevision?.generation == 1)
    #expect(read.sequence == put.sequence && read.sequence == 2)
    #expect(read["year"] == 1931 && read.properties == ["title": "M", "year": 1931])
  }

  @Test func `editing a document keeps its ID, revision and attachments until it is put`() throws {
    let (_, read) = try readDocument()
    var changed = read
    changed["title"] = "M – Eine Stadt sucht einen Mörder"
    #expect(read["title"] == "M" && changed["year"] == 1931)
    #expect(changed.id == read.id && changed.revision == read.revision)
    #expect(changed.parentRevision == read.parentRevision && changed.sequence == read.sequence)
    #expect(changed.attachments == read.attachments)
    let stored = try database.write { try $0.put(changed) }
    #expect(stored.parentRevision == read.revision)
    #expect(try database.snapshot().document("film:1") == stored)
  }

  @Test func `a tombstone reads as a deleted document`() throws {
    let (put, _) = try readDocument()
    try database.write { _ = try $0.delete("film:1") }
    let tombstone = try #require(try database.snapshot().tombstone("film:1"))
    #expect(tombstone.isDeleted && tombstone.parentRevision == put.revision)
    var changed = tombstone
    changed["why"] = "lost"
    #expect(changed.isDeleted && changed.id == "film:1")
  }

  @Test func `copying a document's bytes gives an equal document`() throws {
    let (put, read) = try readDocument()
    var edited = read
    edited["year"] = 1932
    let encoded = Document(id: "b", revision: put.revision, try read.encoded())
    for document in [read, put, edited, encoded, Document(id: "c", ["n": 1])] {
      let copy = document.withOwnBytes()
      #expect(copy == document)
      #expect(copy.sequence == document.sequence)
      #expect(copy.parentRevision == document.parentRevision)
    }
  }

  @Test func `an external revision and its parent are read back unchanged`() throws {
    let revisions = ["3-c", "2-b", "1-a"].compactMap { RevisionID($0) }
    try database.write {
      _ = try $0.insert(Document(id: "far", ["n": 3]), history: revisions)
    }
    let read = try #require(try database.snapshot().document("far"))
    #expect(read.revision == revisions[0] && read.parentRevision == revisions[1])
  }

  /// Mapped data may be read from the medium again after it was checked.
  @Test func `an unreadable external digest reads as a placeholder revision without a parent`() {
    var layout = DocumentLayout()
    layout.generation = 3
    layout.traits = [.foreignDigest, .foreignAncestors]
    layout.parentStart = 1
    let document = Document(SharedBytes(copying: [200, 200, 200]), layout, attachments: [:])
    #expect(document.revision == RevisionID(generation: 3, digest: "unreadable"))
    #expect(document.parentRevision == nil)
  }
}
