import DivanLog

// Copies the past of a store in the order in which it was written. Each version that has a moment
// or a name ends a transaction of the copy. Sequence numbers and times are kept; commits are
// counted from the beginning.

/// The end of a version that the copy must contain.
private struct VersionEnd {
  let sequence: UInt64
  var moment: CommitPointRecord?
  var named: [NamedCommitPoint] = []
}

/// The place of a held record.
private struct RetainedLocation {
  let sequence: UInt64
  let locator: RecordLocator
}

extension StoreCopy {
  /// Copies all held revisions, with the moments and named snapshots that identify versions.
  func copyVersions(to copy: Database) throws {
    let places = try heldPlaces()
    var rest = places[...]
    var horizon: UInt64 = 0
    for end in try versionEnds() {
      try copyRecords(&rest, through: end.sequence, of: places.count, to: copy)
      if let moment = end.moment {
        let commit = try append(moment, to: copy)
        if moment.moment.commit <= view.state.historyHorizon { horizon = commit }
      }
      for named in end.named { try append(named, to: copy) }
    }
    try copyRecords(&rest, through: .max, of: places.count, to: copy)
    if horizon > 0, let first = places.first {
      try raiseHorizon(to: horizon, first.locator, of: copy)
    }
  }

  /// Appends records up to a sequence number, as many per transaction as fit.
  private func copyRecords(
    _ rest: inout ArraySlice<RetainedLocation>, through sequence: UInt64, of count: Int,
    to copy: Database
  ) throws {
    while let first = rest.first, first.sequence <= sequence {
      try copy.store.write(durability: .none, timeout: nil) { transaction in
        while transaction.size < TransactionBuffer.frameSizeGoal, let next = rest.first,
          next.sequence <= sequence
        {
          try copyRecord(at: next.locator, to: transaction)
          rest.removeFirst()
        }
      }
      try copy.store.maintenance.writeCheckpointIfDue(copy.store)
      try report(count - rest.count, of: count)
    }
  }

  private func copyRecord(
    at locator: RecordLocator, to transaction: WriteTransaction
  ) throws(DatabaseError) {
    var record = try view.record(at: locator)
    guard let id = record.id else {
      throw view.damage(at: locator, "a document ID that is no text")
    }
    // Only the newest revision has the document's expiry.
    if try view.entry(id)?.sequence != record.sequence { record.details?.expiry = nil }
    try append(record, id: id, to: transaction)
  }

  /// Appends the end of a version to the copy; returns the commit where it ends there.
  private func append(_ original: CommitPointRecord, to copy: Database) throws -> UInt64 {
    var record = original
    return try copy.store.write(durability: .none, timeout: nil) { transaction in
      record.moment.commit = transaction.nextCommit
      // The version's last change may have been purged since.
      transaction.state.lastSequence = max(
        transaction.state.lastSequence, record.moment.sequence)
      try transaction.append(record)
      return record.moment.commit
    }
  }

  private func append(_ original: NamedCommitPoint, to copy: Database) throws {
    try copy.store.write(durability: .none, timeout: nil) { transaction in
      var moment = original.moment
      moment.commit = transaction.state.commit
      transaction.state.lastSequence = max(transaction.state.lastSequence, moment.sequence)
      try transaction.append(
        SnapshotNameRecord(name: original.name, superseded: nil, moment: moment))
    }
  }

  /// Raises the history horizon in the copy's log, by purging a record that is not held.
  private func raiseHorizon(
    to commit: UInt64, _ locator: RecordLocator, of copy: Database
  ) throws {
    let id = try view.record(at: locator).idBytes
    try copy.store.write(durability: .none, timeout: nil) { transaction in
      try transaction.append(
        PurgeRecord(idBytes: id, sequence: 0, historyHorizon: commit), id.text)
    }
  }

  /// Returns the places of all held records, newest and older ones, by sequence number.
  private func heldPlaces() throws(DatabaseError) -> [RetainedLocation] {
    var places: [RetainedLocation] = []
    var newest = view.state.sequences.scan()
    while let item = try view.step(&newest) {
      guard item.key.count == MemoryLayout<UInt64>.size else { continue }
      places.append(
        RetainedLocation(
          sequence: UInt64(bigEndian: item.key.load(UInt64.self, at: 0)),
          locator: try view.decodeLocator(item)))
    }
    // Records of documents that were purged may still be indexed after a page was rebuilt.
    try view.forEachRetained { (held) throws(DatabaseError) in
      places += held.records.map { RetainedLocation(sequence: $0.sequence, locator: $0.locator) }
      return true
    }
    places.sort { $0.sequence < $1.sequence }
    return places
  }

  /// Returns the ends of the versions that have a moment or a name, by sequence number.
  private func versionEnds() throws(DatabaseError) -> [VersionEnd] {
    var ends: [UInt64: VersionEnd] = [:]
    var scan = view.state.catalog.scan(
      from: .inclusive(CatalogKey.moment(0)), to: .inclusive(CatalogKey.moment(.max)))
    while let item = try view.step(&scan) {
      let record = try view.decodeMoment(at: try view.decodeLocator(item))
      let sequence = record.moment.sequence
      ends[sequence, default: VersionEnd(sequence: sequence)].moment = record
    }
    for named in try view.namedCommitPoints() {
      let sequence = named.moment.sequence
      ends[sequence, default: VersionEnd(sequence: sequence)].named.append(named)
    }
    return ends.values.sorted { $0.sequence < $1.sequence }
  }
}
