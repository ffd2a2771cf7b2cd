import DivanLog

// Which versions of the store are known, and how to find one by a sequence number, a time or a
// name.

extension ReadView {
  /// Returns the version of the last whole commit at or below a sequence number.
  func version(at sequence: UInt64) throws(DatabaseError) -> ReadView {
    if sequence >= state.lastSequence { return self }
    if try isNewest(through: sequence) { return self }
    var wanted = sequence
    if let next = try firstMoment(from: sequence + 1), next.previous <= sequence {
      if state.historyHorizon < next.moment.commit { return at(try moment(before: next)) }
      wanted = next.previous
    }
    // A named snapshot may hold it nevertheless.
    if let named = try namedCommitPoints().first(where: { $0.moment.sequence == wanted }) {
      return at(named.moment)
    }
    throw try notHeld("the version at sequence number \(sequence)")
  }

  /// Returns the version of the last whole commit at or before a time in milliseconds since 1970.
  func version(atTime time: UInt64) throws(DatabaseError) -> ReadView {
    if state.time <= time { return self }
    let next = try firstMoment { $0.moment.time > time }
    guard let next else {
      // Either nothing changed since the last moment, or the time was not recorded.
      if let last = try lastMoment(), try isNewest(through: last.moment.sequence) { return self }
      throw try notHeld("the version of that time")
    }
    let before = try moment(before: next)
    // Without its own record, the time of the previous version is unknown.
    if state.historyHorizon < next.moment.commit, before.sequence == 0 || before.time <= time {
      return at(before)
    }
    // A named snapshot may hold it nevertheless, and records its time.
    let named = try namedCommitPoints().first {
      $0.moment.sequence == next.previous && $0.moment.time <= time
    }
    if let named { return at(named.moment) }
    throw try notHeld("the version of that time")
  }

  /// Returns the version that a named snapshot keeps; nil if there is none with that name.
  func version(named name: SharedBytes) throws(DatabaseError) -> ReadView? {
    guard let locator = try locator(in: \.catalog, CatalogKey.named(name)) else { return nil }
    return try namedMoment(at: locator).map { at($0.moment) }
  }

  /// Whether no document was changed after a sequence number.
  ///
  /// After an unclean shutdown, the last number used can be lower than the last number reserved.
  private func isNewest(through sequence: UInt64) throws(DatabaseError) -> Bool {
    var scan = state.sequences.scan(from: .exclusive(sequence.bigEndianBytes))
    return try step(&scan) == nil
  }

  private func notHeld(_ what: String) throws(DatabaseError) -> DatabaseError {
    let first = try firstMoment { $0.moment.commit > state.historyHorizon }
    let start = first?.previous ?? state.lastSequence
    return DatabaseError(
      .historyNotHeld, "\(what) is not kept as a whole",
      hint: "History reaches back to sequence number \(start); keep more of it with "
        + "`Configuration.history`, or give versions names", path: store.path)
  }
}

extension ReadView {
  /// Returns the first moment at or above a sequence number.
  func firstMoment(from sequence: UInt64) throws(DatabaseError) -> CommitPointRecord? {
    var scan = state.catalog.scan(
      from: .inclusive(CatalogKey.moment(sequence)), to: .inclusive(CatalogKey.moment(.max)))
    guard let item = try step(&scan) else { return nil }
    return try decodeMoment(at: try decodeLocator(item))
  }

  /// Returns the first commit that used this sequence number or a higher one.
  func commit(of sequence: UInt64) throws(DatabaseError) -> UInt64 {
    guard sequence < .max, let moment = try firstMoment(from: sequence) else { return state.commit }
    return moment.moment.commit
  }

  func lastMoment() throws(DatabaseError) -> CommitPointRecord? {
    var scan = state.catalog.scan(
      from: .inclusive(CatalogKey.moment(0)), to: .inclusive(CatalogKey.moment(.max)),
      descending: true)
    guard let item = try step(&scan) else { return nil }
    return try decodeMoment(at: try decodeLocator(item))
  }

  /// Returns the first moment for which `isLater` is true.
  ///
  /// The predicate must be monotonic: true for every moment after one for which it is true.
  func firstMoment(
    where isLater: (CommitPointRecord) -> Bool
  ) throws(DatabaseError) -> CommitPointRecord? {
    var found: CommitPointRecord?
    // No moment below `low` is later, and the first at or above `high` is `found`.
    var (low, high) = (0 as UInt64, state.lastSequence + 1)
    while low < high {
      let middle = low + (high - low) / 2
      guard let moment = try firstMoment(from: middle), moment.moment.sequence < high else {
        high = middle
        continue
      }
      if isLater(moment) {
        found = moment
        high = middle
      } else {
        low = moment.moment.sequence + 1
      }
    }
    return found
  }

  func decodeMoment(at locator: RecordLocator) throws(DatabaseError) -> CommitPointRecord {
    let payload = try payload(of: .moment, at: locator)
    do throws(ByteError) {
      return try CommitPointRecord.decode(payload)
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// Returns the version before a moment.
  ///
  /// If that version's own moment is not known, it gets the time of `next`, which is later.
  private func moment(before next: CommitPointRecord) throws(DatabaseError) -> CommitPoint {
    var moment = next.moment
    if let locator = try locator(in: \.catalog, CatalogKey.moment(next.previous)) {
      moment = try decodeMoment(at: locator).moment
    }
    moment.sequence = next.previous
    // Commits between the two changed no document.
    moment.commit = next.moment.commit - min(1, next.moment.commit)
    return moment
  }
}

/// A version that is kept under a name.
struct NamedCommitPoint: Equatable, Sendable {
  var name: SharedBytes
  var moment: CommitPoint
}

extension ReadView {
  /// Returns all named snapshots, in the order of their names' bytes.
  func namedCommitPoints() throws(DatabaseError) -> [NamedCommitPoint] {
    let prefix = [CatalogKey.Kind.named.rawValue]
    var scan = state.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var all: [NamedCommitPoint] = []
    while let item = try step(&scan) {
      if let named = try namedMoment(at: try decodeLocator(item)) { all.append(named) }
    }
    return all
  }

  func namedMoment(
    at locator: RecordLocator
  ) throws(DatabaseError) -> NamedCommitPoint? {
    let payload = try payload(of: .named, at: locator)
    do throws(ByteError) {
      let record = try SnapshotNameRecord.decode(payload)
      return record.moment.map { NamedCommitPoint(name: record.name, moment: $0) }
    } catch {
      throw damage(at: locator, error.reason)
    }
  }
}

extension ReadView {
  /// The sequence number of this version's last change, according to its moment if it has one.
  var lastChange: UInt64 {
    get throws(DatabaseError) {
      let own = try locator(in: \.catalog, CatalogKey.moment(state.lastSequence))
      if own != nil || state.lastSequence == 0 { return state.lastSequence }
      // After an unclean shutdown, numbers were skipped; or history was not kept for some time.
      if let last = try lastMoment(), try isNewest(through: last.moment.sequence) {
        return last.moment.sequence
      }
      return state.lastSequence
    }
  }
}
