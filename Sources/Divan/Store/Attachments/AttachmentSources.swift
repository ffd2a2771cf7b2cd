import DivanLog
import Synchronization

/// Reads attachments as of one version of the store.
///
/// While the source exists, the attachments that its version refers to are not deleted.
private final class ViewSource: AttachmentSource {
  private let view: ReadView

  init(_ view: ReadView) { self.view = view }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    try view.openAttachment(digest)
  }
}

/// Reads attachments as of the newest version of the store.
///
/// It holds no version: an attachment that was replaced may be deleted, and is then not found.
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

/// Reads an attachment that was stored and that no document may refer to yet.
final class StoredSource: AttachmentSource {
  let stored: StoredAttachment
  let store: Store

  init(_ stored: StoredAttachment, _ store: Store) {
    self.stored = stored
    self.store = store
  }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    guard !store.isClosed else { throw Store.closedError }
    do throws(LogError) {
      return try store.attachments.open(stored.record)
    } catch {
      throw DatabaseError(error)
    }
  }
}

extension ReadView {
  /// Returns the attachments that a record lists, as a document has them.
  func attachments(_ entries: [AttachmentEntry]) -> Document.Attachments {
    var source: ViewSource?
    var attachments: Document.Attachments = [:]
    for entry in entries {
      let place: any AttachmentSource
      if let stored = storedInTransaction(entry.digest) {
        place = stored
      } else {
        // Never the transaction's own view, which other threads must not use.
        let shared = source ?? ViewSource(ReadView(state: state, store: store))
        source = shared
        place = shared
      }
      attachments[entry.name] = Document.Attachment(
        contentType: entry.contentType, length: Int(clamping: entry.length),
        generation: entry.generation, body: .stored(entry.digest, place),
        foreignDigest: entry.foreignDigest)
    }
    return attachments
  }

  /// Opens the content of an attachment.
  func openAttachment(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    do throws(DatabaseError) {
      return try openStoredAttachment(digest)
    } catch {
      guard error.code == .damaged, store.configuration.isReadOnly,
        let now = store.newestForReading(),
        (try? now.store.view().isReferenced(digest)) == false
      else { throw error }
      throw DatabaseError(
        .notFound, "the attachment was removed since the database was opened for reading",
        hint: "Open it again to see what there is now", path: error.path)
    }
  }

