import DivanLog

// Copies the history of a store in the order in which it was written. Each version that has a
// commit point or a name ends a transaction of the copy. Sequence numbers and times stay the same;
// commits are counted from the beginning.

/// The end of a version that the copy must contain.
private struct VersionEnd {
  let sequence: UInt64
  var commitPoint: CommitPointRecord?
  var named: [NamedCommitPoint] = []
}

/// The location of a retained record, or of a document's newest one.
private struct RetainedLocation {
  let sequence: UInt64
  let locator: RecordLocator
}

extension StoreCopy {
  /// Copies all retained revisions, with the commit points and named snapshots of versions.
  func copyVersions(to copy: Database) throws {
    let locations = try recordLocations()
    var rest = locations[...]
    var horizon: UInt64 = 0
    for end in try versionEnds() {
      try copyRecords(&rest, through: end.sequence, of: locations.count, to: copy)
      if let record = end.commitPoint {
        let commit = try append(record, to: copy)
        if record.commitPoint.commit <= view.state.historyHorizon { horizon = commit }
      }
      for named in end.named { try append(named, to: copy) }
    }
    try copyRecords(&rest, through: .max, of: locations.count, to: copy)
    if horizon > 0, let first = locations.first {
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
      throw view.damage(at: locator, "a document ID that is not UTF-8")
    }
    // Only the newest revision has the document's expiry.
    if try view.entry(id)?.sequence != record.sequence { record.details?.expiry = nil }
    try append(record, id: id, to: transaction)
  }

  /// Appends the end of a version to the copy; returns the commit where it ends there.
  private func append(_ original: CommitPointRecord, to copy: Database) throws -> UInt64 {
    var record = original
    return try copy.store.write(durability: .none, timeout: nil) { transaction in
      record.commitPoint.commit = transaction.nextCommit
      // The version's last change may have been purged since.
      transaction.state.lastSequence = max(
        transaction.state.lastSequence, record.commitPoint.sequence)
      try transaction.append(record)
      return record.commitPoint.commit
    }
  }

  private func append(_ original: NamedCommitPoint, to copy: Database) throws {
    try copy.store.write(durability: .none, timeout: nil) { transaction in
      var commitPoint = original.commitPoint
      commitPoint.commit = transaction.state.commit
      transaction.state.lastSequence = max(transaction.state.lastSequence, commitPoint.sequence)
      try transaction.append(
        SnapshotNameRecord(name: original.name, superseded: nil, commitPoint: commitPoint))
    }
  }

  /// Raises the history horizon in the copy's log, by purging a record that does not exist.
  private func raiseHorizon(
    to commit: UInt64, _ locator: RecordLocator, of copy: Database
  ) throws {
    let id = try view.record(at: locator).idBytes
    try copy.store.write(durability: .none, timeout: nil) { transaction in
      try transaction.append(
        PurgeRecord(idBytes: id, sequence: 0, historyHorizon: commit), id.text)
    }
  }

  /// Returns the locations of all records, newest and retained ones, by sequence number.
  private func recordLocations() throws(DatabaseError) -> [RetainedLocation] {
    var locations: [RetainedLocation] = []
    var newest = view.state.sequences.scan()
    while let item = try view.step(&newest) {
      guard item.key.count == MemoryLayout<UInt64>.size else { continue }
      locations.append(
        RetainedLocation(
          sequence: UInt64(bigEndian: item.key.load(UInt64.self, at: 0)),
          locator: try view.decodeLocator(item)))
    }
    // Records of documents that were purged may still be indexed after a page was rebuilt.
    try view.forEachRetained { (retained) throws(DatabaseError) in
      locations += retained.records.map {
        RetainedLocation(sequence: $0.sequence, locator: $0.locator)
      }
      return true
    }
    locations.sort { $0.sequence < $1.sequence }
    return locations
  }

  /// Returns the ends of the versions that have a commit point or a name, by sequence number.
  private func versionEnds() throws(DatabaseError) -> [VersionEnd] {
    var ends: [UInt64: VersionEnd] = [:]
    var scan = view.state.catalog.scan(
      from: .inclusive(CatalogKey.commitPoint(0)), to: .inclusive(CatalogKey.commitPoint(.max)))
    while let item = try view.step(&scan) {
      let record = try view.decodeCommitPoint(at: try view.decodeLocator(item))
      let sequence = record.commitPoint.sequence
      ends[sequence, default: VersionEnd(sequence: sequence)].commitPoint = record
    }
    for named in try view.namedCommitPoints() {
      let sequence = named.commitPoint.sequence
      ends[sequence, default: VersionEnd(sequence: sequence)].named.append(named)
    }
    return ends.values.sorted { $0.sequence < $1.sequence }
  }
}
