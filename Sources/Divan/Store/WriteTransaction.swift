import DivanLog

/// What `write` lends to its closure: changes that are committed together, or not at all.
///
/// It reads its own changes. It must not be used after the closure has returned: every call then
/// throws ``DatabaseError/Code/closed``. Not `Sendable`: it belongs to the closure's thread.
///
/// Each document that is put costs its encoding, one SHA-256 of it, and two insertions into the
/// index; nothing is written before the closure returns.
public final class WriteTransaction {
  let store: Store
  /// The version that this transaction makes.
  var state: StoreState
  private var buffer: TransactionBuffer
  private let fileID: UInt64
  /// Where the transaction will begin in its segment.
  private let base: Int
  private var coding = ValueCoding()
  private var scratch = ByteWriter(capacity: 1024)
  private var entryScratch = ByteWriter(capacity: 128)
  private(set) var isOver = false

  init(store: Store, state: StoreState, fileID: UInt64, base: Int) {
    self.store = store
    self.state = state
    self.fileID = fileID
    self.base = base
    buffer = TransactionBuffer()
    buffer.begin(at: base)
  }
}

@available(*, unavailable)
extension WriteTransaction: Sendable {}

extension WriteTransaction {
  /// Stores a document, if nobody changed it meanwhile.
  ///
  /// A document that was read is stored as the successor of the revision it was read as. A new one
  /// is stored if there is none of its ID, or only a deleted one.
  ///
  /// - Returns: the document as it is stored, with its ID, revision and sequence.
  /// - Throws: ``DatabaseError`` with the codes `conflict`, `invalidDocumentID`, `invalidValue`,
  ///   `documentTooLarge`, `transactionTooLarge` or `closed`, and `damaged` or `inputOutput` if what
  ///   stands there cannot be read.
  @discardableResult
  public func put(_ document: Document) throws -> Document {
    try check()
    let id = try id(for: document)
    let current = try entry(of: id, isProbablyThere: document.revision != nil)
    try requireUnchanged(document, id: id, current: current)
    return try store(document, id: id, isDeleted: false, over: current)
  }

  /// Stores several documents, each as ``put(_:)-(Document)`` does; all or none of them.
  ///
  /// Cheaper than one by one: their revision IDs are computed side by side.
  public func put(contentsOf documents: some Sequence<Document>) throws {
    try check()
    try nested {
      var batch = PutBatch()
      for document in documents {
        let id = try id(for: document)
        // The second of two documents of one ID depends on the first.
        if batch.isFull || batch.contains(id) { try store(&batch) }
        try batch.add(document, id: id)
      }
      try store(&batch)
    }
  }

  /// Stores properties under an ID, whatever stands there now.
  ///
  /// - Returns: the document as it is stored.
  @discardableResult
  public func overwrite(_ id: String, with properties: Value.Object) throws -> Document {
    try check()
    try DocumentID.validate(id)
    return try store(
      Document(id: id, properties), id: id, isDeleted: false, over: try entry(of: id))
  }

  /// Changes a document's properties; does nothing if it does not exist.
  ///
  /// - Returns: the document as it is stored, or nil if there is none.
  @discardableResult
  public func update(
    _ id: String, _ change: (inout Document) throws -> Void
  ) throws -> Document? {
    try check()
    guard var document = try get(id) else { return nil }
    try change(&document)
    return try put(document)
  }

  /// Deletes a document, if nobody changed it meanwhile: stores a revision that says so.
  ///
  /// Properties that `document` has now are kept in that revision, the *tombstone*.
  /// - Throws: as ``put(_:)-(Document)``; `notFound` if it was never stored or is deleted.
  @discardableResult
  public func delete(_ document: Document) throws -> Document {
    try check()
    let id = document.id
    guard let current = try entry(of: id), !current.isDeleted else {
      throw DatabaseError(.notFound, "there is no such document to delete", documentID: id)
    }
    try requireUnchanged(document, id: id, current: current)
    return try store(Document(id: id, document.properties), id: id, isDeleted: true, over: current)
  }

