import DivanLog
import Synchronization

/// Reads attachments as of one version of the store.
///
/// While the source exists, the attachments that its version refers to are not deleted.
final class ViewSource: AttachmentSource {
  private let view: ReadView

  init(_ view: ReadView) { self.view = view }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    try view.openAttachment(digest)
  }
}

/// Reads attachments as of the newest version of the store.
///
/// It retains no version: an attachment that was replaced may be deleted, and is then not found.
final class NewestSource: AttachmentSource {
  private let store: Store

  init(_ store: Store) { self.store = store }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    // The attachments of this view are not deleted while it exists.
    let view = try store.view()
    guard try view.locator(in: \.catalog, CatalogKey.attachment(digest)) != nil else {
      throw DatabaseError(
        .notFound, "the attachment was removed since the document was read",
        hint: "Read the document again to see what there is now", path: store.path)
    }
    return try view.openAttachment(digest)
  }
}

/// Writes the content of one attachment from several threads, one at a time.
final class AttachmentIntake: Sendable {
  private let writer: Guarded<AttachmentWriter>

  init(_ files: AttachmentFiles) { writer = Guarded(files.makeWriter()) }

  func append(_ bytes: SharedBytes) throws(DatabaseError) {
    try translating { () throws(LogError) in
      try writer.withLock { (writer) throws(LogError) in try writer.append(bytes) }
    }
  }

  func finish() throws(LogError) -> StoredAttachment {
    try writer.withLock { (writer) throws(LogError) in try writer.finish() }
  }
}

/// The revision that attachments are stored for; it decides the generation that they get.
enum AttachingRevision {
  /// A revision that this store makes: an attachment that its parent has, too, keeps its
  /// generation.
  case child(of: RevisionID?, DocumentEntry?)
  /// A revision that another store made: its generations are trusted, up to the revision's own.
  case external(RevisionID)
}

extension AttachmentEntry {
  /// Checks the digest that another store gave an attachment.
  static func validate(
    _ digest: Document.Attachment.ForeignDigest?, of name: String, documentID: String
  ) throws(DatabaseError) {
    guard let digest else { return }
    let isWhole =
      1...textSizeLimit ~= digest.text.utf8.count
      && digest.encoding.map { 1...textSizeLimit ~= $0.utf8.count } ?? (digest.encodedLength == nil)
      && digest.encodedLength.map { 0...Int(counterLimit - 1) ~= $0 } ?? true
    guard isWhole else {
      throw DatabaseError(
        .invalidAttachment,
        "the digest that another store gave the attachment \(name.excerpt.debugDescription) cannot be stored",
        hint:
          "Its texts have 1 to \(textSizeLimit) bytes; an encoded length is not negative, and needs an encoding",
        documentID: documentID)
    }
  }

  /// Checks the name and the content type of an attachment.
  static func validate(
    _ name: String, _ contentType: String, documentID: String
  ) throws(DatabaseError) {
    let size = name.utf8.count
    guard size > 0, size <= textSizeLimit, name.utf8.first != 0x5F else {
      throw DatabaseError(
        .invalidAttachment, "\(name.excerpt.debugDescription) cannot be the name of an attachment",
        hint: "A name has 1 to \(textSizeLimit) bytes, and does not begin with an underscore",
        documentID: documentID)
    }
    guard !contentType.isEmpty, contentType.utf8.count <= textSizeLimit else {
      throw DatabaseError(
        .invalidAttachment,
        "\(contentType.excerpt.debugDescription) cannot be the content type of an attachment",
        hint: "A content type has 1 to \(textSizeLimit) bytes, for example `image/png`",
        documentID: documentID)
    }
  }
}
