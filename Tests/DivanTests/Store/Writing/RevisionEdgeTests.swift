import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of edge cases of revisions and attachments.
struct RevisionEdgeTests {
  private let disk = MemoryFileSystem()
  private let database: Database

  init() throws {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    database = try Database(at: "/s", configuration: configuration)
  }

  private func revisions(_ texts: String...) throws -> [RevisionID] {
    try texts.map { try RevisionID(parsing: $0) }
  }

  private func insert(
    _ id: String, _ history: [RevisionID], _ properties: Value.Object = [:], isDeleted: Bool = false
  ) throws -> Bool {
    try database.write {
      try $0.insert(Document(id: id, properties), history: history, isDeleted: isDeleted)
    }
  }

  private func checkIsSound() throws {
    #expect(try database.check().problems.map(\.description) == [])
    try RebuiltIndex(of: database).expectSame("")
  }

  @Test func `inserting a known revision with more history adds only the history`()
    throws
  {
    #expect(try insert("a", revisions("3-c"), ["n": 3]))
    #expect(try insert("a", revisions("3-b"), ["n": "b"]))
    let before = try database.snapshot().document("a")
    _ = try insert("a", revisions("3-c", "2-c", "1-c"), ["n": "ignored"])
    _ = try insert("a", revisions("3-b", "2-b"), ["n": "ignored"])
    let snapshot = try database.snapshot()
    #expect(try snapshot.document("a")?.properties == before?.properties)
    #expect(try snapshot.revisions(of: "a") == revisions("3-c", "2-c", "1-c"))
    #expect(try snapshot.branches(of: "a").map { $0["n"] } == [3, "b"])
    #expect(try snapshot.missingRevisions(among: ["a": revisions("2-b", "2-c")]).isEmpty)
    #expect(try snapshot.count == 1)
    try checkIsSound()
  }

  @Test func `an unknown revision has no history`() throws {
    _ = try insert("a", revisions("2-b", "1-a"))
    let snapshot = try database.snapshot()
    let (known, unknown) = (try RevisionID(parsing: "1-a"), try RevisionID(parsing: "1-x"))
    #expect(try snapshot.revisions(leadingTo: known, of: "a") == [known])
    #expect(try snapshot.revisions(leadingTo: unknown, of: "a") == [])
    #expect(try snapshot.revisions(leadingTo: known, of: "b") == [])
  }

