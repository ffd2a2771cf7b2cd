import DivanLog

/// Reads from one version of the store: what snapshots and transactions have in common.
struct StoreView: Sendable {
  let state: StoreState
  let store: Store
  /// The transaction whose records are not in the file yet.
  ///
  /// `nonisolated(unsafe)`: only the views that a transaction makes for its own reads have one. Neither the
  /// transaction nor the cursors that it hands out are `Sendable`, so such a view stays on its thread.
  nonisolated(unsafe) let unwritten: WriteTransaction?

  init(state: StoreState, store: Store, unwritten: WriteTransaction? = nil) {
    self.state = state
    self.store = store
    unsafe self.unwritten = unwritten
  }
}

extension StoreView {
  /// What the index knows of a document.
  func entry(
    _ id: String, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> DocumentEntry? {
    guard !id.isEmpty else { return nil }
    let value = try repairing { (state) throws(PageError) in
      try withUTF8(of: id) { (key: Span<UInt8>) throws(PageError) in
        try state.documents.find(key, isProbablyThere: isProbablyThere)
      }
    }
    guard let value else { return nil }
    return try decodeEntry(value)
  }

  /// The same by the bytes of the ID.
  func entry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    let value = try repairing { (state) throws(PageError) in
      try id.withSpan { (key: Span<UInt8>) throws(PageError) in try state.documents.find(key) }
    }
    guard let value else { return nil }
    return try decodeEntry(value)
  }

  func exists(_ id: String) throws(DatabaseError) -> Bool {
    guard let entry = try entry(id) else { return false }
    return !entry.isDeleted
  }

  func document(_ id: String) throws(DatabaseError) -> Document? {
    guard let entry = try entry(id), !entry.isDeleted else { return nil }
    return try document(id, entry)
  }

  /// Several documents, read in the order in which they lie, which is faster than one by one.
  func documents(_ ids: [String]) throws(DatabaseError) -> [Document?] {
    var found: [(index: Int, entry: DocumentEntry)] = []
    found.reserveCapacity(ids.count)
    for (index, id) in ids.enumerated() {
      if let entry = try entry(id), !entry.isDeleted { found.append((index, entry)) }
    }
    found.sort {
      ($0.entry.locator.fileID, $0.entry.locator.offset)
        < ($1.entry.locator.fileID, $1.entry.locator.offset)
    }
    var documents = [Document?](repeating: nil, count: ids.count)
    for (index, entry) in found { documents[index] = try document(ids[index], entry) }
    return documents
  }

  /// The document that an index entry is of.
  func document(_ id: String, _ entry: DocumentEntry) throws(DatabaseError) -> Document {
    let record = try record(at: entry.locator, documentID: id)
    guard record.sequence == entry.sequence, record.idBytes.isUTF8(of: id) else {
      throw mismatch(entry.locator, id)
    }
    return Document(id: id, record)
  }

  /// The document record at a place.
  func record(
    at locator: RecordLocator, documentID: String? = nil
  ) throws(DatabaseError) -> DocumentRecord {
    do throws(DatabaseError) {
      return try decode(try storedRecord(at: locator), at: locator)
    } catch {
      var error = error
      error.documentID = documentID
      throw error
    }
  }

  /// The content of a document's record that stands at a place.
  func decode(
    _ record: Record, at locator: RecordLocator
  ) throws(DatabaseError) -> DocumentRecord {
    guard record.kind == .document else { throw mismatch(locator, nil) }
    do throws(ByteError) {
      return try DocumentRecord.decode(record.payload)
    } catch {
      throw DatabaseError(
        Damage(
          path: path(of: locator), offset: Int(clamping: locator.offset), reason: error.reason))
    }
  }

  private func storedRecord(at locator: RecordLocator) throws(DatabaseError) -> Record {
    guard let segment = state.segments[locator.fileID] else {
      throw DatabaseError(
        Damage(
          path: path(of: locator), offset: 0,
          reason: "segment file \(locator.fileID) is missing"))
    }
    return try translating { () throws(LogError) in
      if let bytes = unsafe unwritten?.unwrittenRecord(at: locator) {
        return try segment.record(bytes, at: locator)
      }
      let bytes = try segment.recordBytes(at: locator)
      _ = bytes.touchEachCacheLine()
      return try segment.record(bytes, at: locator)
    }
  }

  private func mismatch(_ locator: RecordLocator, _ id: String?) -> DatabaseError {
    var error = DatabaseError(
      Damage(
        path: path(of: locator), offset: Int(clamping: locator.offset),
        reason: "another record stands here"))
    error.documentID = id
    return error
  }

  /// The file that a locator names; the store's directory if there is no such file.
  private func path(of locator: RecordLocator) -> String {
    state.segments[locator.fileID]?.file.path ?? store.path
  }

  func decodeEntry(_ value: SharedBytes) throws(DatabaseError) -> DocumentEntry {
    do { return try DocumentEntry.decode(value) } catch {
      throw DatabaseError(
        Damage(path: store.path, offset: 0, reason: "an index entry: \(error.reason)"))
    }
  }

  func decodeLocator(_ value: SharedBytes) throws(DatabaseError) -> RecordLocator {
    var reader = ByteReader(value)
    do { return try RecordLocator.decode(&reader) } catch {
      throw DatabaseError(
        Damage(path: store.path, offset: 0, reason: "an index entry: \(error.reason)"))
    }
  }

  /// Reads the index, and rebuilds from the log a page of it that proves bad when it is touched.
  func repairing<R>(
    _ body: (StoreState) throws(PageError) -> R
  ) throws(DatabaseError) -> R {
    guard !store.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try body(state)
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}

extension Document {
  /// The document that a record holds.
  init(id: String, _ record: DocumentRecord) {
    self.init(
      id: id, revision: record.revision, parent: record.parent, sequence: record.sequence,
      isDeleted: record.isDeleted, body: record.body)
  }
}
