import DivanLog

extension WriteTransaction {
  /// Returns the index change for a record that becomes a document's newest; nil without indexes.
  ///
  /// All reads happen here, so that applying the change cannot fail. With `requiresText`, the text
  /// of the record's own attachments must be readable.
  func indexChange(
    to record: DocumentRecord, _ id: String, over current: DocumentEntry?, requiresText: Bool
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    let old = try content(of: current, record.idBytes)
    // The record's locator does not matter here.
    let entry = DocumentEntry(record, at: RecordLocator(fileID: 0, offset: 0, size: 0))
    var new = IndexedContent.none
    if !entry.isDeleted {
      if let sequence = entry.winningSequence {
        new = try contentIfSound { () throws(DatabaseError) in
          if let current, sequence == current.sequence {
            return try view.newestRecord(of: current, id)
          }
          return try view.retainedRecord(sequence, of: id)
        }
      } else {
        new = .revision(revision(record))
      }
    }
    return try indexChange(
      of: record.idBytes, from: old, to: new,
      requiresText: requiresText && entry.winningSequence == nil)
  }

  /// Returns the index change for the purge of a document; nil without indexes.
  func indexChange(
    purging id: SharedBytes, _ text: String, _ current: DocumentEntry?
  ) throws(DatabaseError) -> IndexChange? {
    guard !state.indexes.isEmpty else { return nil }
    return try indexChange(
      of: id, from: try content(of: current, id), to: .none, requiresText: true)
  }

  /// Returns the change of all indexes.
  ///
  /// With `requiresText`, the new text of attachments must be readable. Otherwise the index has
  /// what can be read of it, as for a revision that was stored earlier and wins now.
  private func indexChange(
    of id: SharedBytes, from old: IndexedContent, to new: IndexedContent, requiresText: Bool
  ) throws(DatabaseError) -> IndexChange {
    let reads = state.attachmentReads(from: old, to: new, in: state.indexes)
    var (old, new) = (old, new)
    if reads.old { _ = try old.readAttachments(of: id) }
    // A build throws without the text, so no write may bring the document in without it.
    let requiresText = requiresText || state.buildsAttachmentIndex
    if reads.new { try readAttachments(of: &new, id, requiresAll: requiresText) }
    return try view.repairing { (_) throws(PageError) in
      // The state is that of the transaction, also where the view's is older.
      try self.state.indexChange(of: id, from: old, to: new, in: self.state.indexes)
    }
  }

  private func readAttachments(
    of content: inout IndexedContent, _ id: SharedBytes, requiresAll: Bool
  ) throws(DatabaseError) {
    guard requiresAll, case .revision(var revision) = content else {
      _ = try content.readAttachments(of: id)
      return
    }
    try revision.attachments.read(of: id.text)
    content = .revision(revision)
  }

  /// Applies an index change, and records the values whose uniqueness is to be checked.
  func make(_ change: IndexChange) {
    change.apply(to: &state)
    for (start, name) in change.uniqueStarts { valuesToCheck[start] = name }
  }

  /// Refuses the transaction if two documents now have the same value in a unique index.
  ///
  /// The check is made only at the end, so that two documents can exchange values.
  func checkUniqueness() throws(DatabaseError) {
    for (prefix, name) in valuesToCheck.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      try view.requireUnique(prefix, of: name)
    }
  }

  private func content(
    of entry: DocumentEntry?, _ id: SharedBytes
  ) throws(DatabaseError) -> IndexedContent {
    guard let entry, !entry.isDeleted else { return .none }
    return try contentIfSound { () throws(DatabaseError) in
      try view.winningRecord(at: entry.location, id)
    }
  }

  /// Returns the content of the record that `read` reads, which may be damaged.
  private func contentIfSound(
    _ read: () throws(DatabaseError) -> some DocumentContent
  ) throws(DatabaseError) -> IndexedContent {
    do throws(DatabaseError) {
      return .revision(revision(try read()))
    } catch {
      guard error.code == .damaged else { throw error }
      return .unreadable
    }
  }

  /// Returns what indexes have of a record's revision, with attachments only if one includes them.
  private func revision(_ record: some DocumentContent) -> IndexedRevision {
    var revision = IndexedRevision(EncodedValue(record.body))
    if state.indexesAttachments, let details = record.details {
      revision.attachments = view.attachedTexts(details.attachments)
    }
    return revision
  }

  /// Appends the record of an index, and inserts it into the catalog.
  func append(_ record: IndexDefinitionRecord) throws(DatabaseError) {
    let locator = try appendRecord(.indexDefinition, id: nil) { writer in
      record.encode(to: &writer)
    }
    state.put(record, at: locator, scratch: &entryScratch)
  }
}
