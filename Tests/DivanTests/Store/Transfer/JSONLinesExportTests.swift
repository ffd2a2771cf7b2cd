import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of the contents and the destinations of exports.
struct JSONLinesExportTests {
  private let disk = SimulatedDisk()
  private let database: Database

  init() throws { database = try Database(at: "/s", configuration: disk.configuration()) }

  private func revision(_ generation: UInt64, _ digest: String) throws -> RevisionID {
    try #require(RevisionID(generation: generation, digest: digest))
  }

  /// Stores documents of every kind.
  ///
  /// These are a live document, a deleted one, a conflict, an attachment, an expiry, and a local
  /// document.
  private func fill() throws {
    try database.write { transaction in
      try transaction.insert(Document(id: "z", ["n": 1]), history: [try revision(1, "a")])
      try transaction.insert(
        Document(id: "gone"), history: [try revision(2, "b"), try revision(1, "a")],
        isDeleted: true)
      for digest in ["b", "c"] {
        try transaction.insert(
          Document(id: "both", ["d": .string(digest)]),
          history: [try revision(2, digest), try revision(1, "a")])
      }
      var document = Document(id: "a")
      document.attachments["t"] = Document.Attachment(contentType: "text/plain", "hello".utf8)
      try transaction.insert(document, history: [try revision(1, "x")])
      try transaction.setExpiry(Date(timeIntervalSince1970: 4_000_000_000.5), of: "a")
      try transaction.putLocal("l", ["n": 2])
    }
  }

  private let attached =
    #""content_type":"text/plain","digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","#
    + #""length":5,"revpos":1"#

