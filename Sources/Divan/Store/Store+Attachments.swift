import DivanLog
import Synchronization

// Attachments go when nothing refers to them. Who refers is known by the catalog's references, which are
// hints: they are written with each record, and looked at only here.
//
// First the index forgets an attachment, while nobody else writes; so whoever stores the same content
// later writes it anew, and a merge, which keeps what the index leads to, drops the record. Its file
// is deleted when the commit that took the last reference is durable, and no version of the store is left
// in memory that may refer to it. STORAGE.md's rule 22 is kept here.
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
    let references = try view.repairing { (state) throws(PageError) in
      try state.attachmentReferences(digest)
    }
    var idle: [UInt64] = []
    for (sequence, id) in references {
      let isHeld = try view.repairing { (state) throws(PageError) in
        try state.holds(sequence, of: id)
      }
      if !isHeld { idle.append(sequence) }
    }
    guard idle.count == references.count || !idle.isEmpty else { return }
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
    let commit = newest.commit
    maintenance.state.withLock {
      $0.unreferenced.append(
        Maintenance.Unreferenced(epoch: old, digest: digest, commit: commit))
    }
  }

  /// Deletes the files of attachments that were forgotten, as far as no version needs them; when the store
  /// is being closed, none does.
  func deleteUnreferencedAttachments(isClosing: Bool) throws(DatabaseError) {
    let ready = maintenance.state.withLock { state in
      state.unreferenced.filter { isClosing || $0.epoch == nil }
    }
    guard !ready.isEmpty else { return }
    try commits.flushEverything()
    if isClosing {
      try delete(ready)
    } else {
      try withTurn { (_) throws(DatabaseError) in try delete(ready) }
    }
    try translating { () throws(LogError) in try attachments.flushRemovals() }
  }

  private func delete(_ forgotten: [Maintenance.Unreferenced]) throws(DatabaseError) {
    let view = StoreView(state: newest, store: self)
    for each in forgotten {
      let isBack = try view.locator(in: \.catalog, CatalogKey.attachment(each.digest)) != nil
      if !isBack {
        let isDeleted = try translating { () throws(LogError) in
          try attachments.remove(each.digest)
        }
        guard isDeleted else { continue }
      }
      maintenance.state.withLock { state in
        state.unreferenced.removeAll { $0.digest == each.digest && $0.commit == each.commit }
      }
    }
  }

  /// Deletes files of attachments that no record names, which an interrupted writer has left.
  ///
  /// Nobody else may use the store yet.
  func deleteOrphanedAttachments() throws(DatabaseError) {
    guard writer != nil, report.ending == .interrupted else { return }
    let view = StoreView(state: newest, store: self)
    var orphans: [SHA256.Digest] = []
    var failure: DatabaseError?
    try translating { () throws(LogError) in
      _ = try attachments.forEachFile { file in
        do throws(DatabaseError) {
          if try view.locator(in: \.catalog, CatalogKey.attachment(file.digest)) == nil {
            orphans.append(file.digest)
          }
        } catch {
          failure = failure ?? error
        }
      }
    }
    if let failure { throw failure }
    for orphan in orphans {
      _ = try translating { () throws(LogError) in try attachments.remove(orphan) }
    }
    try translating { () throws(LogError) in try attachments.flushRemovals() }
  }
}
