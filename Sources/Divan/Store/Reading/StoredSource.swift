import DivanLog

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
    // The pin keeps a file that this session has stored; an earlier one may be deleted by now.
    let isOwn = !store.isSuspended && stored.pin?.session == store.attachments.session
    do throws(LogError) {
      return try store.attachments.open(stored.record)
    } catch {
      if case .damaged(let damage) = error, stored.pin != nil, !isOwn,
        store.environment.mayLack(digest)
      {
        throw DatabaseError(
          .notFound, "another process has removed the content while the database was suspended",
          hint: "Store it again", path: damage.path)
      }
      throw DatabaseError(error)
    }
  }
}
