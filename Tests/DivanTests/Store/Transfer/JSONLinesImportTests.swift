import DivanLog
import DivanTesting
import Foundation
import TestSupport
import Testing

@testable import Divan

/// Tests of imports: which lines are accepted, and which are left out.
struct JSONLinesImportTests {
  private let disk = SimulatedDisk()
  private let database: Database

  init() throws { database = try Database(at: "/s", configuration: disk.configuration()) }

  private func allIDs(_ database: Database) throws -> [String] {
    let ids = try database.snapshot().ids()
    return try ids.collect()
  }

  // MARK: Lines

  @Test(arguments: 1..<9)
  func `an import accepts all line endings, blank lines, a byte order mark and any piece size`(
    pieceSize: Int
  ) throws {
    let text =
      "\u{FEFF}{\"_id\":\"a\",\"n\":1}\r\n\n   \t\r\n  {\"_id\":\"b\",\"n\":{\"é\":[\"\u{1F600}\"]}}  \n"
      + "{ \"n\" : 3 , \"_id\" : \"c\" }"
    let report = try database.importLines(text, pieceSize: pieceSize)
    #expect(report.storedCount == 3 && report.lineCount == 5)
    #expect(report.byteCount == text.utf8.count)
    #expect(
      try database.snapshot().jsonLinesText([]).split(separator: "\n").map { $0.suffix(8) }
        == [#"","n":1}"#, ":[\"\u{1F600}\"]}}", #"","n":3}"#].map { $0.suffix(8) })
    #expect("\(report)" == "5 lines: 3 stored, 0 known already, 0 skipped, 0 rejected")
  }

  @Test func `importing an empty text is no error`() throws {
    for text in ["", "\n", "\u{FEFF}", "\r\n\r\n"] {
      let report = try database.importLines(text)
      #expect(report.storedCount == 0)
    }
    #expect(try database.snapshot().sequence == 0)
  }

  @Test func `imported documents without an ID get a new one, or that of a given property`() throws
  {
    try database.importLines("{\"n\":1}\n{\"n\":2}")
    let ids = try allIDs(database)
    #expect(ids.count == 2 && ids.allSatisfy { $0.utf8.count > 10 })
    let other = try Database.inMemory()
    let options = JSONLines.ImportOptions(idProperty: "key")
    try other.importLines(
      """
      {"key":"text","n":1}
      {"key":7}
      {"key":18446744073709551615}
      {"_id":{"$oid":"573a1390f29313caabcd4135"},"key":"not used"}
      {"_id":-5}
      {"_id":18446744073709551614,"_conflicts":[null,[]]}
      """, options)
    #expect(
      try allIDs(other)
        == [
          "-5", "18446744073709551614", "18446744073709551615", "573a1390f29313caabcd4135", "7",
          "text",
        ])
    #expect(try other.snapshot().document("7")?["key"] == 7)
    #expect(try other.importError("{\"n\":1}", options).code == .invalidDocumentID)
  }

  // MARK: Existing documents