  @Test func `unknown documents and revisions are reported as missing and cannot be purged`() throws
  {
    _ = try insert("a", revisions("2-b", "1-a"))
    let snapshot = try database.snapshot()
    let missing = try snapshot.missingRevisions(
      among: ["a": revisions("2-b", "1-a"), "b": revisions("1-x"), "c": []])
    #expect(
      missing == ["b": MissingRevisions(missing: try revisions("1-x"), possibleAncestors: [])])
    #expect(try snapshot.history(of: "b").isEmpty)
    #expect(try snapshot.revisions(of: "b").isEmpty)
    #expect(try snapshot.leaves(of: "b").isEmpty)
    #expect(try database.write { try !$0.purge("b", revision: revisions("1-x")[0]) })
    #expect(try database.write { try !$0.purge("a", revision: revisions("2-x")[0]) })
    #expect(try database.snapshot().sequence == snapshot.sequence)
  }

  @Test func `if every branch is deleted, the highest tombstone is the document's revision`()
    throws
  {
    _ = try insert("a", revisions("2-c"), isDeleted: true)
    _ = try insert("a", revisions("2-b"), isDeleted: true)
    let snapshot = try database.snapshot()
    #expect(try snapshot.revision(of: "a") == revisions("2-c")[0])
    #expect(try snapshot.tombstone("a")?.revision == revisions("2-c")[0])
    #expect(try snapshot.document("a") == nil)
    #expect(try snapshot.count == 0)
    try checkIsSound()
    _ = try insert("a", revisions("2-a"), ["n": 1])
    #expect(try database.snapshot().document("a")?["n"] == 1)
    try checkIsSound()
  }

  @Test func `a revision depth of one keeps only the current revision`() throws {
    var configuration = Configuration.small(on: disk)
    configuration.revisionDepth = 1
    let database = try Database(at: "/shallow", configuration: configuration)
    for number in 1...3 as ClosedRange<Int64> {
      try database.write { _ = try $0.replace("a", with: ["n": .int(number)]) }
    }
    let revisions = try database.snapshot().revisions(of: "a")
    #expect(revisions.map(\.generation) == [3])
    #expect(try database.check().isSound)
  }

  @Test func `an asynchronous update of a missing document does nothing`()
    async throws
  {
    let updated = try await database.update("missing") { $0["n"] = 1 }
    #expect(updated == nil)
    #expect(try database.snapshot().sequence == 0)
  }

  private final class Film: Codable, @unchecked Sendable {
    @DocumentID var id: String?
    let title: String

    init(_ title: String) { self.title = title }
  }

  @Test func `objects that are put in a batch get their IDs`() throws {
    let films = (0..<70).map { Film("\($0)") }
    let ids = try database.write { try $0.put(contentsOf: films) }
    #expect(films.map(\.id) == ids)
    #expect(try database.read { try $0.value(Film.self, id: ids[69])?.title } == "69")
  }

  // MARK: Attachments

  private func attached(_ id: String, _ bytes: [UInt8]) -> Document {
    var document = Document(id: id)
    document.attachments["file"] = Document.Attachment(contentType: "x/y", bytes)
    return document
  }

  private let long = [UInt8](repeating: 5, count: 100_000)

  private var fileCount: Int { get throws { try database.statistics.attachmentFileCount } }

  @Test func `documents with attachments can be put in a batch and inserted with a history`()
    throws
  {
    try database.write { transaction in
      let ids = try transaction.put(contentsOf: [
        Document(id: "a"), attached("b", [1, 2]), Document(id: "c"), attached("d", long),
      ])
      #expect(ids == ["a", "b", "c", "d"])
      #expect(
        try transaction.insert(
          attached("e", long), history: [RevisionID(parsing: "2-b"), RevisionID(parsing: "1-a")]))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.count == 5)
    #expect(try snapshot.document("b")?.attachments["file"]?.data() == Data([1, 2]))
    #expect(try snapshot.document("e")?.attachments["file"]?.data() == Data(long))
    #expect(try snapshot.document("e")?.attachments["file"]?.generation == 2)
    #expect(try fileCount == 1)
    #expect(throws: DatabaseError.self) {
      try database.write {
        try $0.put(contentsOf: [Document(id: "x"), attached("b", [7])])
      }
    }
    #expect(try database.snapshot().document("x") == nil)
    try checkIsSound()
  }

  @Test func `a document with more attachments than the limit is refused`() throws {
    var document = Document(id: "a")
    let one = Document.Attachment(contentType: "x/y", [1])
    for number in 0...AttachmentEntry.countLimit { document.attachments["\(number)"] = one }
    let error = #expect(throws: DatabaseError.self) { try database.write { try $0.put(document) } }
    #expect(error?.code == .invalidAttachment)
    document.attachments["0"] = nil
    try database.write { _ = try $0.put(document) }
    #expect(try database.snapshot().document("a")?.attachments.count == AttachmentEntry.countLimit)
  }

  @Test func `an attachment that is not stored yet can be read in pieces`() throws {
    let attachment = Document.Attachment(contentType: "x/y", long)
    var pieces = try attachment.pieces()
    var all = Data()
    while let piece = try pieces.next() { all += piece }
    #expect(all == Data(long))
    pieces = try attachment.pieces(10..<20)
    #expect(try pieces.next() == Data(long[10..<20]))
    let empty = Document.Attachment(contentType: "x/y", [])
    pieces = try empty.pieces()
    #expect(try pieces.next() == nil)
  }

  @Test func `a staged attachment whose file is lost is reported as damaged`() throws {
    let staged = try database.storeAttachment(contentType: "x/y", pieces: once(long))
    for folder in try disk.list("/s/attachments") {
      for file in try disk.list("/s/attachments/\(folder)") {
        try disk.remove("/s/attachments/\(folder)/\(file)")
      }
    }
    let error = #expect(throws: DatabaseError.self) { try staged.data() }
    #expect(error?.code == .damaged)
  }

  /// Returns a closure that returns the bytes once, and then nil.
  private func once(_ bytes: [UInt8]) -> () -> [UInt8]? {
    var rest: [UInt8]? = bytes
    return {
      defer { rest = nil }
      return rest
    }
  }

  @Test func `attachment files of an open snapshot stay while others are deleted`() throws {
    try database.write { _ = try $0.put(attached("a", long)) }
    var snapshot: Snapshot? = try database.snapshot()
    try database.write { _ = try $0.purge("a") }
    try database.compact()
    #expect(try fileCount == 1)
    var staged: Document.Attachment? = try database.storeAttachment(
      contentType: "x/y", pieces: once(long + [1]))
    #expect(staged != nil)
    #expect(try fileCount == 2)
    staged = nil
    try database.compact()
    #expect(try fileCount == 1)
    #expect(try snapshot?.document("a")?.attachments["file"]?.data() == Data(long))
    snapshot = nil
    try database.compact()
    #expect(try fileCount == 0)
  }

  @Test(arguments: [[1, 2, 3], [UInt8](repeating: 7, count: 100_000)] as [[UInt8]])
  func `content that is no longer referenced can be stored again`(bytes: [UInt8]) throws {
    try database.write { _ = try $0.put(attached("a", bytes)) }
    try database.write { _ = try $0.purge("a") }
    try database.write { _ = try $0.put(attached("b", bytes)) }
    try database.compact()
    #expect(try database.snapshot().document("b")?.attachments["file"]?.data() == Data(bytes))
    #expect(try database.statistics.attachmentCount == 1)
    try checkIsSound()
  }

  @Test func `an attachment that a document gets during a sweep is kept`() throws {
    let disk = SimulatedFileSystem()
    func open() throws -> Database {
      var configuration = Configuration.small(on: disk)
      configuration.maintenance = .manual
      configuration.readMode = .buffered
      return try Database(at: "/s.divan", configuration: configuration)
    }
    var database = try open()
    try database.write { _ = try $0.put(attached("a", long)) }
    try database.writeCheckpoint()
    try database.close()
    database = try open()
    try database.write { _ = try $0.purge("a") }
    let document = attached("b", long)
    disk.observeCalls { [database] call in
      // At this read, the references to the attachment are being looked up.
      guard call.verb == .read, call.path.hasSuffix(".checkpoint") else { return }
      disk.observeCalls(nil)
      try? database.write { _ = try $0.put(document) }
    }
    try database.compact()
    disk.observeCalls(nil)
    #expect(try database.snapshot().document("b")?.attachments["file"]?.data() == Data(long))
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `a backup of a document whose ID is not UTF-8 fails and leaves no files`() throws {
    var record = try DocumentRecord.forged("x", sequence: 9, RevisionID(parsing: "1-x"))
    record.idBytes = SharedBytes(copying: [0xFF, 0xFE])
    try database.adopt(record)
    let error = #expect(throws: DatabaseError.self) { try database.backup(to: "/copy") }
    #expect(error?.code == .damaged)
    #expect(try disk.list("/") == ["s"])
  }
}
