import DivanLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Past versions of the whole database: by a sequence number, a time, or a name.

extension Database {
  /// The database as it was when the last change had this sequence number, or the next lower one that
  /// ended a transaction.
  ///
  /// It is read like any snapshot. A document that was changed since costs one more search and one more
  /// read; ``Snapshot/changes(since:)`` and ``Snapshot/count`` first walk over the index. Documents that
  /// were purged since are not in it, nor are local documents.
  ///
  /// - Parameter sequence: as ``Snapshot/sequence`` or ``Change/sequence`` told it.
  /// - Returns: that version, which stays readable whatever is let go of later.
  /// - Throws: ``DatabaseError`` with the code `historyNotHeld`, which says how far back one can go, if
  ///   ``Configuration/history`` and named snapshots do not keep that version; and `damaged`,
  ///   `inputOutput` or `closed`.
  public func snapshot(at sequence: UInt64) throws -> Snapshot {
    Snapshot(try store.view().keepingOpen(self).version(at: sequence))
  }

  /// The database as it was at a time: after the last transaction that was committed by then.
  ///
  /// Costs some twenty searches; the rest is as with a sequence number.
  ///
  /// - Parameter date: when; commits are stamped in milliseconds by ``Configuration/now``.
  /// - Returns: that version, which stays readable whatever is let go of later.
  /// - Throws: as with a sequence number.
  public func snapshot(at date: Date) throws -> Snapshot {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
    // A date that is no number is none after the beginning either.
    let time = milliseconds > 0 ? UInt64(min(milliseconds, 0x1p62)) : 0
    return Snapshot(try store.view().keepingOpen(self).version(atTime: time))
  }
}

/// A version of the database that is kept under a name: see ``Database/nameSnapshot(_:of:)``.
public struct NamedSnapshot: Sendable, Equatable, Identifiable {
  /// The name.
  public let name: String
  /// The sequence number of the last change in it.
  public let sequence: UInt64
  /// When that version was committed.
  public let date: Date
  /// How many documents it held that were not deleted.
  public let documentCount: Int
  /// Bytes of superseded revisions that it needs, and of attachments that only they have; others may need
  /// some of them, too.
  public let pinnedSize: Int

  /// The name.
  public var id: String { name }

  init(_ named: NamedMoment, pinnedSize: UInt64) {
    name = String(decoding: named.name.array, as: UTF8.self)
    sequence = named.moment.sequence
    date = Date(timeIntervalSince1970: Double(named.moment.time) / 1000)
    documentCount = Int(clamping: named.moment.documentCount)
    self.pinnedSize = Int(clamping: pinnedSize)
  }
}

extension Database {
  /// Keeps a version of the database under a name, whatever is written later, until
  /// ``removeSnapshot(named:)``.
  ///
  /// It survives reopening, and is read by ``snapshot(named:)``. Keeping it costs what it pins: of each
  /// document that changes afterwards, the one revision that it had. Purging a document takes it out of
  /// named versions, too. A backup has them if it is made with `keepingHistory`.
  ///
  /// - Parameters:
  ///   - name: 1 to 240 bytes of UTF-8.
  ///   - snapshot: which version, of this database; the newest if nil.
  /// - Throws: ``DatabaseError`` with the codes `invalidSnapshotName`, `alreadyExists` if the name is
  ///   taken, `historyNotHeld` if something of that version is gone already, and what `write` throws.
  public func nameSnapshot(_ name: String, of snapshot: Snapshot? = nil) throws {
    let bytes = SharedBytes(utf8: name)
    guard !bytes.isEmpty, bytes.count <= NamedRecord.nameSizeLimit else {
      throw DatabaseError(
        .invalidSnapshotName,
        "the name of a snapshot has 1 to \(NamedRecord.nameSizeLimit) bytes, and this one "
          + "\(bytes.count)", path: path)
    }
    if let snapshot, snapshot.view.store !== store {
      throw DatabaseError(
        .historyNotHeld, "the snapshot is one of another database", path: path)
    }
    try write { try $0.keep(snapshot, as: bytes) }
  }

  /// All named snapshots, in the order of the bytes of their names, with what they pin.
  ///
  /// Costs a walk over all superseded revisions that are held.
  public func namedSnapshots() throws -> [NamedSnapshot] {
    let view = try store.view()
    let named = try view.namedMoments()
    let sizes = try view.pinnedSizes(named.map(\.moment.sequence))
    return zip(named, sizes).map(NamedSnapshot.init)
  }

  /// The version of the database that is kept under a name.
  ///
  /// It is read like any snapshot, at the cost that a past version has.
  /// - Throws: ``DatabaseError`` with the code `notFound` if there is none of that name; `damaged`,
  ///   `inputOutput` or `closed`.
  public func snapshot(named name: String) throws -> Snapshot {
    guard let view = try store.view().keepingOpen(self).version(named: SharedBytes(utf8: name))
    else {
      throw WriteTransaction.noSuchName(name, path)
    }
    return Snapshot(view)
  }

  /// Keeps a version no longer; its space is given back when the database cleans up.
  ///
  /// - Throws: ``DatabaseError`` with the code `notFound` if there is none of that name, and what
  ///   `write` throws.
  public func removeSnapshot(named name: String) throws {
    try write { try $0.forgetSnapshot(named: name) }
    store.maintenance.notePruningDue()
  }
}

extension WriteTransaction {
  fileprivate func keep(_ snapshot: Snapshot?, as name: SharedBytes) throws(DatabaseError) {
    guard try view.locator(in: \.catalog, CatalogKey.named(name)) == nil else {
      throw DatabaseError(
        .alreadyExists, "there is a snapshot of that name already",
        hint: "Remove it first, or choose another name", path: store.path)
    }
    let kept = snapshot?.view ?? StoreView(state: state, store: store)
    let moment = Moment(
      sequence: kept.past?.sequence ?? kept.state.lastSequence,
      commit: kept.past?.commit ?? kept.state.commit, time: kept.past?.time ?? kept.state.time,
      documentCount: kept.past == nil
        ? kept.state.documentCount : UInt64(try kept.countDocuments()))
    // What stands below the floor may be incomplete, unless somebody else keeps it.
    if moment.commit < state.historyFloor {
      guard try view.namedMoments().contains(where: { $0.moment.sequence == moment.sequence })
      else {
        throw DatabaseError(
          .historyNotHeld, "something of that version is not held any more",
          hint: "Name a version before its documents change, or keep history", path: store.path)
      }
    }
    try append(NamedRecord(name: name, superseded: nil, moment: moment))
  }

  fileprivate func forgetSnapshot(named name: String) throws(DatabaseError) {
    let bytes = SharedBytes(utf8: name)
    guard let locator = try view.locator(in: \.catalog, CatalogKey.named(bytes)) else {
      throw WriteTransaction.noSuchName(name, store.path)
    }
    try append(NamedRecord(name: bytes, superseded: locator, moment: nil))
  }

  func append(_ record: NamedRecord) throws(DatabaseError) {
    let place = try append(.named, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: place, scratch: &entryScratch)
    // Whoever writes next looks it up, whether this is committed or not.
    store.knownPin = nil
  }

  fileprivate static func noSuchName(_ name: String, _ path: String) -> DatabaseError {
    DatabaseError(
      .notFound, "there is no snapshot of that name", hint: "See `namedSnapshots()`", path: path)
  }
}
