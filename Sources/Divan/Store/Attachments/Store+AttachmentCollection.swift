import DivanLog
import Synchronization

// Attachments are removed when no record refers to them. The catalog's references say which records
// do. They are hints: they are written with each record, and read only here.
//
// First the attachment is removed from the index, under the writer lock. A later writer of the same
// content then writes it again, and a compaction, which keeps only records that the index names,
// drops the record. The file is deleted when the commit that removed the last reference is durable,
// and no version of the store that may refer to it is left in memory. RECOVERY.md, rule 22.
//
// Attachments that were stored but never referred to, because the transaction was rolled back or
// there was none, are deleted in the same way.
//
// A crash in between brings the attachment back into the index, perhaps without its file. No record
// refers to it then, and it is removed again.

extension Store {
  /// Removes the attachments that no record refers to, and deletes their files when possible.
  func sweepAttachments() throws(DatabaseError) {
    if let state = try withWriter({ (writer) throws(DatabaseError) in beginSweep(&writer) }) {
      let view = ReadView(state: state, environment)
      var scan = state.catalog.scan(
        from: .inclusive([CatalogKey.Kind.attachment.rawValue]),
        to: .exclusive([CatalogKey.Kind.attachment.rawValue + 1]))
      do throws(DatabaseError) {
        while let item = try view.step(&scan) {
          // There may be very many. The next session continues.
          guard !maintenance.isStopped else { break }
          var reader = ByteReader(item.key.suffix(from: 1))
          guard let digest = try? reader.readDigest() else { continue }
          try sweep(digest, in: view)
        }
      } catch {
        try withWriter { (writer) throws(DatabaseError) in
          writer.changeNewest { $0.mayHaveUnreferenced = true }
        }
        throw error
      }
    }
    try deleteUnreferencedAttachments()
  }

  /// Returns the version to sweep; nil if there is nothing to sweep.
  private func beginSweep(_ writer: inout WriterState) -> Version? {
    guard writer.newest.mayHaveUnreferenced, commits.failure == nil else { return nil }
    writer.changeNewest { $0.mayHaveUnreferenced = false }
    return writer.newest
  }

  /// Removes references from released records, and the attachment if no reference is left.
  private func sweep(_ digest: SHA256.Digest, in view: ReadView) throws(DatabaseError) {
    let references = try view.repairing { (version) throws(PageError) in
      try version.state.attachmentReferences(digest)
    }
    var idle: [UInt64] = []
    for (sequence, id) in references {
      let isRetained = try view.repairing { (version) throws(PageError) in
        try version.state.reaches(sequence, of: id)
      }
      if !isRetained { idle.append(sequence) }
    }
    // Continue if there never was a reference, or if some reference is idle.
    guard references.isEmpty || !idle.isEmpty else { return }
    try withWriter { (writer) throws(DatabaseError) in
      try writer.changeNewest { (version) throws(DatabaseError) in
        // Sequence numbers are never reused: a released record is never retained again.
        for sequence in idle {
          version.catalog.remove(CatalogKey.reference(digest, sequence).span)
        }
        if idle.count == references.count { try removeFromIndex(digest, of: &version) }
      }
    }
  }

  /// Removes an attachment from the index, unless a document refers to it by now.
  private func removeFromIndex(
    _ digest: SHA256.Digest, of newest: inout Version
  ) throws(DatabaseError) {
    let view = ReadView(state: newest, environment)
    let key = CatalogKey.attachment(digest)
    guard try !view.isReferenced(digest), let locator = try view.locator(in: \.catalog, key) else {
      return
    }
    // If its record cannot be read, a file may be left over.
    let payload = try? view.payload(of: .attachment, at: locator)
    let record = payload.flatMap { try? AttachmentRecord.decode($0) }
    newest.catalog.remove(key.span)
    newest.segments.noteDead(locator)
    guard case .file? = record?.content else { return }
    let old = newest.epoch
    newest.epoch = Version.Epoch()
    maintenance.state.withLock {
      $0.unreferenced.append(Maintenance.Unreferenced(epoch: old, digest: digest))
    }
  }

