import DivanLog

/// Reads from one version of the store: what snapshots and transactions have in common.
struct StoreView: Sendable {
  private let version: StoreVersion
  let store: Store
  /// The transaction whose records are not in the file yet.
  ///
  /// `nonisolated(unsafe)`: only the views that a transaction makes for its own reads have one. Neither the
  /// transaction nor the cursors that it hands out are `Sendable`, so such a view stays on its thread.
  nonisolated(unsafe) let unwritten: WriteTransaction?
  /// Which earlier version is read, if it is not the newest that ``state`` holds.
  let past: Moment?

  init(
    _ version: StoreVersion, store: Store, unwritten: WriteTransaction? = nil, past: Moment? = nil
  ) {
    self.version = version
    self.store = store
    self.past = past
    unsafe self.unwritten = unwritten
  }
}

extension StoreView {
  init(state: StoreState, store: Store) { self.init(StoreVersion(state), store: store) }

  /// The version that is read, or the newest one when an earlier one is.
  var state: StoreState { version.state }

  /// The same version as it was at an earlier moment.
  func at(_ moment: Moment) -> StoreView { StoreView(version, store: store, past: moment) }

  /// What the index knows of a document.
  func entry(
    _ id: String, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> DocumentEntry? {
    guard !id.isEmpty else { return nil }
    let value = try repairing { (version) throws(PageError) in
      try withUTF8(of: id) { (key: Span<UInt8>) throws(PageError) in
        try version.state.documents.find(key, isProbablyThere: isProbablyThere)
      }
    }
    guard let value else { return nil }
    let entry = try decodeEntry(value)
    return past == nil ? entry : try self.entry(before: entry, SharedBytes(utf8: id))
  }

  /// The same by the bytes of the ID.
  func entry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    guard let entry = try newestEntry(id) else { return nil }
    return try self.entry(before: entry, id)
  }

  /// What the index knows of a document, whatever version is read.
  func newestEntry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    let value = try repairing { (version) throws(PageError) in
      try id.withSpan { (key: Span<UInt8>) throws(PageError) in
        try version.state.documents.find(key)
      }
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
    document(id, of: try winningRecord(of: entry, id))
  }

  /// The record that holds the body of a document's winning revision.
  func winningRecord(of entry: DocumentEntry, _ id: String) throws(DatabaseError) -> DocumentRecord
  {
    if let sequence = entry.winningSequence { return try olderRecord(sequence, of: id) }
    return try newestRecord(of: entry, id)
  }

  /// The newest record of a document, which may be of a revision that does not win.
  func newestRecord(
    of entry: DocumentEntry, _ id: String
  ) throws(DatabaseError) -> DocumentRecord {
    try record(at: entry.locator, of: id, sequence: entry.sequence)
  }

  /// A record that is held besides a document's newest one.
  func olderRecord(_ sequence: UInt64, of id: String) throws(DatabaseError) -> DocumentRecord {
    let key = OlderKey.bytes(SharedBytes(utf8: id), sequence)
    guard let locator = try locator(in: \.older, key) else {
      throw DatabaseError(
        .damaged, "a revision of the document is not in the index", documentID: id,
        path: store.path)
    }
    return try record(at: locator, of: id, sequence: sequence)
  }

  /// The sequence numbers of the records that are held besides a document's newest one, ascending.
  func olderSequences(
    of id: String, _ entry: DocumentEntry
  ) throws(DatabaseError) -> [UInt64] {
    guard entry.traits.contains(.mayHoldOlder) else { return [] }
    let sequences = try repairing { (version) throws(PageError) in
      try version.state.olderSequences(of: SharedBytes(utf8: id))
    }
    return past == nil ? sequences : sequences.filter { $0 < entry.sequence }
  }

  /// Whether a record is held besides a document's newest one.
  func holdsOlder(_ sequence: UInt64, of id: SharedBytes) throws(DatabaseError) -> Bool {
    try locator(in: \.older, OlderKey.bytes(id, sequence)) != nil
  }

  private func record(
    at locator: RecordLocator, of id: String, sequence: UInt64
  ) throws(DatabaseError) -> DocumentRecord {
    let record = try record(at: locator, documentID: id)
    guard record.sequence == sequence, record.idBytes.isUTF8(of: id) else {
      throw mismatch(locator, id)
    }
    return record
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
      throw damage(at: locator, error.reason)
    }
  }

  /// The content of a record of another kind.
  func decode<R>(
    _ item: RecordScan.Entry, _ decode: (SharedBytes) throws(ByteError) -> R
  ) throws(DatabaseError) -> R {
    do throws(ByteError) {
      return try decode(item.record.payload)
    } catch {
      throw damage(at: item.locator, error.reason)
    }
  }

  func damage(at locator: RecordLocator, _ reason: String) -> DatabaseError {
    DatabaseError(
      Damage(path: path(of: locator), offset: Int(clamping: locator.offset), reason: reason))
  }

  /// Where a key of one of the trees leads to; nil if it is not there.
  func locator(
    in tree: KeyPath<StoreState, LayeredTree>, _ key: [UInt8]
  ) throws(DatabaseError) -> RecordLocator? {
    let value = try repairing { (version) throws(PageError) in
      try version.state[keyPath: tree].find(key.span)
    }
    guard let value else { return nil }
    return try decodeLocator(value)
  }

  /// The record of a kind at a place.
  func payload(
    of kind: Record.Kind, at locator: RecordLocator
  ) throws(DatabaseError) -> SharedBytes {
    let record = try storedRecord(at: locator)
    guard record.kind == kind else { throw mismatch(locator, nil) }
    return record.payload
  }

  /// An attachment that the transaction to which this view belongs has stored.
  func storedInTransaction(_ digest: SHA256.Digest) -> StoredSource? {
    unsafe unwritten?.stored[digest]
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
    var error = damage(at: locator, "another record stands here")
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
    _ body: (StoreVersion) throws(PageError) -> R
  ) throws(DatabaseError) -> R {
    guard !store.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try body(version)
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}

extension StoreView {
  /// The document that a record holds.
  func document(_ id: String, of record: DocumentRecord) -> Document {
    let entries = record.details?.attachments ?? []
    return Document(
      id: id, revision: record.revision, parent: record.parent, sequence: record.sequence,
      isDeleted: record.isDeleted, body: record.body,
      attachments: entries.isEmpty ? [:] : attachments(entries))
  }
}
