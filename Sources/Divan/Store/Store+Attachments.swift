import DivanLog
import Synchronization

// Attachments go when nothing refers to them. Who refers is known by the catalog's references, which are
// hints: they are written with each record, and looked at only here.
//
// First the index forgets an attachment, while nobody else writes; so whoever stores the same content
// later writes it anew, and a merge, which keeps what the index leads to, drops the record. Its file
// is deleted when the commit that took the last reference is durable, and no version of the store is left
// in memory that may refer to it. RECOVERY.md, rule 22.
//
// What was stored, and to which nothing ever referred, since the transaction was taken back or there was none,
// is deleted with it.
//
// A crash in between brings the attachment back into the index, perhaps without its file. Nothing refers to
// it then, and it is forgotten again.

extension Store {
  /// Forgets the attachments to which no record refers that is held, and deletes their files when that
  /// can be.
  func sweepAttachments() throws(DatabaseError) {
    if let state = try withTurn({ (_) throws(DatabaseError) in beginSweep() }) {
      let view = StoreView(state: state, store: self)
      var scan = state.catalog.scan(
        from: .inclusive([CatalogKey.Kind.attachment.rawValue]),
        to: .exclusive([CatalogKey.Kind.attachment.rawValue + 1]))
      do throws(DatabaseError) {
        while let item = try view.step(&scan) {
          // There may be a great many. The next session goes on.
          guard !maintenance.isStopped else { break }
          var reader = ByteReader(item.key.suffix(from: 1))
          guard let digest = try? reader.readDigest() else { continue }
          try sweep(digest, in: view)
        }
      } catch {
        try withTurn { (_) throws(DatabaseError) in newest.mayHaveUnreferenced = true }
        throw error
      }
    }
    try deleteUnreferencedAttachments(isClosing: false)
  }

  /// The version to sweep; nil if there is nothing to sweep in it.
  private func beginSweep() -> StoreState? {
    guard newest.mayHaveUnreferenced, commits.failure == nil else { return nil }
    newest.mayHaveUnreferenced = false
    return newest
  }

  /// Forgets the references of records that are not held any more, and the attachment if none is left.
  private func sweep(_ digest: SHA256.Digest, in view: StoreView) throws(DatabaseError) {
    let references = try view.repairing { (version) throws(PageError) in
      try version.state.attachmentReferences(digest)
    }
    var idle: [UInt64] = []
    for (sequence, id) in references {
      let isHeld = try view.repairing { (version) throws(PageError) in
        try version.state.holds(sequence, of: id)
      }
      if !isHeld { idle.append(sequence) }
    }
    // Where nobody ever referred to it there is nothing idle, and nothing else either.
    guard references.isEmpty || !idle.isEmpty else { return }
    try withTurn { (_) throws(DatabaseError) in
      // A number is never given twice: what is not held will not be.
      for sequence in idle {
        newest.catalog.remove(CatalogKey.reference(digest, sequence).span)
      }
      if idle.count == references.count { try forget(digest) }
      commits.replaceNewest(with: newest)
    }
  }

  /// Lets the index forget an attachment, unless a document refers to it meanwhile.
  private func forget(_ digest: SHA256.Digest) throws(DatabaseError) {
    let view = StoreView(state: newest, store: self)
    let key = CatalogKey.attachment(digest)
    guard try !view.isReferenced(digest), let locator = try view.locator(in: \.catalog, key) else {
      return
    }
    // Where its record cannot be read, a file may be left.
    let payload = try? view.payload(of: .attachment, at: locator)
    let record = payload.flatMap { try? AttachmentRecord.decode($0) }
    newest.catalog.remove(key.span)
    newest.segments.noteDead(locator)
    guard case .file? = record?.content else { return }
    let old = newest.epoch
    newest.epoch = StoreState.Epoch()
    maintenance.state.withLock {
      $0.unreferenced.append(Maintenance.Unreferenced(epoch: old, digest: digest))
    }
  }

  /// Notes that content was stored, so that its file is deleted if nothing refers to it in the end.
  func noteStored(_ stored: StoredAttachment) {
    guard stored.hold != nil else { return }
    maintenance.state.withLock { _ = $0.storedFiles.insert(stored.record.digest) }
  }

  /// Deletes the files to which nothing refers, as far as no version needs them and nobody holds them; when
  /// the store is being closed, nobody does.
  func deleteUnreferencedAttachments(isClosing: Bool) throws(DatabaseError) {
    let (forgotten, stored) = maintenance.state.withLock { state in
      (isClosing ? ArraySlice(state.unreferenced) : state.unreachable, state.storedFiles)
    }
    guard !forgotten.isEmpty || !stored.isEmpty else { return }
    try commits.flushEverything()
    let digests = stored.union(forgotten.map(\.digest))
    let done =
      isClosing
      ? try delete(digests, isClosing: true)
      : try withTurn { (_) throws(DatabaseError) in
        // A commit that nobody was told of may be in the log, and name what nothing seems to.
        guard commits.failure == nil else { return [] }
        return try delete(digests, isClosing: false)
      }
    maintenance.state.withLock { state in
      state.storedFiles.subtract(done)
      state.unreferenced.removeAll { done.contains($0.digest) }
    }
    try translating { () throws(LogError) in try attachments.flushRemovals() }
  }

  /// Deletes the files that no record names; returns those that need not be looked at again.
  private func delete(
    _ digests: Set<SHA256.Digest>, isClosing: Bool
  ) throws(DatabaseError) -> Set<SHA256.Digest> {
    let view = StoreView(state: newest, store: self)
    // Files of content that was forgotten, and that an older version may still show.
    let awaited =
      isClosing
      ? []
      : maintenance.state.withLock { state in
        Set(state.unreferenced.dropFirst(state.unreachable.count).map(\.digest))
      }
    var done: Set<SHA256.Digest> = []
    // In an order of theirs, so that the same is done in the same order in every process.
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

  /// Deletes files of attachments that no record names: those that a writer has left that was interrupted,
  /// or that could not delete them or flush their names.
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
    try deleteUnreferencedAttachments(isClosing: false)
  }
}