  /// Records that content was stored, so that its file is deleted if no document refers to it.
  func noteStored(_ stored: StoredAttachment) {
    guard stored.pin != nil else { return }
    maintenance.state.withLock { _ = $0.storedFiles.insert(stored.record.digest) }
  }

  /// Deletes unreferenced files that no version needs and no caller retains.
  ///
  /// - Throws: the errors of flushing and of removing files.
  private func deleteUnreferencedAttachments() throws(DatabaseError) {
    try deleteUnreferencedAttachments(isClosing: false) { (digests) throws(DatabaseError) in
      try withWriter { (writer) throws(DatabaseError) in
        // The log may contain a commit that was never acknowledged and that refers to such a file.
        guard commits.failure == nil else { return [] }
        // A commit may have dropped a reference since the first flush.
        try flushDrops()
        return try delete(digests, isClosing: false, writer.view(of: self))
      }
    }
  }

  /// Does the same while the store is being suspended or closed.
  ///
  /// When it is closed, no caller retains any content.
  func deleteUnreferencedAttachments(
    _ writer: borrowing WriterState, isClosing: Bool
  ) throws(DatabaseError) {
    let view = writer.view(of: self)
    try deleteUnreferencedAttachments(isClosing: isClosing) { (digests) throws(DatabaseError) in
      try delete(digests, isClosing: isClosing, view)
    }
  }

  private func deleteUnreferencedAttachments(
    isClosing: Bool, _ delete: (Set<SHA256.Digest>) throws(DatabaseError) -> Set<SHA256.Digest>
  ) throws(DatabaseError) {
    let (forgotten, stored) = maintenance.state.withLock { state in
      (isClosing ? ArraySlice(state.unreferenced) : state.unreachable, state.storedFiles)
    }
    guard !forgotten.isEmpty || !stored.isEmpty else { return }
    try flushDrops()
    let done = try delete(stored.union(forgotten.map(\.digest)))
    maintenance.state.withLock { state in
      state.storedFiles.subtract(done)
      state.unreferenced.removeAll { done.contains($0.digest) }
    }
    try translating { () throws(LogError) in try attachments.flushRemovals() }
  }

  /// Makes the commits durable that dropped the last references, before any file is deleted.
  ///
  /// Under the writer lock, that is all that the index has dropped. Writers wait less if it has
  /// been called just before.
  private func flushDrops() throws(DatabaseError) { try commits.flushEverything() }

  /// Deletes the files that no record names; returns the digests that need no further check.
  private func delete(
    _ digests: Set<SHA256.Digest>, isClosing: Bool, _ view: ReadView
  ) throws(DatabaseError) -> Set<SHA256.Digest> {
    // Files of removed content that an earlier version may still show.
    let awaited =
      isClosing
      ? []
      : maintenance.state.withLock { state in
        Set(state.unreferenced.dropFirst(state.unreachable.count).map(\.digest))
      }
    var done: Set<SHA256.Digest> = []
    // Sorted, so that every process does the same in the same order.
    for digest in digests.subtracting(awaited).sorted() {
      var isDone = try view.locator(in: \.catalog, CatalogKey.attachment(digest)) != nil
      if !isDone {
        isDone = try translating { () throws(LogError) in
          try attachments.remove(digest)
        }
      }
      if isDone { done.insert(digest) }
    }
    return done
  }

  /// Deletes attachment files that no record names.
  ///
  /// A writer leaves them behind if it is interrupted, or cannot delete them or flush their names.
  func deleteOrphanedAttachments() throws(DatabaseError) {
    guard refusal == nil else { return }
    let view = try view()
    var found: [SHA256.Digest] = []
    try translating { () throws(LogError) in
      _ = try attachments.forEachFile { file in found.append(file.digest) }
    }
    var orphans: Set<SHA256.Digest> = []
    for digest in found
    where try view.locator(in: \.catalog, CatalogKey.attachment(digest)) == nil {
      orphans.insert(digest)
    }
    maintenance.state.withLock { $0.storedFiles.formUnion(orphans) }
    try deleteUnreferencedAttachments()
  }
}
