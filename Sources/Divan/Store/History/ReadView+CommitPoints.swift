import DivanLog

// Which versions of the store are known, and how to find one by a sequence number, a time or a
// name.

extension ReadView {
  /// Returns the version of the last whole commit at or below a sequence number.
  func version(at sequence: UInt64) throws(DatabaseError) -> ReadView {
    if sequence >= state.lastSequence { return self }
    if try isNewest(through: sequence) { return self }
    var wanted = sequence
    if let next = try firstCommitPoint(from: sequence + 1), next.previous <= sequence {
      if state.historyHorizon < next.commitPoint.commit { return at(try commitPoint(before: next)) }
      wanted = next.previous
    }
    // A named snapshot may retain it nevertheless.
    if let named = try namedCommitPoints().first(where: { $0.commitPoint.sequence == wanted }) {
      return at(named.commitPoint)
    }
    throw try notRetained("the version at sequence number \(sequence)")
  }

  /// Returns the version of the last whole commit at or before a time in milliseconds since 1970.
  func version(atTime time: UInt64) throws(DatabaseError) -> ReadView {
    if state.time <= time { return self }
    let next = try firstCommitPoint { $0.commitPoint.time > time }
    guard let next else {
      // Either nothing changed since the last commit point, or the time was not recorded.
      if let last = try lastCommitPoint(), try isNewest(through: last.commitPoint.sequence) {
        return self
      }
      throw try notRetained("the version of that time")
    }
    let before = try commitPoint(before: next)
    // Without its own record, the time of the previous version is unknown.
    if state.historyHorizon < next.commitPoint.commit, before.sequence == 0 || before.time <= time {
      return at(before)
    }
    // A named snapshot may retain it nevertheless, and records its time.
    let named = try namedCommitPoints().first {
      $0.commitPoint.sequence == next.previous && $0.commitPoint.time <= time
    }
    if let named { return at(named.commitPoint) }
    throw try notRetained("the version of that time")
  }

  /// Returns the version that a named snapshot retains; nil if there is none with that name.
  func version(named name: SharedBytes) throws(DatabaseError) -> ReadView? {
    guard let locator = try locator(in: \.catalog, CatalogKey.named(name)) else { return nil }
    return try namedCommitPoint(at: locator).map { at($0.commitPoint) }
  }

  /// Whether no document was changed after a sequence number.
  ///
  /// After an unclean shutdown, the last number used can be lower than the last number reserved.
  private func isNewest(through sequence: UInt64) throws(DatabaseError) -> Bool {
    var scan = state.sequences.scan(from: .exclusive(sequence.bigEndianBytes))
    return try step(&scan) == nil
  }

  private func notRetained(_ version: String) throws(DatabaseError) -> DatabaseError {
    let first = try firstCommitPoint { $0.commitPoint.commit > state.historyHorizon }
    let start = first?.previous ?? state.lastSequence
    return DatabaseError(
      .versionNotRetained, "\(version) is not retained completely",
      hint: "History reaches back to sequence number \(start); retain more of it with "
        + "`Configuration.history`, or name snapshots", path: environment.path)
  }
}

extension ReadView {
  /// Returns the first commit point at or above a sequence number.
  func firstCommitPoint(from sequence: UInt64) throws(DatabaseError) -> CommitPointRecord? {
    var scan = state.catalog.scan(
      from: .inclusive(CatalogKey.commitPoint(sequence)),
      to: .inclusive(CatalogKey.commitPoint(.max)))
    guard let item = try step(&scan) else { return nil }
    return try decodeCommitPoint(at: try decodeLocator(item))
  }

  /// Returns the first commit that used this sequence number or a higher one.
  func commit(of sequence: UInt64) throws(DatabaseError) -> UInt64 {
    guard sequence < .max, let record = try firstCommitPoint(from: sequence) else {
      return state.commit
    }
    return record.commitPoint.commit
  }