  @Test func `an export has the requested contents in the requested order`() throws {
    try fill()
    let snapshot = try database.snapshot()
    #expect(
      try snapshot.jsonLinesText([]) == """
        {"_id":"a","_rev":"1-x","_attachments":{"t":{\(attached),"stub":true}}}
        {"_id":"both","_rev":"2-c","d":"c"}
        {"_id":"z","_rev":"1-a","n":1}

        """)
    #expect(
      try snapshot.jsonLinesText() == """
        {"_id":"a","_rev":"1-x","_revisions":{"start":1,"ids":["x"]},"_exp":"2096-10-02T07:06:40.500Z",\
        "_attachments":{"t":{\(attached),"data":"aGVsbG8="}}}
        {"_id":"both","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"d":"c"}
        {"_id":"both","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"d":"b"}
        {"_id":"gone","_rev":"2-b","_deleted":true,"_revisions":{"start":2,"ids":["b","a"]}}
        {"_id":"z","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"n":1}
        {"_id":"_local/l","n":2}

        """)
    let ids = try snapshot.jsonLinesText([.attachments, .localDocuments], by: .bySequence)
      .split(separator: "\n").map { $0.split(separator: "\"")[3] }
    #expect(ids == ["z", "both", "a", "_local/l"])
    #expect(
      try snapshot.jsonLinesText(.attachments, inlineSizeLimit: 4).split(separator: "\n").prefix(2)
        == [
          #"{"_body":{"digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","length":5,"#
            + #""offset":0,"data":"aGVsbG8="}}"#,
          #"{"_id":"a","_rev":"1-x","_attachments":{"t":{"# + attached + #","follows":true}}}"#,
        ])
  }

  @Test(arguments: [JSONLines.ExportOptions.Order.byID, .bySequence])
  func `a past version is exported as it was`(order: JSONLines.ExportOptions.Order) throws {
    try fill()
    try database.saveSnapshot(named: "then")
    // Past versions have no local documents.
    let then = try database.snapshot().jsonLinesText([.attachments, .revisions], by: order)
    try database.write { transaction in
      try transaction.replace("z", with: ["n": 2])
      try transaction.purge("both", revision: try revision(2, "b"))
      try transaction.put(Document(id: "new"))
    }
    let past = try database.snapshot(named: "then")
    let text = try past.jsonLinesText([.attachments, .revisions, .localDocuments], by: order)
    // The exception is the purged leaf, which nothing can restore.
    #expect(
      Set(text.split(separator: "\n"))
        == Set(
          then.split(separator: "\n").filter { !$0.contains("\"2-b\"") || $0.contains("gone") }))
  }

  @Test func `an exported file is complete or does not exist`() throws {
    try fill()
    var seen: [JSONLines.Progress] = []
    let written = try database.exportJSONLines(to: "/out.jsonl") { progress in
      seen.append(progress)
    }
    let bytes = try disk.contents(of: "/out.jsonl")
    #expect(try String(decoding: bytes, as: UTF8.self) == database.snapshot().jsonLinesText())
    #expect(written.byteCount == bytes.count && seen.last == written)
    #expect(written.documentCount == 3 && written.totalDocumentCount == 3)
    let taken = #expect(throws: DatabaseError.self) {
      try database.exportJSONLines(to: "/out.jsonl")
    }
    #expect(taken?.code == .alreadyExists)
    #expect(throws: CancellationError.self) {
      try database.exportJSONLines(to: "/other.jsonl") { _ in throw CancellationError() }
    }
    #expect(try !disk.fileSystem.list("/").contains { $0.hasPrefix("other") })
  }

  @Test func `a failed call or a power loss leaves no partial export`() throws {
    try fill()
    let whole = try database.snapshot().jsonLinesText()
    try database.close()
    func export(_ disk: SimulatedDisk) throws {
      var configuration = disk.configuration()
      configuration.isReadOnly = true
      try Database(at: "/s", configuration: configuration).exportJSONLines(to: "/out.jsonl")
    }
    func check(_ disk: SimulatedDisk) throws {
      let names = try disk.fileSystem.list("/")
      if names.contains("out.jsonl") {
        #expect(try String(decoding: disk.contents(of: "/out.jsonl"), as: UTF8.self) == whole)
        return
      }
      // The leftovers of a crash are no obstacle.
      try export(disk)
      #expect(try String(decoding: disk.contents(of: "/out.jsonl"), as: UTF8.self) == whole)
      let others = try disk.fileSystem.list("/").filter { !["s", "out.jsonl"].contains($0) }
      #expect(others.allSatisfy { $0.hasSuffix(".unfinished") }, "\(others)")
    }
    let faults = try disk.forEachFault(losses: [.processEnd], export, check: check)
    let crashes = try disk.forEachCrash(export, check: check)
    print("faults: \(faults), crashes: \(crashes)")
  }

  @Test func `of two concurrent exports to one path, the first to finish succeeds`() throws {
    try fill()
    let whole = try database.snapshot().jsonLinesText()
    var isFirst = true
    let taken = #expect(throws: DatabaseError.self) {
      try database.exportJSONLines(to: "/out.jsonl") { _ in
        if isFirst {
          isFirst = false
          _ = try? database.exportJSONLines(to: "/out.jsonl")
        }
      }
    }
    #expect(taken?.code == .alreadyExists)
    #expect(try String(decoding: disk.contents(of: "/out.jsonl"), as: UTF8.self) == whole)
    #expect(try !disk.fileSystem.list("/").contains { $0.hasSuffix(".unfinished") })
  }

  @Test func `an in-memory database exports to the machine's file system`() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/out.jsonl"
    let database = try Database.inMemory()
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    try database.exportJSONLines(to: path)
    let copy = try Database.inMemory()
    #expect(try copy.importJSONLines(from: path).storedCount == 1)
    #expect(try copy.snapshot().document("a") == database.snapshot().document("a"))
    let missing = #expect(throws: DatabaseError.self) {
      try copy.importJSONLines(from: folder.path + "/nothing")
    }
    #expect(missing?.code == .notFound)
  }

  @Test func `asynchronous exports have the same contents, in pieces or as a file`() async throws {
    try fill()
    let snapshot = try database.snapshot()
    var bytes = Data()
    for try await piece in snapshot.jsonLines() { bytes.append(piece) }
    #expect(try String(decoding: bytes, as: UTF8.self) == snapshot.jsonLinesText())
    try await database.exportJSONLines(to: "/async.jsonl")
    #expect(try disk.contents(of: "/async.jsonl") == Array(bytes))
    try await snapshot.exportJSONLines(to: "/async 2.jsonl") { _ in }
    let copy = try Database.inMemory()
    let report = try await copy.importJSONLines(from: snapshot.jsonLines())
    #expect(report.storedCount == 6)
    #expect(try KeptContents(copy) == KeptContents(database))
  }

  @Test func `a cancelled task ends its export with an error, not with partial contents`()
    async throws
  {
    try fill()
    let snapshot = try database.snapshot()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      for try await _ in snapshot.jsonLines() {}
    }
    task.cancel()
    let error = await #expect(throws: DatabaseError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    let database = database
    let other = Task {
      while !Task.isCancelled { await Task.yield() }
      try await database.exportJSONLines(to: "/cancelled.jsonl")
    }
    other.cancel()
    let fileError = await #expect(throws: DatabaseError.self) { try await other.value }
    #expect(fileError?.code == .cancelled)
    #expect(try !disk.fileSystem.list("/").contains { $0.hasPrefix("cancelled") })
  }

  /// Regression: the second report of the same damage ended the export.
  @Test func `a damaged attachment of several documents is left out of each`() throws {
    let content = Document.Attachment(contentType: "x/y", [UInt8](repeating: 7, count: 100_000))
    try database.write { transaction in
      for id in ["a", "b", "c"] {
        var document = Document(id: id)
        document.attachments["one"] = content
        document.attachments["two"] = content
        try transaction.put(document)
      }
    }
    let folder = try disk.fileSystem.list("/s/attachments")[0]
    let file = try disk.fileSystem.list("/s/attachments/\(folder)")[0]
    try disk.corrupt("/s/attachments/\(folder)/\(file)", atOffset: 10, mask: 1)
    var options = JSONLines.ExportOptions()
    for limit in [0, 1 << 20] {
      options.inlineSizeLimit = limit
      var damageCount = 0
      let export = JSONLinesExport(try database.snapshot(), options) { _ in damageCount += 1 }
      var text = Data()
      while let piece = try export.next() { text.append(contentsOf: piece.array) }
      #expect(damageCount == 6)
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      #expect(lines.count { $0.hasPrefix(#"{"_id""#) } == 3, "\(lines)")
    }
  }

  @Test func `damaged attachments end an export, or are left out and reported`() throws {
    try fill()
    let bytes = [UInt8](repeating: 7, count: 100_000)
    try database.write { transaction in
      var document = Document(id: "large")
      document.attachments["body"] = Document.Attachment(contentType: "x/y", bytes)
      document.attachments["small"] = Document.Attachment(contentType: "x/y", [1])
      try transaction.put(document)
    }
    let folder = try disk.fileSystem.list("/s/attachments")[0]
    let file = try disk.fileSystem.list("/s/attachments/\(folder)")[0]
    try disk.corrupt("/s/attachments/\(folder)/\(file)", atOffset: 10, mask: 1)
    let error = #expect(throws: DatabaseError.self) { try database.snapshot().jsonLinesText() }
    #expect(error?.code == .damaged)
    var options = JSONLines.ExportOptions()
    for limit in [0, 1 << 20] {
      options.inlineSizeLimit = limit
      var damage: [DatabaseError] = []
      let export = JSONLinesExport(try database.snapshot(), options) { damage.append($0) }
      var text = Data()
      while let piece = try export.next() { text.append(contentsOf: piece.array) }
      #expect(damage.count == 1)
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      let line = try #require(lines.first { $0.hasPrefix(#"{"_id":"large""#) })
      #expect(line.contains(#""body":{"content_type":"x/y","#) && line.contains(#""stub":true"#))
      #expect(lines.count { !$0.hasPrefix(#"{"_body"#) } == 7)
    }
    let late = JSONLinesExport(try database.snapshot(), options) { _ in }
    try database.close()
    let closed = #expect(throws: DatabaseError.self) { try late.next() }
    #expect(closed?.code == .closed)
  }

  @Test func `exporting a record with invalid properties reports damage`() throws {
    let record = DocumentRecord(
      idBytes: SharedBytes(utf8: "a"), sequence: 1, revision: try revision(1, "a"),
      isDeleted: false, ancestors: .none, superseded: nil, body: SharedBytes(copying: [0xB0, 1]))
    var line = ExportedLine()
    var text = ByteWriter()
    var error: DatabaseError?
    do throws(DatabaseError) {
      try line.append(record, id: "a", history: nil, expiry: nil, [], to: &text)
    } catch let damage {
      error = damage
    }
    #expect(error?.code == .damaged && text.count == 0)
  }

  @Test func `a document with an unreadable revision tree has its newest revision only`()
    throws
  {
    var record = DocumentRecord(
      idBytes: SharedBytes(utf8: "a"), sequence: 1, revision: try revision(1, "a"),
      isDeleted: false, ancestors: .none, superseded: nil, body: EncodedValue.emptyObject.bytes)
    record.details = DocumentDetails(tree: SharedBytes(copying: [0xFF]))
    var writer = ByteWriter()
    record.encode(to: &writer)
    let document = try InspectedDocument(writer.sharedCopy)
    #expect(document.hasTree)
    #expect(try document.leaves.map(\.history) == [[revision(1, "a")]])
  }

  @Test func `a sink that fails ends an export with its error`() throws {
    struct Full: Error {}
    try fill()
    #expect(throws: Full.self) {
      try database.snapshot().exportJSONLines { _ in throw Full() }
    }
  }
}
