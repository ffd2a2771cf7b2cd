import DivanLog

// The text of attachments for full-text indexes, which few stores have.

extension Version {
  /// Whether an index has the text of attachments.
  var indexesAttachments: Bool { indexes.contains { $0.analyser?.includesAttachments == true } }

  /// Whether an index with the text of attachments is being built.
  var buildsAttachmentIndex: Bool {
    indexes.contains { !$0.isReady && $0.analyser?.includesAttachments == true }
  }

  /// Whether a change of some indexes needs the text of attachments that a document had, and has.
  func attachmentReads(
    from old: IndexedContent, to new: IndexedContent, in indexes: [IndexDefinition]
  ) -> (old: Bool, new: Bool) {
    var reads = (old: false, new: false)
    for definition in indexes {
      guard let analyser = definition.analyser, analyser.includesAttachments else { continue }
      let own = FullTextIndex(definition: definition, analyser: analyser)
        .readsAttachments(from: old, to: new)
      reads = (reads.old || own.old, reads.new || own.new)
    }
    return reads
  }

  /// Returns the text attachments among those that a record lists, unread.
  ///
  /// They are read from `files`, where there is no store yet.
  func attachedTexts(
    _ entries: [AttachmentEntry], _ files: AttachmentFiles?
  ) throws(PageError) -> AttachedTexts {
    guard indexesAttachments, let files else { return .none }
    var attachments: Document.Attachments = [:]
    for entry in entries where AttachedTexts.isText(entry.contentType) {
      let locator = try catalog.find(CatalogKey.attachment(entry.digest).span)
        .flatMap { RecordLocator(indexed: $0) }
      let source = LocatedSource(
        locator: locator, segment: locator.flatMap { segments[$0.fileID] }, files: files)
      attachments[entry.name] = Document.Attachment(
        contentType: entry.contentType, length: Int(clamping: entry.length),
        generation: entry.generation, body: .stored(entry.digest, source))
    }
    return AttachedTexts(attachments)
  }
}

/// Reads an attachment whose record is at a known place.
private final class LocatedSource: AttachmentSource {
  private let locator: RecordLocator?
  private let segment: Segment?
  private let files: AttachmentFiles

  init(locator: RecordLocator?, segment: Segment?, files: AttachmentFiles) {
    (self.locator, self.segment, self.files) = (locator, segment, files)
  }

  func open(_ digest: SHA256.Digest) throws(DatabaseError) -> AttachmentReader {
    guard let locator, let segment else {
      throw DatabaseError(.damaged, "an attachment's content is not in the store")
    }
    return try translating { () throws(LogError) in
      let record = try segment.record(at: locator)
      guard record.kind == .attachment, let found = try? AttachmentRecord.decode(record.payload),
        found.digest == digest
      else {
        throw .damaged(
          Damage(
            path: segment.file.path, offset: Int(clamping: locator.offset),
            reason: "the record is not of the attachment"))
      }
      return try files.open(found)
    }
  }
}

extension IndexedContent {
  /// Reads the text of the attachments that can be read, and returns the errors of the others.
  mutating func readAttachments(of id: SharedBytes) throws(DatabaseError) -> [DatabaseError] {
    guard case .revision(var revision) = self else { return [] }
    let errors = try revision.attachments.readSound(of: id.text)
    self = .revision(revision)
    return errors
  }

  /// Does the same where an error of the system prevents the use of an index.
  mutating func readIndexedAttachments(of id: SharedBytes) throws(PageError) -> [DatabaseError] {
    do throws(DatabaseError) {
      return try readAttachments(of: id)
    } catch {
      guard let system = error.underlying as? SystemError else { return [error] }
      throw .unreadable(page: 0, system)
    }
  }
}