  /// Deletes a document, whatever its revision; returns false if there is none.
  @discardableResult
  public func delete(id: String) throws -> Bool {
    try check()
    guard let current = try entry(of: id), !current.isDeleted else { return false }
    _ = try store(Document(id: id), id: id, isDeleted: true, over: current)
    return true
  }

  /// Runs changes that are kept together: if `body` throws, what it did is taken back, and the
  /// transaction goes on.
  public func nested<R>(_ body: () throws -> R) throws -> R {
    try check()
    let state = state
    let savepoint = buffer.savepoint
    do {
      return try body()
    } catch {
      if !isOver {
        self.state = state
        buffer.rollback(to: savepoint)
      }
      throw error
    }
  }
}

extension WriteTransaction {
  /// The document of this ID; nil if there is none or it is deleted.
  public func get(_ id: String) throws -> Document? {
    try check()
    return try view.document(id)
  }

  /// The documents of these IDs, in their order; nil where there is none.
  public func get(_ ids: [String]) throws -> [Document?] {
    try check()
    return try view.documents(ids)
  }

  /// Whether there is a document of this ID that is not deleted.
  ///
  /// Reads the index only.
  public func exists(_ id: String) throws -> Bool {
    try check()
    return try view.exists(id)
  }

  /// How many documents there are that are not deleted.
  ///
  /// Costs nothing.
  public var count: Int { Int(clamping: state.documentCount) }

  /// The documents in an order, as they are now; later changes do not show.
  public func documents(_ range: IDRange = .all, descending: Bool = false) throws -> DocumentCursor
  {
    try check()
    return DocumentCursor(view, range, descending: descending)
  }

  private var view: StoreView {
    StoreView(state: state, store: store, unwritten: self)
  }

  /// The bytes of a record that this transaction will write, if the locator is of one.
  func unwrittenRecord(at locator: RecordLocator) -> SharedBytes? {
    guard locator.fileID == fileID, locator.offset >= UInt64(base) else { return nil }
    return buffer.record(at: Int(locator.offset), size: Int(locator.size))
  }
}

extension WriteTransaction {
  /// How many bytes the transaction takes in the log by now.
  var size: Int { buffer.size }
  var isEmpty: Bool { buffer.recordCount == 0 }

  /// Ends the transaction's life.
  func end() { isOver = true }

  /// Lends the buffer to the one who appends it to the log.
  func withBuffer<R>(_ body: (inout TransactionBuffer) throws(LogError) -> R) throws(LogError) -> R
  {
    try body(&buffer)
  }

  private func check() throws(DatabaseError) {
    guard !isOver else {
      throw DatabaseError(
        .closed, "the transaction is over",
        hint: "Use it only within the closure it was lent to")
    }
  }

  private func id(for document: Document) throws(DatabaseError) -> String {
    guard !document.id.isEmpty else { return store.configuration.documentIDs.next() }
    try DocumentID.validate(document.id)
    return document.id
  }

