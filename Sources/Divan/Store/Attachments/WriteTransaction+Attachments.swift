import DivanLog
import Synchronization

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
    case .external(let revision):
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
      if let source = source as? StoredSource, source.store === store,
        // Another process may have deleted a file that was stored before the store was suspended.
        source.stored.pin == nil || files.isDurable(digest)
      {
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
      let locator = try appendRecord(.attachment, id: nil) { writer in
        new.record.encode(to: &writer)
      }
      try change(orRollbackTo: savepoint) { (state, scratch) throws(PageError) in
        try state.putAttachment(digest, at: locator, scratch: &scratch)
      }
    }
    // The file stays at least until the transaction ends.
    stored[digest] = StoredSource(new, store)
    return (digest, new.record.length)
  }
}
