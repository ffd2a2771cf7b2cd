import DivanLog

/// The database as it was at one commit.
///
/// ```swift
/// let before = try database.snapshot()
/// try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
/// let wasThere = try before.exists("note")  // false
/// let isThere = try database.snapshot().exists("note")  // true
/// ```
///
/// It never changes when you write later, and neither blocks a writer nor waits for one.
/// Copying it is free. The files that it reads from are kept while it lives. After the database is
/// closed, every call throws ``DatabaseError/Code/closed``.
public struct Snapshot: Sendable {
  let view: ReadView

  init(_ view: ReadView) { self.view = view }
}

extension Snapshot {
  /// Whether documents were purged between two snapshots, which the change feed does not report.
  package func hasPurged(since earlier: Snapshot) -> Bool {
    view.state.purgeCount != earlier.view.state.purgeCount
  }

  /// Whether another snapshot of the database shows the same documents.
  func isSameVersion(as other: Snapshot) -> Bool {
    sequence == other.sequence && !hasPurged(since: other)
  }

  /// A number that rises with every change and every purge.
  var changesAndPurges: UInt64 { view.state.changesAndPurges }

  /// The sequence number of the last change in this snapshot; 0 if there is none.
  public var sequence: UInt64 { view.past?.sequence ?? view.state.lastSequence }

  /// The number of documents that are not deleted.
  ///
  /// Costs nothing; for a past version, as much as ``ids(_:descending:)``.
  /// - Throws: ``DatabaseError`` with the code `damaged` if some may be missing.
  public var count: Int {
    get throws {
      guard let past = view.past else { return try view.documentCount() }
      try view.requireWhole()
      return (try? view.countDocuments()) ?? Int(clamping: past.documentCount)
    }
  }

  /// Returns the document with this ID; nil if there is none or it is deleted.
  ///
  /// Costs one search in the index and one read of the document's bytes, which are checked against
  /// their checksum.
  /// - Throws: ``DatabaseError`` with the code `damaged`, `inputOutput` or `closed`.
  public func document(_ id: String) throws -> Document? { try view.document(id) }

  /// Returns the documents with these IDs, in the same order; nil where there is none.
  ///
  /// They are read in the order of their records in the log, which is faster than one by one.
  public func documents(_ ids: [String]) throws -> [Document?] { try view.documents(ids) }

  /// Whether there is a document with this ID that is not deleted.
  ///
  /// Reads the index only.
  public func exists(_ id: String) throws -> Bool { try view.exists(id) }

  /// Returns the winning revision's ID, also of a deleted document; nil if there never was one.
  ///
  /// Reads the index only.
  public func revision(of id: String) throws -> RevisionID? { try view.entry(id)?.revision }

  /// Returns a document's tombstone, with the properties left in it; nil if it is not deleted.
  public func tombstone(_ id: String) throws -> Document? { try view.tombstone(id) }

  /// Returns a cursor over the documents in a range of IDs, in the order of the IDs' bytes.
  ///
  /// Costs one search, and then one step and one read for each document.
  public func documents(
    _ range: some IDRangeExpression = .all, descending: Bool = false
  ) -> DocumentCursor {
    DocumentCursor(view, range.idRange, descending: descending)
  }

  /// Returns a cursor over the IDs in a range, in byte order, without deleted documents.
  ///
  /// Reads the index only.
  public func ids(_ range: some IDRangeExpression = .all, descending: Bool = false) -> IDCursor {
    IDCursor(view, range.idRange, descending: descending)
  }

  /// Returns a cursor over the latest change of each document since `sequence`, oldest first.
  ///
  /// Deletions are included.
  public func changes(since sequence: UInt64 = 0) -> ChangeCursor {
    ChangeCursor(view, since: sequence)
  }

  /// Returns the number of changes that ``changes(since:)`` returns: how far an observer is behind.
  ///
  /// Reads only the index: some nanoseconds for each change, and no documents. For a past version
  /// it costs as much as reading the changes.
  public func changeCount(since sequence: UInt64 = 0) throws -> Int {
    try view.changeCount(since: sequence)
  }
}

extension Snapshot: CustomStringConvertible {
  /// The sequence number of the last change, and the path of the store.
  public var description: String { "Snapshot \(sequence) of \(printable(view.environment.path))" }
}