  func lastCommitPoint() throws(DatabaseError) -> CommitPointRecord? {
    var scan = state.catalog.scan(
      from: .inclusive(CatalogKey.commitPoint(0)), to: .inclusive(CatalogKey.commitPoint(.max)),
      descending: true)
    guard let item = try step(&scan) else { return nil }
    return try decodeCommitPoint(at: try decodeLocator(item))
  }

  /// Returns the first commit point for which `isLater` is true.
  ///
  /// The predicate must be monotonic: once true, it is true for every later commit point.
  func firstCommitPoint(
    where isLater: (CommitPointRecord) -> Bool
  ) throws(DatabaseError) -> CommitPointRecord? {
    var found: CommitPointRecord?
    // No commit point below `low` is later, and the first at or above `high` is `found`.
    var (low, high) = (0 as UInt64, state.lastSequence + 1)
    while low < high {
      let middle = low + (high - low) / 2
      guard let record = try firstCommitPoint(from: middle), record.commitPoint.sequence < high
      else {
        high = middle
        continue
      }
      if isLater(record) {
        found = record
        high = middle
      } else {
        low = record.commitPoint.sequence + 1
      }
    }
    return found
  }

  func decodeCommitPoint(at locator: RecordLocator) throws(DatabaseError) -> CommitPointRecord {
    let payload = try payload(of: .commitPoint, at: locator)
    do throws(ByteError) {
      return try CommitPointRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// Returns the version before a commit point.
  ///
  /// If that version has no commit point, it gets the time of `next`, which is later.
  private func commitPoint(before next: CommitPointRecord) throws(DatabaseError) -> CommitPoint {
    var commitPoint = next.commitPoint
    if let locator = try locator(in: \.catalog, CatalogKey.commitPoint(next.previous)) {
      commitPoint = try decodeCommitPoint(at: locator).commitPoint
    }
    commitPoint.sequence = next.previous
    // Commits between the two changed no document.
    commitPoint.commit = next.commitPoint.commit - min(1, next.commitPoint.commit)
    return commitPoint
  }
}

/// A version that is retained under a name.
struct NamedCommitPoint: Equatable, Sendable {
  var name: SharedBytes
  var commitPoint: CommitPoint
}

extension ReadView {
  /// Returns all named snapshots, in the order of their names' bytes.
  func namedCommitPoints() throws(DatabaseError) -> [NamedCommitPoint] {
    let prefix = [CatalogKey.Kind.named.rawValue]
    var scan = state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var all: [NamedCommitPoint] = []
    while let item = try step(&scan) {
      if let named = try namedCommitPoint(at: try decodeLocator(item)) { all.append(named) }
    }
    return all
  }

  /// The highest sequence number of any named snapshot; nil if the snapshots cannot be read.
  var pinnedThrough: UInt64? {
    (try? namedCommitPoints()).map { $0.map(\.commitPoint.sequence).max() ?? 0 }
  }

  func namedCommitPoint(
    at locator: RecordLocator
  ) throws(DatabaseError) -> NamedCommitPoint? {
    let payload = try payload(of: .snapshotName, at: locator)
    do throws(ByteError) {
      let record = try SnapshotNameRecord.decode(payload)
      return record.commitPoint.map { NamedCommitPoint(name: record.name, commitPoint: $0) }
    } catch {
      throw damage(at: locator, error.reason)
    }
  }
}

extension ReadView {
  /// The sequence number of this version's last change, from its commit point if it has one.
  var lastChange: UInt64 {
    get throws(DatabaseError) {
      let own = try locator(in: \.catalog, CatalogKey.commitPoint(state.lastSequence))
      if own != nil || state.lastSequence == 0 { return state.lastSequence }
      // After an unclean shutdown, numbers were skipped; or history was not kept for some time.
      if let last = try lastCommitPoint(), try isNewest(through: last.commitPoint.sequence) {
        return last.commitPoint.sequence
      }
      return state.lastSequence
    }
  }
}
