import DivanLog
import Synchronization

extension ReadView {
  /// Returns the attachments that a record lists, as a document has them.
  func attachments(_ entries: [AttachmentEntry]) -> Document.Attachments {
    var source: ViewSource?
    var attachments: Document.Attachments = [:]
    for entry in entries {
      let contentSource: any AttachmentSource
      if let stored = storedInTransaction(entry.digest) {
        contentSource = stored
      } else {
        // Never the transaction's own view, which other threads must not use.
        let shared = source ?? ViewSource(ReadView(state: state, environment))
        source = shared
        contentSource = shared
      }
      attachments[entry.name] = Document.Attachment(
        contentType: entry.contentType, length: Int(clamping: entry.length),
        generation: entry.generation, body: .stored(entry.digest, contentSource),
        foreignDigest: entry.foreignDigest)
    }
    return attachments
  }

  /// Opens the content of an attachment.
  func openAttachment(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    do throws(DatabaseError) {
      return try openStoredAttachment(digest)
    } catch {
      guard error.code == .damaged, environment.mayLack(digest),
        let now = environment.newestForReading(),
        (try? now.store.view().isReferenced(digest)) == false
      else { throw environment.note(error) }
      throw DatabaseError(
        .notFound, "another process has removed the attachment since this version was read",
        hint: "Read the document again to see what it has now", path: error.path)
    }
  }

  /// Opens the content of an attachment.
  ///
  /// An attachment that a writer has removed since counts as damage, too.
  func openStoredAttachment(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    guard let locator = try locator(in: \.catalog, CatalogKey.attachment(digest)) else {
      throw DatabaseError(
        .damaged, "an attachment's content is not in the store", path: environment.path)
    }
    let payload = try payload(of: .attachment, at: locator)
    let record: AttachmentRecord
    do throws(ByteError) {
      record = try AttachmentRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
    guard record.digest == digest else {
      throw damage(at: locator, "the record is of another attachment")
    }
    do throws(LogError) {
      return try environment.attachments.open(record)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// Returns the attachments of a revision of a document; none if its content is not retained.
  func attachmentEntries(
    of revision: RevisionID, _ id: String, _ current: DocumentEntry
  ) throws(DatabaseError) -> [AttachmentEntry] {
    if current.revision == revision, current.traits.isDisjoint(with: [.tree, .attachments]) {
      return []
    }
    let newest = try newestRecord(of: current, id)
    let record = try retainedRecord(of: revision, id, current, newest)
    return record?.details?.attachments ?? []
  }

  /// Whether a retained or newest record refers to an attachment.
  func isReferenced(_ digest: SHA256.Digest) throws(DatabaseError) -> Bool {
    let isReferenced = try repairing { (version) throws(PageError) in
      for (sequence, id) in try version.state.attachmentReferences(digest)
      where try version.state.reaches(sequence, of: id) {
        return true
      }
      return false
    }
    if !isReferenced { try requireWhole() }
    return isReferenced
  }
}
