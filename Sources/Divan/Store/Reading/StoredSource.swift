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
    do throws(LogError) {
      return try store.attachments.open(stored.record)
    } catch {
      throw DatabaseError(error)
    }
  }
}
