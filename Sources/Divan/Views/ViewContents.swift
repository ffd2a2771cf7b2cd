import DivanLog

/// The rows of a view as of one version of the database, and their documents.
///
/// A copy costs nothing and shares its storage with the original where possible.
///
/// Invariant: `rows` contains exactly the rows that `documents` lists, and each listed document has
/// some.
struct ViewContents: Sendable {
  /// The snapshot's sequence number, and its number of purged documents.
  private(set) var sequence: UInt64 = 0
  private(set) var purgeCount: UInt64 = 0
  /// Ordered by key, then by the bytes of the document's ID, then in the order of emission.
  private(set) var rows = ChunkedList<Row> { $0.compare($1) }
  private(set) var documents = ChunkedList<DocumentRows> { compareUTF8($0.id, $1.id) }
  /// The number of document changes and purges applied since the beginning or the file's reading.
  private(set) var changeCount = 0
  /// The version of the store, as recorded in a view's file; nil while the log is empty.
  private(set) var origin: ViewFileHeader.Origin?
  /// The highest sequence number of an applied change.
  private var lastChange: UInt64 = 0

  /// A row of a view.
  final class Row: Sendable {
    /// The key's bytes, whose order is that of the keys.
    let sortKey: [UInt8]
    /// The ID of the document that the row was emitted for.
    let id: String
    /// The index of the row among the document's rows.
    let index: Int
    let key: Value
    let value: Value

    init(sortKey: [UInt8], id: String, index: Int, key: Value, value: Value) {
      self.sortKey = sortKey
      self.id = id
      self.index = index
      self.key = key
      self.value = value
    }

    func compare(_ other: Row) -> Int {
      let byKey = Collation.compare(keys: sortKey, other.sortKey)
      if byKey != 0 { return byKey }
      let byID = compareUTF8(id, other.id)
      return byID != 0 ? byID : index - other.index
    }
  }

  /// The rows of one document.
  ///
  /// It is an object, because moving it costs little while many are sorted.
  final class DocumentRows: Sendable {
    let id: String
    let rows: [Row]

    init(id: String, rows: [Row]) {
      self.id = id
      self.rows = rows
    }
  }

  /// The number of documents with rows, old and new, to collect before updating the lists.
  private static let batchSize = 1 << 16
}

extension ViewContents {
  /// Whether these are the contents as of a snapshot.
  func isCurrent(in snapshot: Snapshot) -> Bool {
    sequence == snapshot.sequence && purgeCount == snapshot.view.state.purgeCount
  }

  /// Whether advancing these to a snapshot changes either everything or, if it throws, nothing.
  func isOneBatch(before snapshot: Snapshot) -> Bool {
    // A change has old rows and new ones.
    isBefore(snapshot) && purgeCount == snapshot.view.state.purgeCount
      && snapshot.sequence - sequence <= UInt64(ViewContents.batchSize / 2)
  }

  /// Whether these can be advanced to a snapshot.
  func isBefore(_ snapshot: Snapshot) -> Bool {
    sequence <= snapshot.sequence && purgeCount <= snapshot.view.state.purgeCount
  }

  /// Updates the contents to a later snapshot.
  ///
  /// Costs one call of the map function for each document that has changed since. If documents were
  /// purged, it also costs a scan of all IDs, because purges are not in the change feed.
  mutating func advance(
    _ view: MapReduceView, to snapshot: Snapshot, isCancelled: () -> Bool
  ) throws {
    guard !isCurrent(in: snapshot) else { return }
    if purgeCount != snapshot.view.state.purgeCount { try removePurged(snapshot, isCancelled) }
    try applyChanges(view, snapshot, isCancelled)
    sequence = snapshot.sequence
    purgeCount = snapshot.view.state.purgeCount
    noteOrigin(snapshot.view.state)
  }

  /// Replaces the rows of changed documents.
  private mutating func applyChanges(
    _ view: MapReduceView, _ snapshot: Snapshot, _ isCancelled: () -> Bool
  ) throws {
    var changes = snapshot.changes(since: sequence)
    var isDone = false
    while !isDone {
      var before: [DocumentRows] = []
      var after: [DocumentRows] = []
      var batchCount = 0
      var last = lastChange
      while before.count + after.count < ViewContents.batchSize {
        guard let change = try changes.next() else {
          isDone = true
          break
        }
        guard !isCancelled() else { throw ViewContents.cancelledError }
        batchCount += 1
        last = max(last, change.sequence)
        if !documents.isEmpty, let old = documentRows(change.id) { before.append(old) }
        let rows = try view.rows(of: change, in: snapshot)
        if !rows.isEmpty { after.append(DocumentRows(id: change.id, rows: rows)) }
      }
      replace(before, with: after)
      changeCount += batchCount
      lastChange = last
    }
  }

  /// Replaces documents, in any order, and their rows.
  private mutating func replace(_ before: [DocumentRows], with after: [DocumentRows]) {
    rows.replace(
      before.flatMap(\.rows).sorted { $0.compare($1) < 0 },
      with: after.flatMap(\.rows).sorted { $0.compare($1) < 0 })
    documents.replace(
      before.sorted { compareUTF8($0.id, $1.id) < 0 },
      with: after.sorted { compareUTF8($0.id, $1.id) < 0 })
  }

  static let cancelledError = DatabaseError(
    .cancelled, "computing the rows of a view was cancelled")

  private func documentRows(_ id: String) -> DocumentRows? {
    documents.find({ compareUTF8($0.id, id) < 0 }, { haveSameUTF8($0.id, id) })
  }

  /// Removes the rows of documents that no longer exist.
  private mutating func removePurged(_ snapshot: Snapshot, _ isCancelled: () -> Bool) throws {
    var ids = snapshot.ids()
    var next = try ids.next()
    var purged: [DocumentRows] = []
    try documents.forEach(from: documents.start, to: documents.end) { document in
      guard !isCancelled() else { throw ViewContents.cancelledError }
      while let id = next, compareUTF8(id, document.id) < 0 {
        guard !isCancelled() else { throw ViewContents.cancelledError }
        next = try ids.next()
      }
      if next.map({ !haveSameUTF8($0, document.id) }) ?? true { purged.append(document) }
      return true
    }
    replace(purged, with: [])
    changeCount += purged.count
  }
}

// MARK: Files

extension ViewContents {
  /// Creates contents from rows that were read: all of them in order, and by their documents.
  init(_ origin: ViewFileHeader.Origin, rows: [Row], documents: [DocumentRows]) {
    self.origin = origin
    sequence = origin.sequence
    lastChange = origin.sequence
    self.rows.replace([], with: rows)
    self.documents.replace([], with: documents)
  }

  /// Removes the rows of documents purged since these contents were saved; the snapshot is later.
  ///
  /// Purges are counted from zero by each opening. So it is unknown whether there were any, unless
  /// there was no commit.
  mutating func catchUpWithPurges(
    _ snapshot: Snapshot, _ isCancelled: () -> Bool
  ) throws {
    if origin?.commit != snapshot.view.state.commit { try removePurged(snapshot, isCancelled) }
    purgeCount = snapshot.view.state.purgeCount
  }

  private mutating func noteOrigin(_ state: Version) {
    guard let segment = state.segments.newest else { return }
    origin = ViewFileHeader.Origin(
      commit: state.commit,
      // Numbers that were only reserved may be used after a crash that went unnoticed.
      sequence: lastChange, segmentNumber: segment.header.numbers.upperBound,
      segmentSalt: segment.header.preamble.salt)
  }
}

extension ChunkedList {
  /// Whether there are no elements.
  var isEmpty: Bool { count == 0 }
}