  private func entry(
    of id: String, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> DocumentEntry? {
    try view.entry(id, isProbablyThere: isProbablyThere)
  }

  private func requireUnchanged(
    _ document: Document, id: String, current: DocumentEntry?
  ) throws(DatabaseError) {
    if let revision = document.revision {
      guard let current, current.revision == revision else {
        throw DatabaseError(
          .conflict, "the document was changed since it was read",
          hint: "Read it again, and make the change again", documentID: id)
      }
    } else if let current, !current.isDeleted {
      throw DatabaseError(
        .conflict, "there is a document of this ID already",
        hint: "Read it and change it, or use `overwrite`", documentID: id)
    }
  }

  /// Stores one revision over what stands in the index now.
  private func store(
    _ document: Document, id: String, isDeleted: Bool, over current: DocumentEntry?
  ) throws(DatabaseError) -> Document {
    scratch.removeAll()
    try document.encodeProperties(with: &coding, to: &scratch)
    let body = scratch.sharedCopy
    let revision = try RevisionID.compute(
      parent: current?.revision, isDeleted: isDeleted, body: body)
    let sequence = try append(
      revision, id: id, isDeleted: isDeleted, body: body, over: current)
    return document.stored(
      id: id, revision: revision, parent: current?.revision, sequence: sequence,
      isDeleted: isDeleted)
  }

  /// Stores what a batch has gathered, and empties it.
  private func store(_ batch: inout PutBatch) throws(DatabaseError) {
    var currents: [DocumentEntry?] = []
    currents.reserveCapacity(batch.items.count)
    for item in batch.items {
      let current = try entry(of: item.id, isProbablyThere: item.document.revision != nil)
      try requireUnchanged(item.document, id: item.id, current: current)
      currents.append(current)
    }
    let bodies = batch.bodies
    let revisions = try batch.computeRevisions(parents: currents.map { $0?.revision }, bodies)
    for index in batch.items.indices {
      _ = try append(
        revisions[index], id: batch.items[index].id, isDeleted: false, body: bodies[index],
        over: currents[index])
    }
    batch.removeAll()
  }

  /// Stores a revision as another store has it, with its history and its sequence number.
  func adopt(_ original: DocumentRecord) throws(DatabaseError) {
    var record = original
    record.superseded = nil
    let place = append(record)
    state.lastSequence = max(state.lastSequence, record.sequence)
    if !DocumentEntry(record, at: place).isDeleted { state.documentCount += 1 }
    try index(record, at: place)
  }

  /// Appends the record of a revision and puts it into the index; returns its sequence number.
  private func append(
    _ revision: RevisionID, id: String, isDeleted: Bool, body: SharedBytes,
    over current: DocumentEntry?
  ) throws(DatabaseError) -> UInt64 {
    let sequence = state.lastSequence + 1
    var record = DocumentRecord(
      idBytes: SharedBytes(utf8: id), sequence: sequence, revision: revision,
      isDeleted: isDeleted, ancestors: .none, superseded: nil, body: body)
    if let current {
      record.superseded = .init(sequence: current.sequence, locator: current.locator)
      record.ancestors = .init(try ancestors(of: current))
    }
    let savepoint = buffer.savepoint
    let place = append(record)
    guard buffer.size <= store.configuration.transactionSizeLimit else {
      buffer.rollback(to: savepoint)
      throw DatabaseError(
        .transactionTooLarge,
        "the transaction is larger than \(store.configuration.transactionSizeLimit) bytes",
        hint: "Write in several transactions, or raise `transactionSizeLimit`", documentID: id)
    }
    state.lastSequence = sequence
    let wasLive = current.map { !$0.isDeleted } ?? false
    if wasLive != !isDeleted {
      // A count from a file is believed, but never so far as to trap.
      if isDeleted {
        state.documentCount -= min(1, state.documentCount)
      } else {
        state.documentCount += 1
      }
    }
    try index(record, at: place)
    return sequence
  }

  /// Appends a record; returns where it will stand.
  private func append(_ record: DocumentRecord) -> RecordLocator {
    let place = buffer.append(.document) { writer in record.encode(to: &writer) }
    return RecordLocator(fileID: fileID, offset: UInt64(place.offset), size: UInt32(place.size))
  }

  private func index(_ record: DocumentRecord, at place: RecordLocator) throws(DatabaseError) {
    let commit = state.commit + 1
    guard record.details != nil else {
      // Nothing is looked up for it, so nothing can fail.
      try? state.put(record, at: place, commit: commit, scratch: &entryScratch)
      return
    }
    try change { (state, scratch) throws(PageError) in
      try state.put(record, at: place, commit: commit, scratch: &scratch)
    }
  }

  /// Changes the index in a way for which something is looked up; all of it or, if that cannot be read,
  /// nothing.
  private func change(
    _ body: (inout StoreState, inout ByteWriter) throws(PageError) -> Void
  ) throws(DatabaseError) {
    while true {
      var changed = state
      do throws(PageError) {
        try body(&changed, &entryScratch)
        state = changed
        return
      } catch {
        // The page is rebuilt, and then it is tried again.
        try store.repairIndex(error, in: state)
      }
    }
  }

  /// The revision digests before the one that is to be stored over `current`.
  private func ancestors(of current: DocumentEntry) throws(DatabaseError) -> [RevisionID.Digest] {
    var digests = [current.revision.digest]
    if current.revision.generation > 1 {
      let record = try view.record(at: current.locator)
      digests += record.ancestors.digests.prefix(DocumentRecord.historyDepth - 2)
    }
    return digests
  }
}
