import DivanLog
import Synchronization

/// The transaction that `write` passes to its closure: changes committed together or not at all.
///
/// ```swift
/// try database.write { transaction in
///   guard var note = try transaction.document("note") else { return }
///   note["text"] = "Green tea"
///   try transaction.put(note)
///   try transaction.put(Document(id: "log", ["text": "The note was changed"]))
/// }
/// ```
///
/// It reads its own changes. Do not use it after the closure has returned: every call then throws
/// ``DatabaseError/Code/closed``. It is not `Sendable`: it belongs to the closure's thread.
///
/// Putting a document costs its encoding, one SHA-256 of it, and two insertions into the index;
/// nothing is written before the closure returns.
public final class WriteTransaction {
  let store: Store
  /// The version that this transaction makes.
  var state: Version {
    _read { yield changed }
    _modify {
      // Readers keep their version; no other reference may exist to a state that is changed in
      // place.
      known = nil
      yield &changed
    }
  }
  private var changed: Version
  /// The same state, shared with readers; nil if none has read since the last change.
  private var known: VersionBox?
  var buffer: TransactionBuffer
  let fileID: UInt64
  private var encoder = ValueEncoder()
  private var scratch = ByteWriter(capacity: 1024)
  var entryScratch = ByteWriter(capacity: 128)
  /// The attachments that this transaction has stored; their files are kept until it ends.
  var stored: [SHA256.Digest: StoredSource] = [:]
  /// The total size of the attachments that documents stopped referring to here.
  var releasedSize = 0
  /// Closures that restore objects whose documents were stored, in the order of the changes.
  var rollbackLog: [() -> Void] = []
  /// An object that the layers above attach until the transaction ends.
  var attachedObject: AnyObject?
  /// The observers that show this transaction's changes to others.
  var observers = TransactionObservers()
  private(set) var isOver = false
  /// The validations that check revisions before they are stored.
  let validations: [Validation]
  /// New entries of unique indexes, as number and value, with the index's name.
  var valuesToCheck: [[UInt8]: String] = [:]
  /// The earliest expiry set in this transaction.
  var earliestExpiry: UInt64?
  /// The highest sequence number of any named snapshot; nil while that is not known.
  var knownPin: UInt64?

  /// Begins a transaction whose records will be at `offset` of a segment.
  init(store: Store, state: Version, knownPin: UInt64?, fileID: UInt64, at offset: Int) {
    self.store = store
    self.knownPin = knownPin
    changed = state
    self.fileID = fileID
    validations = store.validations.withLock { $0 }
    let isEncrypted = store.directory.isEncrypted
    buffer = TransactionBuffer(
      at: offset, encryptedBy: isEncrypted ? state.segments[fileID]?.file.encryption : nil)
  }
}

@available(*, unavailable)
extension WriteTransaction: Sendable {}

extension WriteTransaction {
  /// Stores a document if it was not changed since you read it.
  ///
  /// A document that was read becomes the successor of the revision that was read. A new one is
  /// stored if there is none with its ID, or only a deleted one.
  ///
  /// - Returns: The stored document, with its ID, revision and sequence.
  /// - Throws: ``DatabaseError`` with the codes `conflict`, `invalidDocumentID`, `invalidValue`,
  ///   `documentTooLarge`, `transactionTooLarge` or `closed`, and `damaged` or `inputOutput` if the
  ///   present document cannot be read.
  @discardableResult
  public func put(_ document: Document) throws -> Document {
    try put(document, onConflict: .fail)
  }

