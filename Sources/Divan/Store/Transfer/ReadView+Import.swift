import DivanLog

extension ReadView {
  /// Returns an attachment whose content is in the store and can be opened; nil if there is none.
  func storedAttachment(
    _ digest: SHA256.Digest
  ) throws(DatabaseError) -> Document.Attachment? {
    var entry = AttachmentEntry(name: "", contentType: "", length: 0, digest: digest, generation: 0)
    if let stored = storedInTransaction(digest) {
      entry.length = UInt64(stored.stored.record.length)
    } else {
      do throws(DatabaseError) {
        entry.length = UInt64(try openAttachment(digest).length)
      } catch {
        guard error.code == .damaged else { throw error }
        return nil
      }
    }
    return attachments([entry])[""]
  }
}
