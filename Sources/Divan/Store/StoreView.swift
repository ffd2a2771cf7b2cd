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
  /// What would close the store if nobody held it; nil where the store itself reads.
  private let database: Database?
  /// Whether what is there is read as if nothing of a damaged log could be missing.
  let ignoresGap: Bool

  init(
    _ version: StoreVersion, store: Store, unwritten: WriteTransaction? = nil, past: Moment? = nil,
    database: Database? = nil, ignoresGap: Bool = false
  ) {
    self.database = database
    self.version = version
    self.store = store
    self.past = past
    self.ignoresGap = ignoresGap
    unsafe self.unwritten = unwritten
  }
}

extension StoreView {
  init(state: StoreState, store: Store) { self.init(StoreVersion(state), store: store) }

  /// The version that is read, or the newest one when an earlier one is.
  var state: StoreState { version.state }

  /// Whether a transaction reads what it is about to commit.
  var isOfTransaction: Bool { unsafe unwritten != nil }

  /// A record that the transaction to which this view belongs has not written to the file yet.
  func unwrittenBytes(at locator: RecordLocator) -> SharedBytes? {
    unsafe unwritten?.unwrittenRecord(at: locator)
  }

  /// An attachment that the transaction to which this view belongs has stored.
  func storedInTransaction(_ digest: SHA256.Digest) -> StoredSource? {
    unsafe unwritten?.stored[digest]
  }

  /// The same version as it was at an earlier moment.
  func at(_ moment: Moment) -> StoreView {
    StoreView(version, store: store, past: moment, database: database, ignoresGap: ignoresGap)
  }

  /// The same view, which keeps a database open for as long as it lives.
  func keepingOpen(_ database: Database) -> StoreView {
    unsafe StoreView(
      version, store: store, unwritten: unwritten, past: past, database: database,
      ignoresGap: ignoresGap)
  }

  /// The same version, of which all is read that is there.
  var ignoringGap: StoreView {
    StoreView(version, store: store, past: past, database: database, ignoresGap: true)
  }

  /// What the index knows of a document.
  func entry(
    _ id: String, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> DocumentEntry? {
    var problem: ByteError?
    let newest = try repairing { (version) throws(PageError) in
      try withUTF8(of: id) { (key) throws(PageError) in
        try version.state.entry(key, isProbablyThere: isProbablyThere, &problem)
      }
    }
    if let problem { throw noEntry(problem) }
    try requireKnown(newest?.locator, isLive: newest?.isDeleted == false, id)
    guard past != nil, let newest else { return newest }
    return try entry(before: newest, SharedBytes(utf8: id))
  }

  /// The same by the bytes of the ID.
  func entry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    let newest = try newestEntry(id)
    guard past != nil, let newest else { return newest }
    return try entry(before: newest, id)
  }

  /// What the index knows of a document, whatever version is read.
  func newestEntry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    var problem: ByteError?
    let newest = try repairing { (version) throws(PageError) in
      try id.withSpan { (key) throws(PageError) in try version.state.entry(key, &problem) }
    }
    if let problem { throw noEntry(problem) }
    try requireKnown(newest?.locator, isLive: newest?.isDeleted == false, id.text)
    return newest
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

  /// The sequence numbers of the records that are held besides a document's newest one, ascending.
  func olderSequences(
    of id: String, _ entry: DocumentEntry
  ) throws(DatabaseError) -> [UInt64] {
    guard entry.traits.contains(.mayHoldOlder) else { return [] }
    try requireWhole()
    let sequences = try repairing { (version) throws(PageError) in
      try version.state.olderSequences(of: SharedBytes(utf8: id))
    }
    return past == nil ? sequences : sequences.filter { $0 < entry.sequence }
  }

  /// Whether a record is held besides a document's newest one.
  func holdsOlder(_ sequence: UInt64, of id: SharedBytes) throws(DatabaseError) -> Bool {
    try locator(in: \.older, OlderKey.bytes(id, sequence)) != nil
  }

  /// Where a key of one of the trees leads to; nil if it is not there.
  func locator(
    in tree: KeyPath<StoreState, LayeredTree>, _ key: [UInt8]
  ) throws(DatabaseError) -> RecordLocator? {
    let value = try repairing { (version) throws(PageError) in
      try version.state[keyPath: tree].find(key.span)
    }
    let found = try value.map { (value) throws(DatabaseError) in try decodeLocator(value) }
    if hasGap {
      // What is named by its content or its sequence number has no other record that counts more.
      let isNamedByContent =
        tree != \.catalog || key.first == CatalogKey.Kind.attachment.rawValue
      if found == nil || !isNamedByContent { try requireKnown(found) }
    }
    return found
  }

  func decodeEntry(_ item: IndexEntry) throws(DatabaseError) -> DocumentEntry {
    try item.withValue { (value) throws(DatabaseError) in try decodeEntry(value) }
  }

  func decodePlace(_ item: IndexEntry) throws(DatabaseError) -> DocumentPlace {
    try item.withValue { (value) throws(DatabaseError) in
      do throws(ByteError) { return try DocumentPlace.decode(value) } catch { throw noEntry(error) }
    }
  }

  func decodeEntry(_ value: SharedBytes) throws(DatabaseError) -> DocumentEntry {
    try value.withSpan { (value) throws(DatabaseError) in try decodeEntry(value) }
  }

  private func decodeEntry(_ value: Span<UInt8>) throws(DatabaseError) -> DocumentEntry {
    do throws(ByteError) { return try DocumentEntry.decode(value) } catch { throw noEntry(error) }
  }

  func decodeLocator(_ item: IndexEntry) throws(DatabaseError) -> RecordLocator {
    try item.withValue { (value) throws(DatabaseError) in try decodeLocator(value) }
  }

  func decodeLocator(_ value: SharedBytes) throws(DatabaseError) -> RecordLocator {
    try value.withSpan { (value) throws(DatabaseError) in try decodeLocator(value) }
  }

  private func decodeLocator(_ value: Span<UInt8>) throws(DatabaseError) -> RecordLocator {
    var offset = 0
    do throws(ByteError) {
      return try RecordLocator.read(value, at: &offset)
    } catch {
      throw noEntry(error)
    }
  }

  func noEntry(_ error: ByteError) -> DatabaseError {
    DatabaseError(
      Damage(path: store.path, offset: 0, reason: "an index entry: \(error.reason)"))
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