  /// Stores a document, also if it was changed since you read it.
  ///
  /// ```swift
  /// try transaction.put(settings, onConflict: .overwrite)     // the last writer wins
  /// ```
  ///
  /// - Parameters:
  ///   - document: The document to store.
  ///   - policy: What to do if the document was changed since it was read, or if it was not read
  ///     and there is already one with its ID.
  /// - Returns: The stored document, with its ID, revision and sequence.
  /// - Throws: The errors of ``put(_:)-(Document)``. With ``ConflictPolicy/branch``,
  ///   ``DatabaseError/Code/conflict`` if the revision that the document was changed from is not
  ///   known, or if the same change was made to it before and the document was changed since: the
  ///   resulting revision is already part of the document's history.
  @discardableResult
  public func put(_ document: Document, onConflict policy: ConflictPolicy) throws -> Document {
    try check()
    let id = try id(for: document)
    let overwrites = policy == .overwrite
    let current = try view.entry(id, isProbablyThere: overwrites || document.revision != nil)
    guard overwrites else {
      let parent = try parent(
        of: document, id: id, current: current, allowingConflict: policy == .branch)
      return try storeRevision(document, id: id, isDeleted: false, parent: parent, over: current)
    }
    var document = document
    if document.revision == nil, let stored = try self.document(id) {
      // A document that was never read does not say which attachments should go.
      for (name, attachment) in stored.attachments where document.attachments[name] == nil {
        document.attachments[name] = attachment
      }
    }
    return try storeRevision(
      document, id: id, isDeleted: false, parent: current?.revision, over: current)
  }

  /// Stores several documents, each as ``put(_:)-(Document)`` does; all or none of them.
  ///
  /// Cheaper than one by one: their revision IDs are computed in parallel lanes.
  ///
  /// - Returns: Their IDs, in the same order.
  @discardableResult
  public func put(contentsOf documents: some Sequence<Document>) throws -> [String] {
    try check()
    return try savepoint {
      var ids: [String] = []
      ids.reserveCapacity(documents.underestimatedCount)
      var batch = PutBatch()
      for document in documents {
        guard document.attachments.isEmpty else {
          try storeBatch(&batch)
          ids.append(try put(document).id)
          continue
        }
        let id = try id(for: document)
        ids.append(id)
        // The second of two documents of one ID depends on the first.
        if batch.isFull || batch.contains(id) { try storeBatch(&batch) }
        try batch.add(document, id: id)
      }
      try storeBatch(&batch)
      return ids
    }
  }

  /// Stores properties under an ID as a whole document: what it had before is gone.
  ///
  /// That includes its attachments. To keep them, put the document with
  /// ``ConflictPolicy/overwrite``.
  ///
  /// - Returns: The stored document.
  @discardableResult
  public func replace(_ id: String, with properties: Value.Object) throws -> Document {
    try check()
    try DocumentID.validate(id)
    let current = try view.entry(id)
    return try storeRevision(
      Document(id: id, properties), id: id, isDeleted: false, parent: current?.revision,
      over: current)
  }

  /// Changes a document's properties and attachments; does nothing if it does not exist.
  ///
  /// If `change` leaves them as they are, no revision is stored.
  ///
  /// - Returns: The stored document, or nil if there is none.
  @discardableResult
  public func update(
    _ id: String, _ change: (inout Document) throws -> Void
  ) throws -> Document? {
    try check()
    guard let document = try self.document(id) else { return nil }
    var changed = document
    try change(&changed)
    return try put(&changed, unlessEqualTo: document) ? changed : document
  }

  /// Whether a document that was read still is the current revision.
  func isCurrent(_ document: Document) throws -> Bool {
    guard let current = try view.entry(document.id), !current.isDeleted else { return false }
    return current.revision == document.revision
  }

  /// Stores a document that was changed, unless its content is the same as before.
  ///
  /// - Parameters:
  ///   - changed: The document to store, and afterwards the stored one.
  ///   - document: The document as it was read.
  /// - Returns: Whether it was stored.
  /// - Throws: The errors of ``put(_:)-(Document)``.
  func put(_ changed: inout Document, unlessEqualTo document: Document) throws -> Bool {
    // What cannot be encoded has its error from the put.
    if let encoded = try? changed.encoded() {
      if encoded.bytes == document.storedProperties,
        changed.attachments.isIdentical(to: document.attachments),
        changed.revision == document.revision, changed.id == document.id,
        // If it was stored again meanwhile, the put reports the conflict.
        try isCurrent(document)
      {
        return false
      }
      // Encoded once for the comparison and the put.
      changed.replaceProperties(with: encoded)
    }
    changed = try put(changed)
    return true
  }