  /// Opens the content of an attachment.
  ///
  /// An attachment that a writer has removed since counts as damage, too.
  func openStoredAttachment(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    guard let locator = try locator(in: \.catalog, CatalogKey.attachment(digest)) else {
      throw DatabaseError(
        .damaged, "an attachment's content is not in the store", path: store.path)
    }
    let payload = try payload(of: .attachment, at: locator)
    let record: AttachmentRecord
    do throws(ByteError) {
      record = try AttachmentRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
    guard record.digest == digest else {
      throw damage(at: locator, "the record of another attachment stands here")
    }
    do throws(LogError) {
      return try store.attachments.open(record)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// Returns the attachments of a revision of a document; none if its content is not held.
  fileprivate func attachmentEntries(
    of revision: RevisionID, _ id: String, _ current: DocumentEntry
  ) throws(DatabaseError) -> [AttachmentEntry] {
    if current.revision == revision, current.traits.isDisjoint(with: [.tree, .attachments]) {
      return []
    }
    let newest = try newestRecord(of: current, id)
    let record = try heldRecord(of: revision, id, current, newest)
    return record?.details?.attachments ?? []
  }

  /// Whether a held record refers to an attachment.
  func isReferenced(_ digest: SHA256.Digest) throws(DatabaseError) -> Bool {
    let isReferenced = try repairing { (version) throws(PageError) in
      for (sequence, id) in try version.state.attachmentReferences(digest)
      where try version.state.holds(sequence, of: id) {
        return true
      }
      return false
    }
    if !isReferenced { try requireWhole() }
    return isReferenced
  }
}

extension Store {
  /// Opens the newest version of a store that is open for reading only; nil if that fails.
  ///
  /// Another process may have written it. Takes as long as opening the store.
  func newestForReading() -> Database? {
    var configuration = configuration
    configuration.openingProgress = nil
    return try? Database(at: path, configuration: configuration)
  }
}

extension Database {
  /// Stores the content of an attachment before a document refers to it.
  ///
  /// No transaction waits for it. The file is read a piece at a time. If no document refers to the
  /// content and the returned value is gone, the content is deleted when the database cleans up or
  /// is closed. If the database is closed during the call, this throws `closed`, and nothing is
  /// left.
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - file: the file's path.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `accessDenied`, `diskFull`, `readOnly`,
  ///   `inputOutput` or `closed`.
  public func storeAttachment(
    contentType: String, file: String
  ) throws -> Document.Attachment {
    try storeAttachment(contentType) { (files) throws(LogError) in
      try files.store(contentsOf: file, on: POSIXFileSystem())
    }
  }

  /// Stores the content of an attachment that comes in pieces, before a document refers to it.
  ///
  /// The pieces can have any size. If no document refers to the content and the returned value is
  /// gone, the content is deleted when the database cleans up or is closed. If the database is
  /// closed during the call, this throws `closed`, and nothing is left.
  ///
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - nextPiece: returns the next bytes, and nil at the end. An error that it throws is
  ///     rethrown, and nothing that was stored is left.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `diskFull`, `readOnly`, `inputOutput` or `closed`.
  public func storeAttachment(
    contentType: String, pieces nextPiece: () throws -> (some Sequence<UInt8>)?
  ) throws -> Document.Attachment {
    try store.beginWriting()
    let writer = store.attachments.makeWriter()
    while let piece = try nextPiece() {
      try translating { () throws(LogError) in
        try writer.append(SharedBytes(copying: Array(piece)))
      }
    }
    return try storeAttachment(contentType) { (_) throws(LogError) in try writer.finish() }
  }

  /// Stores the content of an attachment that comes in pieces, as from a network.
  ///
  /// It is stored before a document refers to it.
  ///
  /// - Parameters:
  ///   - contentType: the MIME type of the content.
  ///   - pieces: the content, in pieces of any size. Some kibibytes each are best, because each
  ///     piece is handed to another thread. An error that it throws is rethrown, and nothing that
  ///     was stored is left.
  /// - Returns: a value to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `diskFull`, `readOnly`, `inputOutput`, `closed`, or
  ///   `cancelled` if the task is cancelled; nothing is left then either.
  public func storeAttachment<Pieces: AsyncSequence>(
    contentType: String, pieces: Pieces
  ) async throws -> Document.Attachment where Pieces.Element: Sequence<UInt8> {
    let store = store
    try await Database.run { _ in try store.beginWriting() }
    let intake = AttachmentIntake(store.attachments)
    for try await piece in pieces {
      let bytes = SharedBytes(copying: Array(piece))
      try await Database.run { _ in try intake.append(bytes) }
    }
    // Some sequences just end when the task is cancelled. That is not the end of the content.
    guard !Task.isCancelled else {
      throw DatabaseError(.cancelled, "storing the attachment was cancelled")
    }
    return try await Database.run { _ in
      try self.storeAttachment(contentType) { (_) throws(LogError) in try intake.finish() }
    }
  }

  /// Stores the content of an attachment with `body`.
  func storeAttachment(
    _ contentType: String, _ body: (AttachmentFiles) throws(LogError) -> StoredAttachment
  ) throws(DatabaseError) -> Document.Attachment {
    try store.beginWriting()
    let stored: StoredAttachment
    do throws(LogError) {
      stored = try body(store.attachments)
    } catch {
      throw DatabaseError(error)
    }
    store.noteStored(stored)
    return Document.Attachment(
      contentType: contentType, length: stored.record.length, generation: 0,
      body: .stored(stored.record.digest, StoredSource(stored, store)))
  }
}

/// Writes the content of one attachment from several threads, one at a time.
private final class AttachmentIntake: Sendable {
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

extension Store {
  /// Makes sure that the store is open for writing and that its log says so.
  ///
  /// After a crash, opening the store then looks for files that no record names.
  func beginWriting() throws(DatabaseError) {
    try withWriterLock { (writer) throws(DatabaseError) in _ = try prepare(writer) }
  }
}

/// The revision that attachments are stored for; it decides the generation that they get.
enum AttachingRevision {
  /// A revision that is made here: an attachment that its parent has as well keeps its generation.
  case child(of: RevisionID?, DocumentEntry?)
  /// A revision that was made elsewhere: its generations are trusted, up to the revision's own.
  case crossContext(RevisionID)
}

extension WriteTransaction {
  /// Stores the attachments of a document, and returns the entries for its record.
  func store(
    _ attachments: Document.Attachments, id: String, madeBy revision: AttachingRevision
  ) throws(DatabaseError) -> [AttachmentEntry] {
    guard !attachments.isEmpty else { return [] }
    guard attachments.count <= AttachmentEntry.countLimit else {
      throw DatabaseError(
        .invalidAttachment,
        "the document has more than \(AttachmentEntry.countLimit) attachments", documentID: id)
    }
    let generations = try generations(of: attachments, id, revision)
    var entries: [AttachmentEntry] = []
    for (name, attachment) in attachments {
      try AttachmentEntry.validate(name, attachment.contentType, documentID: id)
      try AttachmentEntry.validate(attachment.foreignDigest, of: name, documentID: id)
      let (digest, length) = try store(attachment)
      entries.append(
        AttachmentEntry(
          name: name, contentType: attachment.contentType, length: UInt64(length), digest: digest,
          generation: generations(name, attachment, digest),
          foreignDigest: attachment.foreignDigest))
    }
    return entries
  }

  /// Returns a function that computes the generation of an attachment.
  private func generations(
    of attachments: Document.Attachments, _ id: String, _ revision: AttachingRevision
  ) throws(DatabaseError) -> (String, Document.Attachment, SHA256.Digest) -> UInt64 {
    switch revision {
    case .crossContext(let revision):
      return { _, attachment, _ in
        attachment.generation > 0
          ? min(attachment.generation, revision.generation) : revision.generation
      }
    case .child(let parent, let current):
      let generation = (parent?.generation ?? 0) + 1
      var known: ByteKeyed<AttachmentEntry> = [:]
      if let parent, let current {
        for entry in try view.attachmentEntries(of: parent, id, current) {
          known[entry.name] = entry
        }
      }
      return { [known] name, attachment, digest in
        guard let old = known[name], old.digest == digest,
          old.contentType == attachment.contentType
        else { return generation }
        return old.generation
      }
    }
  }

  /// Makes sure that the content is in the store.
  private func store(
    _ attachment: Document.Attachment
  ) throws(DatabaseError) -> (SHA256.Digest, length: Int) {
    let files = store.attachments
    switch attachment.body {
    case .bytes(let bytes):
      return try add { () throws(LogError) in try files.store(bytes) }
    case .file(let path):
      return try add { () throws(LogError) in
        try files.store(contentsOf: path, on: POSIXFileSystem())
      }
    case .stored(let digest, let source):
      if stored[digest] != nil { return (digest, attachment.length) }
      if try view.isReferenced(digest) { return (digest, attachment.length) }
      if let source = source as? StoredSource, source.store === store {
        return try add { () throws(LogError) in source.stored }
      }
      // The content comes from another store, or nothing refers to it here any more.
      let reader = try source.open(digest)
      return try add { () throws(LogError) -> StoredAttachment in
        var stream = reader.stream()
        let writer = files.makeWriter()
        while let piece = try stream.next() { try writer.append(piece) }
        return try writer.finish()
      }
    }
  }

  /// Writes the record of a stored attachment, unless it is in the log already.
  private func add(
    _ body: () throws(LogError) -> StoredAttachment
  ) throws(DatabaseError) -> (SHA256.Digest, length: Int) {
    let new: StoredAttachment
    do throws(LogError) { new = try body() } catch { throw DatabaseError(error) }
    store.noteStored(new)
    let digest = new.record.digest
    if stored[digest] == nil, try !view.isReferenced(digest) {
      let savepoint = buffer.savepoint
      let place = try append(.attachment, id: nil) { writer in new.record.encode(to: &writer) }
      do throws(DatabaseError) {
        try change { (state, scratch) throws(PageError) in
          try state.putAttachment(digest, at: place, scratch: &scratch)
        }
      } catch {
        buffer.rollback(to: savepoint)
        throw error
      }
    }
    // The file stays at least until the transaction ends.
    stored[digest] = StoredSource(new, store)
    return (digest, new.record.length)
  }
}

extension AttachmentEntry {
  /// Checks the digest that another store gave an attachment.
  fileprivate static func validate(
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
        "what another store says of the attachment \(name.excerpt.debugDescription) cannot be kept",
        hint:
          "Its texts have 1 to \(textSizeLimit) bytes; an encoded length is not negative, and goes with an encoding",
        documentID: documentID)
    }
  }

  /// Checks the name and the content type of an attachment.
  fileprivate static func validate(
    _ name: String, _ contentType: String, documentID: String
  ) throws(DatabaseError) {
    let size = name.utf8.count
    guard size > 0, size <= textSizeLimit, name.utf8.first != 0x5F else {
      throw DatabaseError(
        .invalidAttachment, "\(name.excerpt.debugDescription) cannot be the name of an attachment",
        hint: "It has 1 to \(textSizeLimit) bytes, and does not begin with an underscore",
        documentID: documentID)
    }
    guard !contentType.isEmpty, contentType.utf8.count <= textSizeLimit else {
      throw DatabaseError(
        .invalidAttachment,
        "\(contentType.excerpt.debugDescription) cannot be the content type of an attachment",
        hint: "It has 1 to \(textSizeLimit) bytes, as `image/png`", documentID: documentID)
    }
  }
}
