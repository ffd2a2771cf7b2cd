import DivanLog
import DivanTesting

import Divan

/// Full-text indexes with the text of attachments, whose files are not in the log.
extension RuleCase {
  static let attachedTexts: [RuleCase] = [
    RuleCase(name: "the text of attachments is found, also where only an attachment changes") {
      let database = try open(.fresh())
      try database.write { transaction in
        try put("a", ["n": "oak"], transaction)
        try put("b", ["m": "larch", "n": "oak fir"], transaction)
      }
      try database.addIndex(index)
      try database.write { transaction in
        _ = try transaction.update("a") { $0.attachments["n"] = text("ash") }
        _ = try transaction.update("b") { $0.attachments.removeValue(forKey: "m") }
      }
      try expectWords(["oak": ["b"], "ash": ["a"], "larch": [], "fir": ["b"]], database)
      if let problem = try database.check().problems.first { throw problem }
    },
    RuleCase(name: "an opening goes on without a lost attachment, whose words come back") {
      let fixture = CrashFixture.fresh()
      let database = try open(fixture)
      try database.addIndex(index)
      try database.write { try put("a", ["m": "ash", "n": "oak"], $0) }
      let later = fixture.restarted(.processEnd)
      try later.vanish { $0.hasSuffix(".checkpoint") }
      let lost = try loseAttachments(of: later)
      let again = try open(later)
      try expect(again.openingReport.notes.count == 2, "\(again.openingReport.notes)")
      try expectWords(["elm": ["a"], "oak": [], "ash": []], again)
      for (path, bytes) in lost { try later.fileSystem.appear(path, bytes) }
      // What the index has of the document is not what its attachments have.
      try again.write { _ = try $0.update("a") { $0.attachments["o"] = text("fir") } }
      try expectWords(["elm": ["a"], "oak": ["a"], "ash": ["a"], "fir": ["a"]], again)
      if let problem = try again.check().problems.first { throw problem }
    },
    RuleCase(name: "an opening goes on without an attachment that the system refuses") {
      let fixture = CrashFixture.fresh()
      let database = try open(fixture)
      try database.addIndex(index)
      try database.write { try put("a", ["n": "oak"], $0) }
      let later = fixture.restarted(.processEnd)
      try later.vanish { $0.hasSuffix(".checkpoint") }
      let files = later.fileSystem
      files.observeCalls { [unowned files] call in
        if call.verb == .open, call.path.contains("/attachments/") {
          files.fail(.open, with: .noAccess)
        }
      }
      let again = try open(later)
      files.observeCalls(nil)
      try expect(again.openingReport.notes.count == 1, "\(again.openingReport.notes)")
      try expectWords(["elm": ["a"], "oak": []], again)
    },
    RuleCase(name: "a document is deleted and a leaf purged after its attachments were lost") {
      let fixture = CrashFixture.fresh()
      let database = try open(fixture)
      try database.addIndex(index)
      try database.write { transaction in
        for id in ["a", "b"] { try put(id, ["n": "oak \(id)"], transaction) }
      }
      _ = try loseAttachments(of: fixture)
      let other = try RevisionID(parsing: "2-ff")
      try database.write { transaction in
        let history = [other, try RevisionID(parsing: "1-ff")]
        _ = try transaction.insert(Document(id: "b", ["text": "fir"]), history: history)
        _ = try transaction.delete("a")
      }
      try expectWords(["oak": [], "fir": ["b"]], database)
      try database.write { try $0.purge("b", revision: other) }
      try expectWords(["oak": [], "fir": [], "elm": ["b"]], database)
    },
  ]

  private static let index = DocumentIndex(
    "words", fullText: "text", options: FullTextOptions(includesAttachments: true))

  /// Opens a store in which longer attachments have files of their own.
  private static func open(_ fixture: CrashFixture) throws -> Database {
    try fixture.open {
      $0.maintenance = .manual
      $0.attachmentInlineLimit = 24
    }
  }

  private static func text(_ words: String) -> Document.Attachment {
    Document.Attachment(
      contentType: "text/plain", (words + String(repeating: " filler", count: 10)).utf8)
  }

  private static func put(
    _ id: String, _ texts: [String: String], _ transaction: WriteTransaction
  ) throws {
    var document = Document(id: id, ["text": "elm"])
    document.attachments = texts.reduce(into: [:]) { $0[$1.key] = text($1.value) }
    _ = try transaction.put(document)
  }

  /// Removes the files of all attachments, and returns their bytes by path.
  private static func loseAttachments(of fixture: CrashFixture) throws -> [String: [UInt8]] {
    var lost: [String: [UInt8]] = [:]
    for name in CrashFixture.attachmentFiles(on: fixture.fileSystem) {
      let path = fixture.path(of: "attachments/\(name.prefix(2))/\(name)")
      lost[path] = try fixture.fileSystem.bytes(of: path)
      try fixture.fileSystem.vanish(path)
    }
    try expect(!lost.isEmpty, "no attachment has a file")
    return lost
  }
}