  /// Deletes a document if it was not changed since you read it, by storing a deleted revision.
  ///
  /// The current properties of `document` are kept in that revision, the *tombstone*. In a conflict
  /// this ends the branch that `document` was read from; the document continues with the others.
  /// - Throws: The errors of ``put(_:)-(Document)``; `notFound` if it was never stored or is
  ///   deleted.
  @discardableResult
  public func delete(_ document: Document) throws -> Document {
    try check()
    let id = document.id
    guard let current = try view.entry(id), !current.isDeleted else {
      throw DatabaseError(.notFound, "there is no document with this ID to delete", documentID: id)
    }
    let parent = try parent(of: document, id: id, current: current, allowingConflict: false)
    return try storeRevision(
      Document(id: id, document.properties), id: id, isDeleted: true, parent: parent,
      over: current)
  }

  /// Deletes a document in any revision; returns false if there is none.
  ///
  /// In a conflict all branches are deleted.
  @discardableResult
  public func delete(_ id: String) throws -> Bool {
    try check()
    guard let current = try view.entry(id), !current.isDeleted else { return false }
    func deleteWinner(_ current: DocumentEntry) throws {
      _ = try storeRevision(
        Document(id: id), id: id, isDeleted: true, parent: current.revision, over: current)
    }
    guard current.traits.contains(.tree) else {
      try deleteWinner(current)
      return true
    }
    // A validation may refuse any of the deletions.
    try savepoint {
      var winner: DocumentEntry? = current
      while let entry = winner, !entry.isDeleted {
        try deleteWinner(entry)
        winner = try view.entry(id)
      }
    }
    return true
  }

  /// Runs changes that are kept together: if `body` throws, its changes are rolled back.
  ///
  /// The transaction then continues.
  public func savepoint<R>(_ body: () throws -> R) throws -> R {
    try check()
    let state = state
    let stored = stored
    let knownPin = knownPin
    let rollbackCount = rollbackLog.count
    let savepoint = buffer.savepoint
    observers.noteBeginning()
    do {
      let result = try body()
      for each in observers.noteEnd() { each.nestedChangesEnded(areKept: true) }
      return result
    } catch {
      let notified = observers.noteEnd()
      if !isOver {
        self.state = state
        self.stored = stored
        self.knownPin = knownPin
        buffer.rollback(to: savepoint)
        // Last, after everything else is restored: these closures and observers may run any code.
        rollBack(after: rollbackCount)
        for each in notified { each.nestedChangesEnded(areKept: false) }
      }
      throw error
    }
  }
}

extension WriteTransaction {
  /// Returns the document with this ID; nil if there is none or it is deleted.
  public func document(_ id: String) throws -> Document? {
    try check()
    return try view.document(id)
  }

  /// Returns the documents with these IDs, in the same order; nil where there is none.
  public func documents(_ ids: [String]) throws -> [Document?] {
    try check()
    return try view.documents(ids)
  }

  /// Whether there is a document with this ID that is not deleted.
  ///
  /// Reads the index only.
  public func exists(_ id: String) throws -> Bool {
    try check()
    return try view.exists(id)
  }

  /// The number of documents that are not deleted.
  ///
  /// Costs nothing.
  public var count: Int { Int(clamping: state.documentCount) }

  /// Returns a cursor over the documents in a range as of now; later changes do not show.
  public func documents(
    _ range: some IDRangeExpression = .all, descending: Bool = false
  ) throws -> DocumentCursor {
    try check()
    return DocumentCursor(view, range.idRange, descending: descending)
  }

  var view: ReadView {
    let version = known ?? VersionBox(changed)
    known = version
    return ReadView(version, store.environment, unwritten: self)
  }

