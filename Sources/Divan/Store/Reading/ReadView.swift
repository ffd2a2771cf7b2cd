import DivanLog

/// A read view of one version of the store, which snapshots and transactions share.
struct ReadView: Sendable {
  private let version: VersionBox
  let environment: StoreEnvironment
  /// The transaction whose records are not in the log yet.
  ///
  /// `nonisolated(unsafe)`: only the views that a transaction makes for its own reads have one.
  /// Neither the transaction nor its cursors are `Sendable`, so such a view stays on its thread.
  nonisolated(unsafe) let unwritten: WriteTransaction?
  /// The earlier version that is read; nil if the newest one in ``state`` is.
  let past: CommitPoint?
  /// Keeps the database open while a reader has the view; nil if the store itself reads.
  let database: Database?
  /// Whether reads ignore that parts of a damaged log may be missing.
  let ignoresGap: Bool

  init(
    _ version: VersionBox, _ environment: StoreEnvironment, unwritten: WriteTransaction? = nil,
    past: CommitPoint? = nil,
    database: Database? = nil, ignoresGap: Bool = false
  ) {
    self.database = database
    self.version = version
    self.environment = environment
    self.past = past
    self.ignoresGap = ignoresGap
    unsafe self.unwritten = unwritten
  }
}

extension ReadView {
  init(state: Version, _ environment: StoreEnvironment) {
    self.init(VersionBox(state), environment)
  }

  /// The version that is read, or the newest one when an earlier one is.
  var state: Version { version.state }

  /// Whether a part of the log may be missing in the version, ignored or not.
  var isIncomplete: Bool { version.hasGap }

  /// Whether this view belongs to a transaction and shows its uncommitted changes.
  var isOfTransaction: Bool { unsafe unwritten != nil }

  /// Returns a record that this view's transaction has not yet written to the log.
  func unwrittenBytes(at locator: RecordLocator) -> SharedBytes? {
    unsafe unwritten?.unwrittenRecord(at: locator)
  }

  /// Returns an attachment that this view's transaction has stored.
  func storedInTransaction(_ digest: SHA256.Digest) -> StoredSource? {
    unsafe unwritten?.stored[digest]
  }

  /// Returns a view of the same version as of an earlier commit point.
  func at(_ commitPoint: CommitPoint) -> ReadView {
    ReadView(version, environment, past: commitPoint, database: database, ignoresGap: ignoresGap)
  }

  /// A view of the same version that ignores the gap of a damaged log.
  var ignoringGap: ReadView {
    ReadView(version, environment, past: past, database: database, ignoresGap: true)
  }

  /// Returns a document's entry in the index.
  func entry(
    _ id: String, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> DocumentEntry? {
    let newest: DocumentEntry? = try withUTF8(of: id) { (id) throws(DatabaseError) in
      try findEntry(id, isProbablyThere: isProbablyThere)
    }
    guard past != nil, let newest else { return newest }
    return try entry(before: newest, SharedBytes(utf8: id))
  }

  /// Does the same for the bytes of the ID.
  func entry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    let newest = try newestEntry(id)
    guard past != nil, let newest else { return newest }
    return try entry(before: newest, id)
  }

  /// Returns a document's newest entry in the index, whichever version is read.
  func newestEntry(_ id: SharedBytes) throws(DatabaseError) -> DocumentEntry? {
    try id.withSpan { (id) throws(DatabaseError) in try findEntry(id) }
  }

  /// Finds a document's newest index entry, and decodes what the caller needs of it.
  ///
  /// - Returns: nil if there is no entry.
  /// - Throws: `damaged` if the entry cannot be decoded, or if damage may hide the newest one.
  @inline(__always)
  func findEntry<Found: DecodedEntry>(
    _ id: Span<UInt8>, isProbablyThere: Bool = true
  ) throws(DatabaseError) -> Found? {
    var found: Found?
    var problem: ByteError?
    try BorrowedBytes.borrow(id) { (key) throws(DatabaseError) in
      try repairing { (version) throws(PageError) in
        _ = try version.state.documents.withValue(of: key, isProbablyThere: isProbablyThere) {
          (value) in
          do throws(ByteError) { found = try Found.decode(value) } catch { problem = error }
        }
      }
    }
    if let problem { throw noEntry(problem) }
    try requireKnown(
      found?.locator, isLive: found?.isDeleted == false, SharedBytes(copying: id).text)
    return found
  }

