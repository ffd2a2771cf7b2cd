import DivanLog
import Synchronization

/// Reads attachments as one version of the store has them.
///
/// While it is there, what the version refers to is not deleted.
private final class ViewSource: AttachmentSource {
  private let view: StoreView

  init(_ view: StoreView) { self.view = view }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    try view.openAttachment(digest)
  }
}

/// Reads attachments as the newest version of the store has them.
///
/// It keeps nothing: what is replaced may be deleted, and is not found then.
final class NewestSource: AttachmentSource {
  private let store: Store

  init(_ store: Store) { self.store = store }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    // What this version knows is not deleted while it is here.
    let view = try store.view()
    guard try view.locator(in: \.catalog, CatalogKey.attachment(digest)) != nil else {
      throw DatabaseError(
        .notFound, "the attachment was removed since the document was read",
        hint: "Read the document again to see what there is now", path: store.path)
    }
    return try view.openAttachment(digest)
  }
}

/// Reads an attachment that was stored, and that perhaps no document refers to yet.
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

extension StoreView {
  /// What a record says of its attachments, as a document has it.
  func attachments(_ entries: [AttachmentEntry]) -> Document.Attachments {
    var source: ViewSource?
    var attachments: Document.Attachments = [:]
    for entry in entries {
      let place: any AttachmentSource
      if let stored = storedInTransaction(entry.digest) {
        place = stored
      } else {
        // Never the transaction's own view, which other threads must not use.
        let shared = source ?? ViewSource(StoreView(state: state, store: store))
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

  /// The same where what a writer has removed meanwhile is damage, too.
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

  /// What is attached to a revision of a document whose content is held; nothing if it is not.
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

  /// Whether any record that is held refers to an attachment.
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
  /// What somebody else who writes has made of a store that is open for reading only; nil if that cannot be found out.
  ///
  /// Takes as long as opening the store.
  func newestForReading() -> Database? {
    var configuration = configuration
    configuration.openingProgress = nil
    return try? Database(at: path, configuration: configuration)
  }
}

extension Database {
  /// Stores the content of an attachment before a document refers to it, so that no transaction waits for
  /// it.
  ///
  /// The file is read a piece at a time. What is stored is deleted again, when the database cleans up or
  /// is closed, if no document refers to it and the returned value is gone. If the database is closed
  /// meanwhile this throws `closed`, and nothing is left.
  ///
  /// - Parameters:
  ///   - contentType: what kind of content it is, as a MIME type.
  ///   - file: the file's path.
  /// - Returns: what to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `accessDenied`, `diskFull`, `readOnly`,
  ///   `inputOutput` or `closed`.
  public func storeAttachment(
    contentType: String, file: String
  ) throws -> Document.Attachment {
    try storeAttachment(contentType) { (files) throws(LogError) in
      try files.store(contentsOf: file, on: POSIXFileSystem())
    }
  }

  /// Stores the content of an attachment that comes in pieces, of whatever sizes, before a document
  /// refers to it.
  ///
  /// What is stored is deleted again, when the database cleans up or is closed, if no document refers to it
  /// and the returned value is gone. If the database is closed meanwhile this throws `closed`, and nothing
  /// is left.
  ///
  /// - Parameters:
  ///   - contentType: what kind of content it is, as a MIME type.
  ///   - nextPiece: gives the next bytes, and nil at the end. What it throws is thrown, and nothing is
  ///     left of what was stored.
  /// - Returns: what to assign to ``Document/attachments``.
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

  /// Stores the content of an attachment that comes in pieces, as from a network, before a document
  /// refers to it.
  ///
  /// - Parameters:
  ///   - contentType: what kind of content it is, as a MIME type.
  ///   - pieces: the content, of whatever sizes; some kibibytes each are best, as each is handed to another
  ///     thread. What it throws is thrown, and nothing is left of what was stored.
  /// - Returns: what to assign to ``Document/attachments``.
  /// - Throws: ``DatabaseError`` with the codes `diskFull`, `readOnly`, `inputOutput`, `closed`, or `cancelled` if
  ///   the task is, and then nothing is left either.
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
    // Some sequences just end when the task is cancelled: that is not their content's end.
    guard !Task.isCancelled else {
      throw DatabaseError(.cancelled, "storing the attachment was cancelled")
    }
    return try await Database.run { _ in
      try self.storeAttachment(contentType) { (_) throws(LogError) in try intake.finish() }
    }
  }

  /// Stores the content of an attachment as `body` says.
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

/// Lets different threads, one after the other, write the content of one attachment.
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
  /// Makes sure that the store is open for writing and that its log says so, so that whoever opens it
  /// after a crash looks for files that no record names.
  func beginWriting() throws(DatabaseError) {
    try withTurn { (writer) throws(DatabaseError) in _ = try prepare(writer) }
  }
}

/// Who attaches, which says since which generation an attachment is there.
enum AttachingRevision {
  /// A revision that is made here: what its parent has as well is there since that got it.
  case child(of: RevisionID?, DocumentEntry?)
  /// A revision that was made elsewhere: what it says is believed, as far as it can be.
  case elsewhere(RevisionID)
}

extension WriteTransaction {
  /// Stores what is attached to a document, and says what its record says of it.
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

  /// How to tell since which generation an attachment is there.
  private func generations(
    of attachments: Document.Attachments, _ id: String, _ revision: AttachingRevision
  ) throws(DatabaseError) -> (String, Document.Attachment, SHA256.Digest) -> UInt64 {
    switch revision {
    case .elsewhere(let revision):
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
      // It comes from another store, or nothing refers to it here any more.
      let reader = try source.open(digest)
      return try add { () throws(LogError) -> StoredAttachment in
        var stream = reader.stream()
        let writer = files.makeWriter()
        while let piece = try stream.next() { try writer.append(piece) }
        return try writer.finish()
      }
    }
  }

  /// Writes the record of what was stored, unless that stands in the log already.
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
    // Its file stays at least until the transaction is over.
    stored[digest] = StoredSource(new, store)
    return (digest, new.record.length)
  }
}

extension AttachmentEntry {
  /// Checks what another store says of an attachment.
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

  /// Checks what an attachment is called and what it is said to be.
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