  /// The number that this transaction's commit will have.
  var nextCommit: UInt64 { state.commit + 1 }

  /// Returns the bytes of an uncommitted record of this transaction; nil for any other locator.
  func unwrittenRecord(at locator: RecordLocator) -> SharedBytes? {
    guard locator.fileID == fileID, let offset = Int(exactly: locator.offset) else { return nil }
    return buffer.record(at: offset, size: Int(locator.size))
  }
}

extension WriteTransaction {
  /// The current size of the transaction in the log, in bytes.
  package var size: Int { buffer.size }
  var isEmpty: Bool { buffer.recordCount == 0 }
  /// The last sequence number in use, with the changes so far.
  package var lastSequence: UInt64 { state.lastSequence }

  /// Ends the transaction; without a commit, changes to objects are rolled back.
  func end(isCommitted: Bool) {
    isOver = true
    if !isCommitted { rollBack(after: 0) }
    rollbackLog = []
    for each in observers.all { each.transactionEnded(isCommitted: isCommitted) }
    attachedObject = nil
  }

  private func rollBack(after count: Int) {
    // An entry may run code that puts a document, which must not be rolled back.
    let entries = Array(rollbackLog[count...])
    rollbackLog.removeSubrange(count...)
    for entry in entries.reversed() { entry() }
  }

  func check() throws(DatabaseError) {
    if isOver { throw WriteTransaction.overError }
  }

  static var overError: DatabaseError {
    DatabaseError(
      .closed, "the transaction is over", hint: "Use it only in the closure that received it")
  }

  func id(for document: Document) throws(DatabaseError) -> String {
    let id = document.id
    guard !id.isEmpty else { return store.configuration.documentIDs.next() }
    try DocumentID.validate(id)
    return id
  }

  /// Stores one revision as the successor of another.
  func storeRevision(
    _ document: Document, id: String, isDeleted: Bool, parent: RevisionID?,
    over current: DocumentEntry?
  ) throws -> Document {
    scratch.removeAll()
    try document.encodeProperties(with: &encoder, to: &scratch)
    let properties = scratch.sharedCopy
    func finish(with attachments: [AttachmentEntry]) throws -> Document {
      let revision = try RevisionID.compute(
        parent: parent, isDeleted: isDeleted, body: properties,
        attachments: attachments.map(\.forRevision))
      let sequence = try addRevision(
        RevisionEdit(
          revision: revision, isDeleted: isDeleted, body: properties, attachments: attachments,
          lineage: .child(of: parent)),
        id: id, over: current
      ).sequence
      var stored = document.stored(
        id: id, revision: revision, parent: parent, sequence: sequence, isDeleted: isDeleted)
      stored.attachments = view.attachments(attachments)
      return stored
    }
    if document.attachments.isEmpty { return try finish(with: []) }
    // If the revision is refused, its attachments are rolled back.
    return try savepoint {
      try finish(
        with: store(document.attachments, id: id, madeBy: .child(of: parent, current)))
    }
  }

  /// Stores the documents in a batch, and empties it.
  private func storeBatch(_ batch: inout PutBatch) throws {
    var currents: [DocumentEntry?] = []
    currents.reserveCapacity(batch.items.count)
    var parents: [RevisionID?] = []
    parents.reserveCapacity(batch.items.count)
    for item in batch.items {
      let current = try view.entry(item.id, isProbablyThere: item.document.revision != nil)
      parents.append(
        try parent(of: item.document, id: item.id, current: current, allowingConflict: false))
      currents.append(current)
    }
    let properties = batch.encodedProperties
    let revisions = try batch.computeRevisions(parents: parents, properties)
    for index in batch.items.indices {
      _ = try addRevision(
        RevisionEdit(
          revision: revisions[index], isDeleted: false, body: properties[index],
          lineage: .child(of: parents[index])),
        id: batch.items[index].id, over: currents[index])
    }
    batch.removeAll()
  }
}
