import DivanLog

/// The database as it was at one moment.
///
/// It never changes, whatever is written later, and neither blocks a writer nor waits for one. Copying
/// it is free. While it lives, the files that it reads from stay. After the database was closed every
/// call throws ``DatabaseError/Code/closed``.
public struct Snapshot: Sendable {
  let view: StoreView

  init(_ view: StoreView) { self.view = view }
}

extension Snapshot {
  /// Whether documents were purged between two snapshots of a database, of which its changes tell nothing.
  func hasPurged(since earlier: Snapshot) -> Bool {
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

  /// How many documents there are that are not deleted.
  ///
  /// Costs nothing; of a past version as much as ``ids(_:descending:)``.
  /// - Throws: ``DatabaseError`` with the code `damaged` if some may be missing.
  public var count: Int {
    get throws {
      guard let past = view.past else { return try view.documentCount() }
      try view.requireWhole()
      return (try? view.countDocuments()) ?? Int(clamping: past.documentCount)
    }
  }

  /// The document of this ID; nil if there is none or it is deleted.
  ///
  /// Costs one search in the index and one read of the document's bytes, which are checked against
  /// their checksum.
  /// - Throws: ``DatabaseError`` with the code `damaged`, `inputOutput` or `closed`.
  public func get(_ id: String) throws -> Document? { try view.document(id) }

  /// The documents of these IDs, in their order; nil where there is none.
  ///
  /// They are read in the order in which they lie, which is faster than one by one.
  public func get(_ ids: [String]) throws -> [Document?] { try view.documents(ids) }

  /// Whether there is a document of this ID that is not deleted.
  ///
  /// Reads the index only.
  public func exists(_ id: String) throws -> Bool { try view.exists(id) }

  /// The winning revision's ID, of a deleted document too; nil if there never was one.
  ///
  /// Reads the index only.
  public func revision(of id: String) throws -> RevisionID? { try view.entry(id)?.revision }

  /// The revision that says that a document is deleted, with the properties left in it; nil if there
  /// is no deleted document of this ID.
  public func tombstone(_ id: String) throws -> Document? { try view.tombstone(id) }

  /// The documents whose IDs are in a range, in the order of the bytes of their IDs.
  ///
  /// Costs one search, and then one step and one read for each document.
  public func documents(_ range: IDRange = .all, descending: Bool = false) -> DocumentCursor {
    DocumentCursor(view, range, descending: descending)
  }

  /// The IDs in a range, in the order of their bytes, without those of deleted documents.
  ///
  /// Reads the index only.
  public func ids(_ range: IDRange = .all, descending: Bool = false) -> IDCursor {
    IDCursor(view, range, descending: descending)
  }

  /// The latest change of each document that changed after `sequence`, oldest first, deletions too.
  public func changes(since sequence: UInt64 = 0) -> ChangeCursor {
    ChangeCursor(view, since: sequence)
  }

  /// How many changes ``changes(since:)`` gives: how much somebody who follows them has before them.
  ///
  /// Reads the index only: some nanoseconds for each change, and no documents. Of a past version as much as reading
  /// the changes.
  public func changeCount(since sequence: UInt64 = 0) throws -> Int {
    try view.changeCount(since: sequence)
  }
}

/// Which document IDs are meant.
///
/// IDs are in the order of their UTF-8 bytes.
public struct IDRange: Sendable, Equatable {
  let lower: KeyBound
  let upper: KeyBound

  /// Every ID.
  public static let all = IDRange(lower: .unbounded, upper: .unbounded)

  /// The IDs that begin with `prefix`.
  public static func prefix(_ prefix: String) -> IDRange {
    let bytes = Array(prefix.utf8)
    return IDRange(lower: .inclusive(bytes), upper: .end(ofPrefix: bytes))
  }

  /// The IDs from `first` on.
  public static func from(_ first: String) -> IDRange {
    IDRange(lower: .inclusive(Array(first.utf8)), upper: .unbounded)
  }

  /// The IDs from `first` up to `end`, which is not included.
  public static func from(_ first: String, upTo end: String) -> IDRange {
    IDRange(lower: .inclusive(Array(first.utf8)), upper: .exclusive(Array(end.utf8)))
  }

  /// The IDs from `first` through `last`, which is included.
  public static func from(_ first: String, through last: String) -> IDRange {
    IDRange(lower: .inclusive(Array(first.utf8)), upper: .inclusive(Array(last.utf8)))
  }

  /// The IDs after `last`, as for the next page of a list.
  public static func after(_ last: String) -> IDRange {
    IDRange(lower: .exclusive(Array(last.utf8)), upper: .unbounded)
  }

  /// The IDs before `end`.
  public static func before(_ end: String) -> IDRange {
    IDRange(lower: .unbounded, upper: .exclusive(Array(end.utf8)))
  }
}
