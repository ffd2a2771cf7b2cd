import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests that an imported export has the same contents.
struct JSONLinesRoundTripTests {
  @Test(arguments: 0..<3)
  func `an import restores all contents of an export, and importing twice changes nothing`(
    seed: UInt64
  ) throws {
    var contents = RandomContents(seed: seed, in: try Database.inMemory())
    try contents.fill()
    let original = try KeptContents(contents.database)
    // The attachments are in their documents' lines, or before them, in either order.
    for (limit, order) in [
      (1 << 20, JSONLines.ExportOptions.Order.byID), (0, .bySequence), (100_000, .bySequence),
    ] {
      let text = try contents.database.snapshot().jsonLinesText(by: order, inlineSizeLimit: limit)
      let copy = try Database.inMemory()
      var options = JSONLines.ImportOptions()
      options.transactionCountLimit = Int(seed) * 3 + 1
      let report = try copy.importLines(text, options, pieceSize: 1000 + Int(seed) * 7919)
      #expect(report.unchangedCount == 0 && report.rejectedCount == 0 && report.skippedCount == 0)
      #expect(report.byteCount == text.utf8.count)
      #expect(report.lineCount == text.utf8.count { $0 == 0x0A })
      let copied = try KeptContents(copy)
      #expect(copied == original, "seed \(seed)\n\(copied)\n\ninstead of\n\(original)")
      let sequence = try copy.snapshot().sequence
      let again = try copy.importLines(text, options)
      #expect(again.storedCount == 0 && again.unchangedCount == report.storedCount)
      #expect(try copy.snapshot().sequence == sequence)
      #expect(try KeptContents(copy) == original, "seed \(seed)")
      #expect(try copy.check().problems.map(\.message) == [])
      #expect(try copy.snapshot().jsonLinesText() == contents.database.snapshot().jsonLinesText())
    }
    #expect(original.conflictCount > 0)
  }

