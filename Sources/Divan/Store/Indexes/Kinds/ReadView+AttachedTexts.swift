import DivanLog

extension ReadView {
  /// Returns the text attachments among those that a record lists, unread.
  func attachedTexts(_ entries: [AttachmentEntry]) -> AttachedTexts {
    // Without text there is nothing to open.
    let listed = entries.filter { AttachedTexts.isText($0.contentType) }
    return listed.isEmpty ? .none : AttachedTexts(attachments(listed))
  }

  /// Returns what a full-text index has of a document, from the record of its winning revision.
  ///
  /// - Throws: The error of the first attachment that cannot be read, with its name.
  func indexedRevision(
    _ record: StoredDocument, for analyser: TextAnalyser
  ) throws(DatabaseError) -> IndexedRevision {
    var revision = IndexedRevision(EncodedValue(record.body))
    guard analyser.includesAttachments, let details = record.details else { return revision }
    revision.attachments = attachedTexts(details.attachments)
    if analyser.readsAttachments(of: revision) {
      try revision.attachments.read(of: record.idBytes.text)
    }
    return revision
  }
}