  @Test func `existing documents are a conflict, skipped or replaced, as the options say`() throws {
    try database.importLines("{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"_local/l\",\"n\":1}")
    // A line with nothing new is no conflict.
    #expect(
      try database.importLines("{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"_local/l\",\"n\":1}")
        .unchangedCount == 2)
    let text = "{\"_id\":\"a\",\"n\":2}\n{\"_id\":\"_local/l\",\"n\":2}\n{\"_id\":\"b\"}"
    for line in text.split(separator: "\n").prefix(2) {
      let error = try database.importError("{\"_id\":\"c\"}\n" + line)
      #expect(error.code == .conflict && error.line == 2)
      #expect(error.importReport?.lineCount == 0)
      #expect(error.hint?.hasSuffix("Nothing was stored") == true)
    }
    #expect(try allIDs(database) == ["a"])
    let skipped = try database.importLines(text, .init(onExisting: .skip))
    #expect(skipped.skippedCount == 2 && skipped.storedCount == 1)
    #expect(try database.snapshot().document("a")?["n"] == 1)
    let replaced = try database.importLines(text, .init(onExisting: .replace))
    #expect(replaced.storedCount == 2 && replaced.unchangedCount == 1)
    #expect(try database.snapshot().document("a")?["n"] == 2)
    #expect(try database.snapshot().revisions(of: "a").count == 2)
    #expect(try database.snapshot().localDocument("l") == ["n": 2])
  }

  @Test(arguments: [JSONLines.ImportOptions.Existing.fail, .skip, .replace])
  func `lines with revisions make branches of independent documents, and the report counts them`(
    onExisting: JSONLines.ImportOptions.Existing
  ) throws {
    let source = try Database.inMemory()
    for (id, n) in [("a", 1), ("b", 2), ("c", 3)] {
      try source.write { try _ = $0.put(Document(id: id, ["n": .int(Int64(n))])) }
    }
    let text = try source.snapshot().jsonLinesText(.revisions)
    // "a" is independent, "b" has the same revision, "c" is missing.
    for (id, n) in [("a", 10), ("b", 2)] {
      try database.write { try _ = $0.put(Document(id: id, ["n": .int(Int64(n))])) }
    }
    let options = JSONLines.ImportOptions(onExisting: onExisting)
    let report = try database.importLines(text, options)
    #expect(report.storedCount == 2 && report.unchangedCount == 1 && report.conflictCount == 1)
    #expect(
      "\(report)" == "3 lines: 2 stored (1 in conflict), 1 known already, 0 skipped, 0 rejected")
    #expect(try database.snapshot().hasConflict("a") && !database.snapshot().hasConflict("c"))
    let again = try database.importLines(text, options)
    #expect(again.conflictCount == 0 && again.unchangedCount == 3)
    // Another copy has the conflict too, and then its resolution.
    let copy = try Database.inMemory()
    #expect(try copy.importLines(database.snapshot().jsonLinesText(.revisions)).conflictCount == 1)
    let branches = try database.snapshot().branches(of: "a")
    try database.write { try _ = $0.resolve(with: branches[0]) }
    let resolved = try copy.importLines(database.snapshot().jsonLinesText(.revisions))
    #expect(resolved.conflictCount == -1)
    #expect(try !copy.snapshot().hasConflict("a"))
  }

  @Test func `what a database exports can be imported where the same migrations ran`() throws {
    let migrations = ["one", "two"].map { id in Migration(id: id) { _ in } }
    try database.migrate(migrations)
    try database.write { _ = try $0.replace("a", with: ["n": 1]) }
    var text = ""
    try database.snapshot().exportJSONLines { text += String(decoding: $0, as: UTF8.self) }
    #expect(text.contains("_local/divan migrations"))
    let (other, behind) = (SimulatedDisk(seed: 7), SimulatedDisk(seed: 8))
    // The migrations ran at another time there, which is no difference.
    var configuration = other.configuration()
    configuration.now = { 1_900_000_000_000 }
    let same = try Database(at: "/s", configuration: configuration)
    try same.migrate(migrations)
    #expect(try same.importLines(text).storedCount == 1)
    #expect(try same.snapshot().document("a")?["n"] == 1)
    #expect(try same.migrate(migrations) == [])
    let earlier = try Database(at: "/s", configuration: behind.configuration())
    try earlier.migrate(Array(migrations.prefix(1)))
    let error = try earlier.importError(text)
    #expect(error.code == .conflict && error.hint?.contains("onExisting") == true)
  }

  @Test func `an imported deletion deletes an existing document, and a deleted one can come back`()
    throws
  {
    try database.importLines("{\"_id\":\"a\",\"n\":1}")
    let deletion = "{\"_id\":\"a\",\"_deleted\":true,\"why\":\"old\"}"
    #expect(try database.importError(deletion).code == .conflict)
    try database.importLines(deletion, .init(onExisting: .replace))
    #expect(try database.snapshot().tombstone("a")?["why"] == "old")
    #expect(
      try database.importLines(deletion + "\n{\"_id\":\"b\",\"_deleted\":true}").unchangedCount == 2
    )
    try database.importLines("{\"_id\":\"a\",\"n\":2,\"_deleted\":false}")
    #expect(try database.snapshot().document("a")?.revision?.generation == 3)
  }

  @Test func `an ID that occurs twice in an import is treated like an existing document`() throws {
    let text =
      "{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\"}\n{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"a\",\"n\":2}"
    #expect(try database.importError(text).line == 4)
    let report = try database.importLines(text, .init(onExisting: .replace))
    #expect(report.storedCount == 3 && report.unchangedCount == 1)
    #expect(try database.snapshot().document("a")?["n"] == 2)
  }

  @Test func `an unchanged attachment keeps its generation, and others are added and removed`()
    throws
  {
    func line(_ attachments: String) -> String {
      "{\"_id\":\"a\",\"_attachments\":{\(attachments)}}"
    }
    let one = #""one":{"content_type":"text/plain","data":"aGVsbG8="}"#
    try database.importLines(line(one))
    try database.importLines(
      line(one + #","two":{"data":"aGVsbG8=","length":5}"#), .init(onExisting: .replace))
    let document = try #require(try database.snapshot().document("a"))
    #expect(document.attachments["one"]?.generation == 1)
    #expect(document.attachments["two"]?.generation == 2)
    #expect(document.attachments["two"]?.contentType == "application/octet-stream")
    // Content that is in the database need not be in the line.
    let digest = try #require(document.attachments["one"]?.digest)
    try database.importLines(
      line("\"two\":{\"stub\":true,\"digest\":\"\(digest)\",\"length\":5}"),
      .init(onExisting: .replace))
    #expect(try database.snapshot().document("a")?.attachments.keys.sorted() == ["two"])
    // The same holds if it came with another document of the same transaction.
    try database.importLines(
      "{\"_id\":\"x\",\"_attachments\":{\"n\":{\"data\":\"eA==\"}}}\n"
        + "{\"_id\":\"y\",\"_attachments\":{\"n\":{\"stub\":true,\"digest\":\""
        + "sha256-LXEWQrcmsEQBYnyphs+sMQ9mMxYHxbsQI3l1qzKv/Zk=\"}}}".replacing(
          "sha256-LXEWQrcmsEQBYnyphs+sMQ9mMxYHxbsQI3l1qzKv/Zk=",
          with: SHA256.digest(of: SharedBytes(copying: [0x78])).attachmentText))
    #expect(try database.snapshot().document("y")?.attachments["n"]?.data() == Data([0x78]))
    #expect(try database.check().isSound)
  }

  @Test func `attachment content is available to later lines if its first line is skipped`() throws
  {
    let source = try Database.inMemory()
    let content = [UInt8](repeating: 7, count: 3000)
    try source.write { transaction in
      for id in ["a", "b", "c"] {
        var document = Document(id: id, ["n": 1])
        document.attachments["x"] = Document.Attachment(contentType: "x/y", content)
        try transaction.put(document)
      }
    }
    let text = try source.snapshot().jsonLinesText([.attachments], inlineSizeLimit: 10)
    #expect(text.split(separator: "\n").count == 4)
    try database.write { try $0.put(Document(id: "a", ["mine": true])) }
    var options = JSONLines.ImportOptions(onExisting: .skip)
    options.transactionCountLimit = 1
    #expect(try database.importLines(text, options).storedCount == 2)
    // A validation may refuse it as well.
    let other = try Database.inMemory()
    other.setValidation(named: "no a") { revision in
      if revision.document.id == "a" { try revision.reject("It is called a") }
    }
    options = JSONLines.ImportOptions(onInvalidLine: .skip)
    options.transactionCountLimit = 1
    let report = try other.importLines(text, options)
    #expect(report.storedCount == 2 && report.rejectedCount == 1)
    for database in [database, other] {
      let read = try #require(try database.snapshot().document("c")?.attachments["x"])
      #expect(try read.data() == Data(content))
      #expect(try database.check().isSound)
    }
  }

  @Test func `attachment content is available to later lines if a known revision has lost it`()
    throws
  {
    let content = [UInt8](repeating: 7, count: 3000)
    try database.write { transaction in
      for id in ["a", "b"] {
        var document = Document(id: id, ["n": 1])
        document.attachments["x"] = Document.Attachment(contentType: "x/y", content)
        try transaction.put(document)
      }
    }
    let text = try database.snapshot().jsonLinesText(
      [.attachments, .revisions], inlineSizeLimit: 10)
    try database.write { _ = try $0.replace("a", with: [:]) }
    _ = try database.write { try $0.purge("b") }
    try database.compact()
    #expect(try database.statistics.attachmentCount == 0)
    var options = JSONLines.ImportOptions()
    options.transactionCountLimit = 1
    let report = try database.importLines(text, options)
    #expect(report.storedCount == 1 && report.unchangedCount == 1)
    #expect(try database.snapshot().document("b")?.attachments["x"]?.data() == Data(content))
  }

  @Test func `expiries can be dates or seconds`() throws {
    try database.importLines(
      """
      {"_id":"a","_exp":"2096-10-02T07:06:40.500Z"}
      {"_id":"b","_exp":4000000000}
      {"_id":"c"}
      """)
    try database.importLines("{\"_id\":\"c\",\"_exp\":4000000000.25}", .init(onExisting: .replace))
    let snapshot = try database.snapshot()
    let expected = [4_000_000_000.5, 4_000_000_000, 4_000_000_000.25]
    for (id, time) in zip(["a", "b", "c"], expected) {
      #expect(try snapshot.expiry(of: id) == Date(timeIntervalSince1970: time))
    }
  }

  // MARK: Bad lines

  struct BadLine: CustomTestStringConvertible, Sendable {
    let text: String
    let code: DatabaseError.Code
    var path: String?
    var column: Int?

    init(
      _ text: String, _ code: DatabaseError.Code, path: String? = nil, column: Int? = nil
    ) {
      self.text = text
      self.code = code
      self.path = path
      self.column = column
    }

    var testDescription: String { text }
  }

  static let onInvalidLine: [BadLine] = [
    .init(#"{"n":1"#, .invalidJSON, column: 7),
    .init(#"{"n":1} {"n":2}"#, .invalidJSON, column: 9),
    .init(#"[{"_id":"a"}]"#, .invalidJSON), .init("7", .invalidJSON),
    .init(#"{"n":1,"n":2}"#, .invalidJSON, column: 8),
    .init(#"{"_id":"a","_id":"b"}"#, .invalidJSON, column: 12),
    .init(#"{"n":123456789012345678901234567890}"#, .invalidJSON, column: 6),
    .init(String(repeating: "[", count: 200), .documentTooLarge, column: 101),
    .init(#"{"_id":""}"#, .invalidDocumentID, path: "_id"),
    .init(#"{"_id":{"$oid":""}}"#, .invalidDocumentID, path: "_id"),
    .init(#"{"_id":1.5}"#, .invalidDocumentID, path: "_id"),
    .init(#"{"_id":"_designs/a"}"#, .invalidDocumentID),
    .init(#"{"_id":"_local/"}"#, .invalidDocumentID),
    .init(#"{"_id":"_local/a","_deleted":true}"#, .invalidValue, path: "_deleted"),
    .init(#"{"_secret":1}"#, .invalidValue, path: "_secret"),
    .init(#"{"_rev":7}"#, .invalidRevisionID, path: "_rev"),
    .init(#"{"_deleted":"yes"}"#, .invalidValue, path: "_deleted"),
    .init(#"{"_exp":"soon"}"#, .invalidValue, path: "_exp"),
    .init(#"{"_exp":1e300}"#, .invalidValue),
    .init(#"{"_revisions":["a"]}"#, .invalidRevisionID, path: "_revisions"),
    .init(#"{"_revisions":{"start":1,"ids":[]}}"#, .invalidRevisionID, path: "_revisions"),
    .init(#"{"_revisions":{"start":1,"ids":["a","b"]}}"#, .invalidRevisionID, path: "_revisions"),
    .init(
      #"{"_revisions":{"start":2,"ids":["a",""]}}"#, .invalidRevisionID, path: "_revisions.ids[1]"),
    .init(
      #"{"_rev":"2-b","_revisions":{"start":2,"ids":["a","b"]}}"#, .invalidRevisionID, path: "_rev"),
    .init(#"{"_attachments":[]}"#, .invalidAttachment, path: "_attachments"),
    .init(#"{"_attachments":{"a b":7}}"#, .invalidAttachment, path: #"_attachments["a b"]"#),
    .init(
      #"{"_attachments":{"a":{"data":"?"}}}"#, .invalidAttachment, path: "_attachments.a.data"),
    .init(
      #"{"_attachments":{"a":{"data":"eA==","length":2}}}"#, .invalidAttachment,
      path: "_attachments.a.length"),
    .init(
      #"{"_attachments":{"a":{"data":"eA==","length":"1"}}}"#, .invalidAttachment,
      path: "_attachments.a.length"),
    .init(
      #"{"_attachments":{"a":{"data":"eA==","digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}}}"#,
      .invalidAttachment, path: "_attachments.a.digest"),
    .init(
      #"{"_attachments":{"a":{"data":"eA==","digest":"sha256-LPJN"}}}"#, .invalidAttachment,
      path: "_attachments.a.digest"),
    .init(
      #"{"_revisions":{"start":1,"ids":["a"]},"_attachments":{"a":{"data":"eA==","revpos":0}}}"#,
      .invalidAttachment, path: "_attachments.a.revpos"),
    .init(
      #"{"_attachments":{"a":{"stub":true,"digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}}}"#,
      .invalidAttachment, path: "_attachments.a"),
    .init(#"{"_attachments":{"":{"data":"eA=="}}}"#, .invalidAttachment),
    .init(#"{"_body":{"digest":"sha256-LPJN"}}"#, .invalidAttachment, path: "_body"),
    .init(
      #"{"_body":{"digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","length":9,"offset":4,"data":"eA=="}}"#,
      .invalidAttachment),
    .init(
      #"{"_body":{"digest":"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=","length":1,"offset":0,"data":"eA=="}}"#,
      .invalidAttachment),
  ]

  @Test(arguments: onInvalidLine)
  func `a bad line is reported with its error, and its transaction stores nothing`(
    bad: BadLine
  ) throws {
    let text = "{\"_id\":\"first\"}\n\(bad.text)\n{\"_id\":\"last\"}"
    let error = try database.importError(text)
    #expect(error.code == bad.code && error.line == 2, "\(error)")
    #expect(error.propertyPath == bad.path && error.column == bad.column, "\(error)")
    #expect("\(error)".contains("line 2"))
    #expect(error.importReport?.storedCount == 0)
    #expect(try database.snapshot().count == 0)
    // Or the bad line is left out and reported.
    let report = try database.importLines(text, .init(onInvalidLine: .skip))
    #expect(report.storedCount == 2 && report.rejectedCount == 1 && report.lineCount == 3)
    #expect(report.errors.map(\.line) == [2] && report.errors.map(\.code) == [bad.code])
    #expect(try allIDs(database) == ["first", "last"])
    #expect(try database.check().isSound)
  }

  @Test func `bytes that are not UTF-8 are reported with their line and column`() throws {
    let bytes: [UInt8] = Array("{\"_id\":\"a\"}\n{\"n\":\"".utf8) + [0xFF] + Array("\"}".utf8)
    var rest: [UInt8]? = bytes
    let error = #expect(throws: DatabaseError.self) {
      try database.importJSONLines { rest.take() }
    }
    #expect(error?.code == .invalidJSON && error?.line == 2 && error?.column == 7)
  }

  @Test func `pieces of attachment content that are out of order are refused`() throws {
    let digest = SHA256.digest(of: SharedBytes(copying: [1, 2, 3, 4])).attachmentText
    func piece(_ offset: Int, _ bytes: [UInt8], length: Int = 4) -> String {
      "{\"_body\":{\"digest\":\"\(digest)\",\"length\":\(length),\"offset\":\(offset),\"data\":\""
        + Data(bytes).base64EncodedString() + "\"}}\n"
    }
    let document =
      "{\"_id\":\"a\",\"_attachments\":{\"n\":{\"follows\":true,\"digest\":\"\(digest)\"}}}"
    for pieces in [
      piece(0, [1, 2]), piece(0, [1, 2]) + piece(3, [4]),
      piece(0, [1, 2]) + piece(2, [3, 4], length: 5),
      piece(0, [1, 2]) + piece(2, [3, 4, 5]), piece(0, [1, 2]) + piece(2, [4, 3]),
    ] {
      let error = try database.importError(pieces + document)
      #expect(error.code == .invalidAttachment, "\(error)")
      #expect(try database.snapshot().count == 0)
    }
    // If it is restarted from the beginning, it is complete.
    try database.importLines(piece(0, [9]) + piece(0, [1, 2]) + piece(2, [3, 4]) + document)
    #expect(try database.snapshot().document("a")?.attachments["n"]?.data() == Data([1, 2, 3, 4]))
  }

  @Test func `a line above the size limit is refused or skipped`() throws {
    var options = JSONLines.ImportOptions()
    options.lineSizeLimit = 100
    let long = "{\"_id\":\"long\",\"n\":\"\(String(repeating: "x", count: 5000))\"}"
    let text = "{\"_id\":\"a\"}\n\(long)\n{\"_id\":\"b\"}"
    for pieceSize in [7, 1 << 20] {
      options.onInvalidLine = .fail
      let error = #expect(throws: DatabaseError.self) {
        try database.importLines(text, options, pieceSize: pieceSize)
      }
      #expect(error?.code == .documentTooLarge && error?.line == 2)
      options.onInvalidLine = .skip
      let report = try database.importLines(text, options, pieceSize: pieceSize)
      #expect(report.lineCount == 3 && report.rejectedCount == 1)
      #expect(report.byteCount == text.utf8.count)
    }
    #expect(try allIDs(database) == ["a", "b"])
  }

  @Test func `a document that is too large is a bad line`() throws {
    let text = "{\"_id\":\"a\",\"n\":\"" + String(repeating: "x", count: 17 << 20) + "\"}"
    let error = try database.importError(text)
    #expect(error.code == .documentTooLarge && error.line == 1)
  }

  @Test func `a report lists a limited number of bad lines, and counts all`() throws {
    let text = String(repeating: "?\n", count: 1500)
    let report = try database.importLines(text, .init(onInvalidLine: .skip))
    #expect(report.rejectedCount == 1500 && report.errors.count == 1000)
  }

  @Test func `validations apply to imports, and their errors have the line number`() throws {
    struct Odd: Error {}
    database.setValidation(named: "even") { revision in
      guard let number = revision.document["n"]?.intValue else { throw Odd() }
      if number % 2 == 1 { try revision.reject("odd", keys: ["n"]) }
    }
    let text = (0..<10).map { "{\"_id\":\"\($0)\",\"n\":\($0)}" }.joined(separator: "\n")
    let error = try database.importError(text)
    #expect(
      error.code == .validationFailed && error.line == 2 && error.validationFailure?.keys == ["n"])
    let other = try database.importError("{\"_id\":\"x\"}")
    #expect(other.code == .validationFailed && other.line == 1 && other.underlying is Odd)
    let report = try database.importLines(text, .init(onInvalidLine: .skip))
    #expect(report.storedCount == 5 && report.errors.map(\.line) == [2, 4, 6, 8, 10])
    let history = "{\"_id\":\"1\",\"n\":1,\"_revisions\":{\"start\":1,\"ids\":[\"a\"]}}"
    #expect(try database.importError(history).code == .validationFailed)
  }

  // MARK: Interruptions

  private var thousandLines: String {
    (0..<1000).map { "{\"_id\":\"\(1000 + $0)\",\"n\":\($0)}\n" }.joined()
  }

  @Test func `a failed import reports its progress and can continue from there`() throws {
    var options = JSONLines.ImportOptions()
    options.transactionCountLimit = 100
    let good = thousandLines
    let bad = good.replacing("\"n\":750}", with: "\"n\":}")
    let error = try database.importError(bad, options)
    #expect(error.line == 751 && error.column == 19 && error.importReport?.lineCount == 700)
    #expect(error.importReport?.storedCount == 700)
    #expect(error.hint?.contains("`firstLine` 701") == true)
    #expect(try database.snapshot().count == 700)
    options.firstLine = 701
    let report = try database.importLines(good, options)
    #expect(report.storedCount == 300 && report.lineCount == 1000)
    #expect(try database.snapshot().count == 1000)
  }

  @Test func `an import is cancelled between transactions, and no transaction is partial`() throws {
    let path = "/in.jsonl"
    try disk.addFile(
      path,
      contents: Array(String(repeating: " ", count: 300_000).utf8) + Array("\n".utf8)
        + Array(thousandLines.utf8))
    var options = JSONLines.ImportOptions()
    options.transactionCountLimit = 100
    var seen: [JSONLines.Progress] = []
    #expect(throws: CancellationError.self) {
      try database.importJSONLines(from: path, options: options) { progress in
        seen.append(progress)
        if progress.documentCount >= 501 { throw CancellationError() }
      }
    }
    #expect(seen.last?.storedCount == 500)
    #expect(try database.snapshot().count == 500)
    #expect(seen.last?.totalByteCount == 300_001 + thousandLines.utf8.count)
    #expect(seen.last?.totalDocumentCount == nil)
    #expect(try database.importJSONLines(from: path, options: options).unchangedCount == 500)
    #expect(try database.snapshot().count == 1000)
    // The error names the file.
    try disk.addFile("/bad.jsonl", contents: Array("?".utf8))
    let bad = #expect(throws: DatabaseError.self) {
      try database.importJSONLines(from: "/bad.jsonl")
    }
    #expect(bad?.path == "/bad.jsonl" && bad?.line == 1)
  }

  @Test func `asynchronous imports read files and streams, and can be cancelled`() async throws {
    try disk.addFile("/in.jsonl", contents: Array(thousandLines.utf8))
    let database = database
    #expect(try await database.importJSONLines(from: "/in.jsonl").storedCount == 1000)
    #expect(
      try await database.importJSONLines(from: "/in.jsonl") { _ in }.unchangedCount == 1000)
    let lines = thousandLines
    let cancelled = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.importJSONLines(from: "/in.jsonl")
    }
    cancelled.cancel()
    let error = await #expect(throws: DatabaseError.self) { try await cancelled.value }
    #expect(error?.code == .cancelled)
    let other = try Database.inMemory()
    let stream = Task {
      let pieces = AsyncStream { continuation in
        continuation.yield(Array(lines.utf8.prefix(10_000)))
        // Nothing else arrives until the task is cancelled.
      }
      return try await other.importJSONLines(from: pieces)
    }
    try await Task.sleep(for: .milliseconds(50))
    stream.cancel()
    let streamError = await #expect(throws: DatabaseError.self) { try await stream.value }
    #expect(streamError?.code == .cancelled)
    #expect(try other.snapshot().count == 0)
    struct Gone: Error {}
    let failing = AsyncThrowingStream<[UInt8], any Error> { continuation in
      continuation.yield(Array(lines.utf8))
      continuation.finish(throwing: Gone())
    }
    await #expect(throws: Gone.self) { try await other.importJSONLines(from: failing) }
  }

  @Test func `a source that fails ends an import with its error`() throws {
    struct Gone: Error {}
    var options = JSONLines.ImportOptions()
    options.transactionCountLimit = 10
    var count = 0
    #expect(throws: Gone.self) {
      try database.importJSONLines(options: options) { () -> [UInt8]? in
        count += 1
        if count > 15 { throw Gone() }
        return Array("{\"_id\":\"\(count)\"}\n".utf8)
      }
    }
    #expect(try database.snapshot().count == 10)
  }

  @Test
  func `a failed call leaves whole transactions, and repeating the import completes it`()
    throws
  {
    var contents = RandomContents(seed: 5, in: try Database.inMemory())
    try contents.fill()
    let text = try contents.database.snapshot().jsonLinesText(inlineSizeLimit: 0)
    let whole = try KeptContents(contents.database)
    try disk.addFile("/in.jsonl", contents: Array(text.utf8))
    try database.close()
    func run(_ disk: SimulatedDisk) throws {
      let database = try Database(at: "/s", configuration: disk.configuration())
      try database.importJSONLines(from: "/in.jsonl")
      try database.close()
    }
    var random = SeededGenerator(seed: 3)
    let callCount = try disk.forEachFault(atCalls: 1...1, losses: [.processEnd], run) { _ in }
      .failurePointCount
    for _ in 0..<4 {
      let call = 1 + random.below(callCount)
      try disk.forEachFault(atCalls: call...call, losses: [.processEnd, .strict], run) { disk in
        let database = try Database(at: "/s", configuration: disk.configuration())
        try database.importJSONLines(from: "/in.jsonl")
        #expect(try KeptContents(database) == whole, "call \(call)")
        #expect(try database.check().problems.map(\.message) == [])
      }
    }
  }

  @Test func `an import ends with an error if it cannot open an attachment file`() throws {
    let bytes = [UInt8](repeating: 3, count: 100_000)
    let text = { (id: String, data: String) in
      "{\"_id\":\"\(id)\",\"_attachments\":{\"n\":{\(data)\"digest\":\""
        + SHA256.digest(of: SharedBytes(copying: bytes)).attachmentText + "\"}}}\n"
    }
    try database.importLines(text("a", "\"data\":\"\(Data(bytes).base64EncodedString())\","))
    disk.fail(.open, with: .tooManyOpenFiles)
    let error = try database.importError(text("b", ""), .init(onInvalidLine: .skip))
    #expect(error.code == .resourceExhausted && error.line == 1)
    try database.importLines(text("b", ""))
    #expect(try database.snapshot().document("b")?.attachments["n"]?.data() == Data(bytes))
  }

  @Test func `a large import is stored in transactions of a few mebibytes`() throws {
    let filler = String(repeating: "x", count: 1 << 19)
    let text = (0..<10).map { "{\"_id\":\"\($0)\",\"n\":\"\(filler)\"}\n" }.joined()
    var seen: [Int] = []
    var rest = Array(text.utf8)[...]
    _ = try database.importJSONLines { () -> ArraySlice<UInt8>? in
      seen.append(try database.snapshot().count)
      defer { rest = rest.dropFirst(1 << 18) }
      return rest.isEmpty ? nil : rest.prefix(1 << 18)
    }
    #expect(Set(seen) == [0, 8])
    #expect(try database.snapshot().count == 10)
  }
}
