import DivanLog
import DivanTesting
import ProofKit
import Testing

@testable import Divan

/// A store with a full-text index of a title and of attachments, compared with all documents.
struct AttachmentIndexFixture {
  static let vocabulary = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"]

  let fixture: CrashFixture
  let index = DocumentIndex(
    "text", fullText: "title", options: FullTextOptions(includesAttachments: true))

  init(cipher: TestCipher? = nil) {
    fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), cipher: cipher)
  }

  /// Opens the store; attachments of more than 24 bytes have files of their own.
  func open(
    _ other: CrashFixture? = nil, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    try (other ?? fixture).open {
      $0.maintenance = .manual
      $0.attachmentInlineLimit = 24
      // What is mapped in memory does not see damage.
      $0.readMode = .buffered
      change(&$0)
    }
  }

  /// Returns the store as it is after the process has ended.
  func reopened(_ life: Int, _ loss: SimulatedDisk.Loss = .processEnd) -> CrashFixture {
    CrashFixture(
      fixture.fileSystem.restarted(loss), CrashWriter(seed: UInt64(life)), life: life,
      cipher: fixture.cipher)
  }

  // MARK: Documents

  static func text(_ text: String, _ type: String = "text/plain") -> Document.Attachment {
    Document.Attachment(contentType: type, text.utf8)
  }

  /// A text that is too long for the log.
  static func long(_ words: String) -> String {
    words + String(repeating: " filler", count: 10)
  }

  /// Returns the IDs of the documents that a query of the index finds, in their order.
  func found(_ text: String, in source: some QuerySource) throws -> [String] {
    try source.ids(Query<Document>().filter(.matches(.fullText(text), index: "text")))
  }

  /// Returns the documents with a word in the title or in an attachment, by reading all of them.
  private func expected(
    _ word: String, inTitle: Bool, inAttachments: Bool, _ snapshot: Snapshot
  ) throws -> [String] {
    var found: [String] = []
    var documents = snapshot.documents()
    while let document = try documents.next() {
      var texts: [String] = []
      if inTitle, let title = document["title"]?.stringValue { texts.append(title) }
      if inAttachments {
        for attachment in document.attachments.values
        where attachment.contentType.hasPrefix("text/") {
          texts.append(String(decoding: try attachment.data(), as: UTF8.self))
        }
      }
      if texts.contains(where: { $0.split(separator: " ").contains(Substring(word)) }) {
        found.append(document.id)
      }
    }
    return found
  }

  /// Expects that each word finds the documents that have it, and that a check finds no problem.
  func expectSound(_ database: Database, _ comment: Comment) throws {
    let problems = try database.check().problems
    #expect(problems.isEmpty, "\(comment): \(problems.prefix(3))")
    try expectAll(database.snapshot(), comment)
  }

  func expectAll(_ snapshot: Snapshot, _ comment: Comment) throws {
    for word in AttachmentIndexFixture.vocabulary {
      for (prefix, inTitle, inAttachments) in [
        ("", true, true), ("title:", true, false), ("_attachments:", false, true),
      ] {
        let wanted = try expected(
          word, inTitle: inTitle, inAttachments: inAttachments, snapshot)
        #expect(try found(prefix + word, in: snapshot) == wanted, "\(comment): \(prefix)\(word)")
      }
      // The same by reading the documents.
      let query = Query<Document>().filter {
        .matches(.fullText("_attachments:\(word)"), index: "text") || $0["title"] == "none"
      }
      #expect(
        try snapshot.ids(query)
          == expected(word, inTitle: false, inAttachments: true, snapshot), comment)
    }
  }

  // MARK: Damage

  /// The path of the file of a document's attachment.
  func path(of name: String, _ id: String, in database: Database) throws -> String {
    let attachment = try #require(try database.snapshot().document(id)?.attachments[name])
    guard case .stored(let digest, _) = attachment.body else {
      throw DatabaseError(.notFound, "the attachment is not stored")
    }
    return database.store.attachments.path(of: digest)
  }
}