  func exists(_ id: String) throws(DatabaseError) -> Bool {
    guard let entry = try entry(id) else { return false }
    return !entry.isDeleted
  }

  func document(_ id: String) throws(DatabaseError) -> Document? {
    try withUTF8(of: id) { (id) throws(DatabaseError) -> Document? in
      guard let location = try location(of: id), !location.isDeleted else { return nil }
      return document(of: try winningRecord(at: location, id))
    }
  }

  /// Returns the location of a document; nil if it is not in the index.
  private func location(of id: Span<UInt8>) throws(DatabaseError) -> DocumentLocation? {
    guard past == nil else { return try entry(SharedBytes(copying: id))?.location }
    return try findEntry(id)
  }

  /// Reads several documents in log order, which is faster than one by one.
  func documents(_ ids: [String]) throws(DatabaseError) -> [Document?] {
    var found: [(index: Int, location: DocumentLocation)] = []
    found.reserveCapacity(ids.count)
    for (index, id) in ids.enumerated() {
      let location = try withUTF8(of: id) { (id) throws(DatabaseError) in
        try self.location(of: id)
      }
      guard let location, !location.isDeleted else { continue }
      found.append((index, location))
    }
    found.sort {
      ($0.location.locator.fileID, $0.location.locator.offset)
        < ($1.location.locator.fileID, $1.location.locator.offset)
    }
    var documents = [Document?](repeating: nil, count: ids.count)
    for (index, location) in found { documents[index] = try document(ids[index], at: location) }
    return documents
  }

  /// Returns the sequence numbers of a document's records other than the newest one, ascending.
  func retainedSequences(
    of id: String, _ entry: DocumentEntry
  ) throws(DatabaseError) -> [UInt64] {
    guard entry.traits.contains(.mayRetainOlder) else { return [] }
    try requireWhole()
    let sequences = try repairing { (version) throws(PageError) in
      try version.state.retainedSequences(of: SharedBytes(utf8: id))
    }
    return past == nil ? sequences : sequences.filter { $0 < entry.sequence }
  }

  /// Whether a record that is not a document's newest one is retained.
  func retains(_ sequence: UInt64, of id: SharedBytes) throws(DatabaseError) -> Bool {
    try locator(in: \.retained, RetainedKey.bytes(id, sequence)) != nil
  }

  /// Returns the record locator of a key in one of the trees; nil if the key is not there.
  func locator(
    in tree: KeyPath<Version, LayeredTree>, _ key: [UInt8]
  ) throws(DatabaseError) -> RecordLocator? {
    let value = try repairing { (version) throws(PageError) in
      try version.state[keyPath: tree].find(key.span)
    }
    let found = try value.map { (value) throws(DatabaseError) in try decodeLocator(value) }
    if hasGap {
      // Records named by content or sequence number have no newer version.
      let isNamedByContent =
        tree != \.catalog || key.first == CatalogKey.Kind.attachment.rawValue
      if found == nil || !isNamedByContent { try requireKnown(found) }
    }
    return found
  }

  func decodeEntry(_ item: TreeEntry) throws(DatabaseError) -> DocumentEntry {
    try item.withValue { (value) throws(DatabaseError) in try decodeEntry(value) }
  }

  func decodeLocation(_ item: TreeEntry) throws(DatabaseError) -> DocumentLocation {
    try item.withValue { (value) throws(DatabaseError) in
      do throws(ByteError) { return try DocumentLocation.decode(value) } catch {
        throw noEntry(error)
      }
    }
  }

  func decodeEntry(_ value: SharedBytes) throws(DatabaseError) -> DocumentEntry {
    try value.withSpan { (value) throws(DatabaseError) in try decodeEntry(value) }
  }

  private func decodeEntry(_ value: Span<UInt8>) throws(DatabaseError) -> DocumentEntry {
    do throws(ByteError) { return try DocumentEntry.decode(value) } catch { throw noEntry(error) }
  }

  func decodeLocator(_ item: TreeEntry) throws(DatabaseError) -> RecordLocator {
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
    environment.note(
      DatabaseError(
        Damage(path: environment.path, offset: 0, reason: "an index entry: \(error.reason)")))
  }

  /// Reads the index; if a page is damaged, it is rebuilt from the log, and `body` runs again.
  func repairing<R>(
    _ body: (VersionBox) throws(PageError) -> R
  ) throws(DatabaseError) -> R {
    guard !environment.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try body(version)
      } catch {
        try environment.repairIndex(error, in: state)
      }
    }
  }
}