  @Test func `two stores that import each other's exports become equal`() throws {
    var a = RandomContents(seed: 1, in: try Database.inMemory())
    try a.fill()
    let common = try a.database.snapshot().jsonLinesText()
    var b = RandomContents(seed: 2, in: try Database.inMemory())
    try b.database.importLines(common)
    try a.fill()
    try b.fill()
    var options = JSONLines.ImportOptions(onExisting: .replace)
    options.transactionCountLimit = 7
    let content: JSONLines.ExportOptions.Content = [.attachments, .revisions]
    let ours = try a.database.snapshot().jsonLinesText(content)
    let theirs = try b.database.snapshot().jsonLinesText(content)
    try a.database.importLines(theirs, options)
    try b.database.importLines(ours, options)
    #expect(
      try a.database.snapshot().jsonLinesText(content)
        == b.database.snapshot().jsonLinesText(content))
  }

  @Test func `an export without revisions restores the documents with new revisions`()
    throws
  {
    var contents = RandomContents(seed: 7, in: try Database.inMemory())
    try contents.fill()
    let text = try contents.database.snapshot().jsonLinesText([.attachments, .expiries])
    let copy = try Database.inMemory()
    let report = try copy.importLines(text)
    let (before, after) = (try contents.database.snapshot(), try copy.snapshot())
    #expect(try report.storedCount == before.count && after.count == before.count)
    var documents = before.documents()
    while let document = try documents.next() {
      let other = try #require(try after.document(document.id))
      #expect(other.properties == document.properties)
      #expect(other.attachments == document.attachments)
      #expect(other.revision?.generation == 1)
      #expect(try after.expiry(of: document.id) == before.expiry(of: document.id))
    }
    #expect(try copy.importLines(text).unchangedCount == before.count)
    #expect(try copy.importLines(text, .init(onExisting: .replace)).unchangedCount == before.count)
  }

  @Test func `a large attachment is exported in pieces, once for all of its documents`() throws {
    let disk = SimulatedDisk()
    let database = try Database(at: "/s", configuration: disk.configuration())
    let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let film = try database.storeAttachment(contentType: "video/mp4", pieces: once(bytes))
    try database.write { transaction in
      for id in ["a", "b", "c"] {
        var document = Document(id: id)
        document.attachments["film"] = film
        document.attachments["note"] = Document.Attachment(contentType: "text/plain", [1, 2])
        try transaction.put(document)
      }
    }
    let lines = try database.snapshot().jsonLinesText(inlineSizeLimit: 100_000)
      .split(separator: "\n")
    #expect(lines.count { $0.hasPrefix(#"{"_body":{"digest":"sha256-"#) } == 3)
    #expect(lines.count == 6 && lines[3].hasPrefix(#"{"_id":"a","#))
    let copy = try Database.inMemory()
    // Each document is in its own transaction: the later ones find the content in the store.
    var options = JSONLines.ImportOptions()
    options.transactionCountLimit = 1
    try copy.importLines(lines.joined(separator: "\n"), options, pieceSize: 100_000)
    for id in ["a", "b", "c"] {
      let document = try #require(try copy.snapshot().document(id))
      #expect(try document.attachments["film"]?.data() == Data(bytes))
      #expect(document.attachments["film"]?.contentType == "video/mp4")
    }
    #expect(try copy.check().isSound)
    // Written content is referenced only as long as it is in the cache of the export.
    let export = JSONLinesExport(
      try database.snapshot(),
      {
        var options = JSONLines.ExportOptions()
        options.inlineSizeLimit = -1
        return options
      }(), writtenLimit: 1)
    var size = 0
    var largest = 0
    while let piece = try export.next() {
      size += piece.count
      largest = max(largest, piece.count)
    }
    #expect(size > 3 * 900_000 && largest < 1 << 19)
  }

  @Test func `contents in earlier lines count for the size of an import's transaction`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in UInt8(0)..<100 {
        var document = Document(id: "d\(number)")
        // Small enough to be in the log: 6 MB in all.
        document.attachments["a"] = Document.Attachment(
          contentType: "x/y", [UInt8](repeating: number, count: 60_000))
        try transaction.put(document)
      }
    }
    let text = try database.snapshot().jsonLinesText(inlineSizeLimit: 0)
    var configuration = Configuration()
    configuration.transactionSizeLimit = 5 << 20
    let copy = try Database.inMemory(configuration: configuration)
    #expect(try copy.importLines(text).storedCount == 100)
    #expect(try copy.snapshot().jsonLinesText() == database.snapshot().jsonLinesText())
  }

  private func once(_ bytes: [UInt8]) -> () -> [UInt8]? {
    var rest: [UInt8]? = bytes
    return { rest.take() }
  }

  @Test func `a collection of films is equal after an import and an export`() throws {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_DATA"] else {
      print("DIVAN_DATA is not set: no films were read")
      return
    }
    let folder = URL(fileURLWithPath: directory + "/movies")
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    var text = ""
    // The films of the first two decades; all of them take a minute without optimisation.
    for file in files.sorted(by: { $0.path < $1.path }).prefix(2) {
      var films = JSONElements(try Data(contentsOf: file))
      while let film = try films.next() { text += film.json + "\r\n" }
    }
    let database = try Database.inMemory()
    let report = try database.importLines(text, pieceSize: 65_537)
    #expect(report.storedCount == report.lineCount && report.storedCount > 1000)
    // New IDs are time-ordered, so the films keep the order of the import.
    let exported = try database.snapshot().jsonLinesText([])
    let properties = exported.split(separator: "\n").map { line in
      "{" + line.drop { $0 != "," }.dropFirst().drop { $0 != "," }.dropFirst()
    }
    let before = text.split(separator: "\r\n").map { String($0) }
    #expect(Set(properties) == Set(before))
    let copy = try Database.inMemory()
    try copy.importLines(try database.snapshot().jsonLinesText())
    #expect(try copy.snapshot().jsonLinesText() == database.snapshot().jsonLinesText())
    print("films:", report.storedCount)
  }

  @Test func `an import reads the documents that CouchDB writes`() throws {
    let database = try Database.inMemory()
    let text = """
      {"_id":"a","_rev":"2-7051cbe5c8faecd085a3fa619e6e6337","_revisions":{"start":2,"ids":["7051cbe5c8faecd085a3fa619e6e6337","967a00dff5e02add41819138abb3284d"]},"n":2,"_conflicts":["2-1"],"_local_seq":7}
      {"_id":"b","_rev":"1-x","_attachments":{"hi.txt":{"content_type":"text/plain","revpos":1,"digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","data":"aGVsbG8="}}}
      {"_id":"c","_rev":"1-967a00dff5e02add41819138abb3284d","_deleted":true,"_revisions":{"start":1,"ids":["967a00dff5e02add41819138abb3284d"]}}
      {"_id":"_local/checkpoint","_rev":"0-5","seq":5}
      """
    let report = try database.importLines(text)
    #expect(report.storedCount == 4 && report.lineCount == 4)
    let snapshot = try database.snapshot()
    #expect(
      try snapshot.revisions(of: "a").map(\.description) == [
        "2-7051cbe5c8faecd085a3fa619e6e6337", "1-967a00dff5e02add41819138abb3284d",
      ])
    #expect(try snapshot.document("b")?.attachments["hi.txt"]?.data() == Data("hello".utf8))
    #expect(try snapshot.tombstone("c")?.revision?.generation == 1)
    #expect(try snapshot.localDocument("checkpoint") == ["seq": 5])
    #expect(try snapshot.count == 2)
  }
}
