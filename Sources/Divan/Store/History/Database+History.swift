import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Past versions of the whole database: by a sequence number, a time, or a name.

extension Database {
  /// Returns the database as it was when the last change had this sequence number.
  ///
  /// If no transaction ended with that number, it is the next lower one that did. You read it like
  /// any snapshot. A document that was changed since costs one more search and one more read;
  /// ``Snapshot/changes(since:)`` and ``Snapshot/count`` first scan the index. Documents that were
  /// purged since are not in it, nor are local documents.
  ///
  /// - Parameter sequence: a number from ``Snapshot/sequence`` or ``Change/sequence``.
  /// - Returns: that version, which stays readable even if its history is released later.
  /// - Throws: ``DatabaseError`` with the code `versionNotRetained`, which says how far back
  ///   history reaches, if ``Configuration/history`` and named snapshots do not keep that version;
  ///   and `damaged`, `inputOutput` or `closed`.
  public func snapshot(at sequence: UInt64) throws -> Snapshot {
    Snapshot(try store.view(for: self).version(at: sequence))
  }

  /// Returns the database as it was at a time: after the last transaction committed by then.
  ///
  /// Costs some twenty searches; the rest is as with a sequence number.
  ///
  /// - Parameter date: the time; commits are stamped in milliseconds by ``Configuration/now``.
  /// - Returns: that version, which stays readable even if its history is released later.
  /// - Throws: as with a sequence number.
  public func snapshot(at date: Date) throws -> Snapshot {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
    // A date that is not a number counts as the beginning.
    let time = milliseconds > 0 ? UInt64(min(milliseconds, 0x1p62)) : 0
    return Snapshot(try store.view(for: self).version(atTime: time))
  }
}

/// A version of the database that is retained under a name: see
/// ``Database/saveSnapshot(named:of:)-149rq``.
///
/// ```swift
/// try database.saveSnapshot(named: "before the import")
/// for named in try database.namedSnapshots() { print(named.name, named.documentCount) }
/// let before = try database.snapshot(named: "before the import")
/// ```
public struct NamedSnapshot: Sendable, Hashable, Identifiable {
  /// The name.
  public let name: String
  /// The sequence number of the last change in it.
  public let sequence: UInt64
  /// The time at which that version was committed.
  public let date: Date
  /// The number of documents in it that were not deleted.
  public let documentCount: Int
  /// The bytes of superseded revisions that it needs, with the attachments that only those have.
  ///
  /// Other versions may need some of them, too.
  public let pinnedSize: Int

  /// The name.
  public var id: String { name }

  init(_ named: NamedCommitPoint, pinnedSize: UInt64) {
    name = String(decoding: named.name.array, as: UTF8.self)
    sequence = named.commitPoint.sequence
    date = Date(timeIntervalSince1970: Double(named.commitPoint.time) / 1000)
    documentCount = Int(clamping: named.commitPoint.documentCount)
    self.pinnedSize = Int(clamping: pinnedSize)
  }
}

extension Database {
  /// Retains a version of the database under a name until ``deleteSnapshot(named:)-4ro89``.
  ///
  /// It survives reopening, and is read by ``snapshot(named:)``. It costs what it pins: for each
  /// document that changes afterwards, the one revision that it had. Purging a document
  /// removes it from named versions, too. A backup has them if it is made with `keepingHistory`.
  ///
  /// - Parameters:
  ///   - name: 1 to 240 bytes of UTF-8.
  ///   - snapshot: a version of this database; the newest if nil.
  /// - Throws: ``DatabaseError`` with the codes `invalidSnapshotName`, `alreadyExists` if the name
  ///   is taken, `versionNotRetained` if a part of that version is gone already, and the errors of
  ///   `write`.
  public func saveSnapshot(named name: String, of snapshot: Snapshot? = nil) throws {
    let bytes = SharedBytes(utf8: name)
    guard !bytes.isEmpty, bytes.count <= SnapshotNameRecord.nameSizeLimit else {
      throw DatabaseError(
        .invalidSnapshotName,
        "the name of a snapshot has 1 to \(SnapshotNameRecord.nameSizeLimit) bytes, and this one has "
          + "\(bytes.count)", path: path)
    }
    if let snapshot, snapshot.view.environment !== store.environment {
      throw DatabaseError(
        .versionNotRetained, "the snapshot belongs to another database", path: path)
    }
    try write { try $0.keep(snapshot, as: bytes) }
  }

  /// Returns all named snapshots and the sizes they pin, in the order of the bytes of their names.
  ///
  /// Costs a scan of all retained revisions.
  public func namedSnapshots() throws -> [NamedSnapshot] {
    let view = try store.view()
    let named = try view.namedCommitPoints()
    let sizes = try view.pinnedSizes(named.map(\.commitPoint.sequence))
    return zip(named, sizes).map(NamedSnapshot.init)
  }

  /// Returns the version of the database that is retained under a name.
  ///
  /// You read it like any snapshot, at the cost of a past version.
  /// - Throws: ``DatabaseError`` with the code `notFound` if there is none with that name;
  ///   `damaged`, `inputOutput` or `closed`.
  public func snapshot(named name: String) throws -> Snapshot {
    guard let view = try store.view(for: self).version(named: SharedBytes(utf8: name)) else {
      throw WriteTransaction.noSuchName(name, path)
    }
    return Snapshot(view)
  }

  /// Stops retaining a named version; the database frees its space when it cleans up.
  ///
  /// - Throws: ``DatabaseError`` with the code `notFound` if there is none with that name, and the
  ///   errors of `write`.
  public func deleteSnapshot(named name: String) throws {
    try write { try $0.deleteSnapshot(named: name) }
    store.maintenance.notePruningDue()
  }
}
