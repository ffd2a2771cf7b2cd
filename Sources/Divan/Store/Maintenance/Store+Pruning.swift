import DivanLog
import Synchronization

extension Store {
  /// Removes history that is no longer needed from the index, so that compactions reclaim its
  /// space.
  ///
  /// Records without attachments are dropped without logging: after a crash they are there again,
  /// and are dropped again. Records with attachments are purged in the log. Otherwise a crash could
  /// bring them back after the content of their attachments is gone.
  ///
  /// The horizon is raised above versions before they may become incomplete. Compactions,
  /// checkpoints and those purges record it. RECOVERY.md, rule 7.
  func pruneHistory() throws(DatabaseError) {
    guard configuration.history.isOn || maintenance.takePruningDue() else { return }
    do throws(DatabaseError) {
      // Repeats if a version was named concurrently that was not taken into account.
      while !maintenance.isStopped {
        let view = try withWriter { (writer) in writer.view(of: self) }
        var pruning = try HistoryPruning(view, self)
        if try pruning.run() { break }
      }
      try pruneCommitPoints()
    } catch {
      maintenance.notePruningDue()
      throw error
    }
  }

  /// Drops retained records; returns false if the set of named versions has changed.
  fileprivate func release(
    _ obsolete: [HistoryPruning.ObsoleteRecord], raisingHorizonTo horizon: UInt64,
    named: [NamedCommitPoint]
  ) throws(DatabaseError) -> Bool {
    try withWriter { (writer) throws(DatabaseError) in
      guard commits.failure == nil else { return true }
      guard try writer.view(of: self).namedCommitPoints() == named else { return false }
      try purge(obsolete.filter(\.hasAttachments), raisingHorizonTo: horizon, &writer)
      try writer.rebuildNewest(of: self) { (version) throws(PageError) in
        version.historyHorizon = max(version.historyHorizon, horizon)
        for record in obsolete { try version.release(record.sequence, of: record.id) }
      }
      return true
    }
  }

  /// Purges records in the log, so that they do not come back.
  private func purge(
    _ obsolete: [HistoryPruning.ObsoleteRecord], raisingHorizonTo horizon: UInt64,
    _ writer: inout WriterState
  ) throws(DatabaseError) {
    var rest = ArraySlice(obsolete)
    while !rest.isEmpty {
      do {
        _ = try run(&writer, durability: .none) { transaction in
          // At least one record, and no more than fit in a transaction.
          while let record = rest.first,
            transaction.isEmpty || transaction.hasRoomForPurge
          {
            try transaction.append(
              PurgeRecord(idBytes: record.id, sequence: record.sequence, historyHorizon: horizon),
              record.id.text)
            rest = rest.dropFirst()
          }
        }
      } catch let error as DatabaseError {
        throw error
      } catch {
        throw DatabaseError(.inputOutput, "history could not be released: \(error)", path: path)
      }
    }
  }

  /// Removes the commit points of versions that are no longer complete.
  private func pruneCommitPoints() throws(DatabaseError) {
    let view = try withWriter { (writer) in writer.view(of: self) }
    var scan = view.state.catalog.scan(
      from: .inclusive(CatalogKey.commitPoint(0)), to: .inclusive(CatalogKey.commitPoint(.max)))
    var keys: [[UInt8]] = []
    while let item = try view.step(&scan) {
      let record = try view.decodeCommitPoint(at: try view.decodeLocator(item))
      guard record.commitPoint.commit < view.state.historyHorizon else { break }
      keys.append(item.key.array)
    }
    var rest = ArraySlice(keys)
    while !rest.isEmpty {
      let batch = rest.prefix(HistoryPruning.batchSize)
      rest = rest.dropFirst(batch.count)
      try withWriter { (writer) throws(DatabaseError) in
        guard commits.failure == nil else { return }
        try writer.rebuildNewest(of: self) { (version) throws(PageError) in
          for key in batch {
            let locator = try version.catalog.find(key.span).flatMap { RecordLocator(indexed: $0) }
            if let locator { version.segments.noteDead(locator) }
            version.catalog.remove(key.span)
          }
        }
      }
    }
  }
}

/// Finds the records that no leaf, no named version and no limit of the kept history needs.
private struct HistoryPruning {
  /// A record to drop.
  struct ObsoleteRecord {
    let id: SharedBytes
    let sequence: UInt64
    let hasAttachments: Bool
  }

  private let view: ReadView
  private let store: Store
  private let retention: HistoryRetention
  private let named: [NamedCommitPoint]
  private let namedSequences: [UInt64]
  /// Whether there are attachments at all; if not, no record is read to look for them.
  private let mayHaveAttachments: Bool
  /// For each document, the records that versions from this sequence number on need are retained.
  private var start: UInt64 = 0
  /// The first commit from which on all versions remain complete.
  private var startCommit: UInt64 = 0
  private var obsolete: [ObsoleteRecord] = []
  private var horizon: UInt64 = 0

  /// The number of records dropped before waiting writers get the writer lock.
  static let batchSize = 2000

  init(_ view: ReadView, _ store: Store) throws(DatabaseError) {
    self.view = view
    self.store = store
    retention = view.environment.configuration.history
    named = try view.namedCommitPoints()
    namedSequences = named.map(\.commitPoint.sequence)
    mayHaveAttachments = try view.hasReferences()
  }
}

extension HistoryPruning {
  /// Runs the pruning; returns false if it must be restarted.
  mutating func run() throws(DatabaseError) -> Bool {
    try chooseStart()
    var isCurrent = true
    let view = view
    try view.forEachRetained { (retained) throws(DatabaseError) in
      try examine(retained)
      if obsolete.count >= HistoryPruning.batchSize { isCurrent = try flush() }
      return isCurrent && !store.maintenance.isStopped
    }
    guard isCurrent else { return false }
    return try flush()
  }

  private mutating func flush() throws(DatabaseError) -> Bool {
    guard !obsolete.isEmpty || horizon > 0 else { return true }
    defer {
      obsolete = []
      horizon = 0
    }
    return try store.release(obsolete, raisingHorizonTo: horizon, named: named)
  }

  // MARK: Limits for all documents

  private mutating func chooseStart() throws(DatabaseError) {
    guard retention.isOn else {
      start = .max
      startCommit = view.state.commit
      return
    }
    if let age = retention.ageLimit { start = try firstSequence(within: age) }
    if let bytes = retention.bytes { start = max(start, try firstSequence(within: bytes)) }
    startCommit = start == 0 ? 0 : try view.commit(of: start)
    // Commit points before that are dropped, even if no record is.
    horizon = startCommit
  }

  /// Returns the sequence number of the version that was the newest `age` milliseconds ago.
  private func firstSequence(within age: UInt64) throws(DatabaseError) -> UInt64 {
    let now = view.environment.configuration.now()
    guard now >= age else { return 0 }
    let next = try view.firstCommitPoint { $0.commitPoint.time > now - age }
    if let next { return next.previous }
    if view.state.time <= now - age { return view.state.lastSequence }
    return try view.lastCommitPoint()?.commitPoint.sequence ?? 0
  }

  /// Returns a sequence number from which on the history takes at most `limit` bytes.
  private func firstSequence(within limit: Int) throws(DatabaseError) -> UInt64 {
    var sizes = [UInt64](repeating: 0, count: 1024)
    var ends = [UInt64](repeating: 0, count: 1024)
    let width = view.state.lastSequence / 1024 + 1
    try view.forEachRetained { (retained) throws(DatabaseError) in
      let needed = try retained.needed(byVersions: namedSequences, in: view)
      let recordSizes = try retained.sizes(
        besides: needed, in: view, hasAttachments: mayHaveAttachments)
      for (index, record) in retained.records.enumerated() where !needed.contains(record.sequence) {
        let end = retained.successor(of: index)
        let bucket = min(Int(end / width), 1023)
        sizes[bucket].add(recordSizes[index])
        ends[bucket] = max(ends[bucket], end)
      }
      return !store.maintenance.isStopped
    }
    var sum: UInt64 = 0
    for bucket in sizes.indices.reversed() {
      sum.add(sizes[bucket])
      if sum > UInt64(max(0, limit)) { return ends[bucket] }
    }
    return 0
  }

  // MARK: One document

  private mutating func examine(_ retained: RetainedRevisions) throws(DatabaseError) {
    do throws(DatabaseError) {
      try findObsolete(retained)
    } catch {
      // Records next to damage are left unchanged.
      guard error.code == .damaged else { throw error }
    }
  }

  private mutating func findObsolete(_ retained: RetainedRevisions) throws(DatabaseError) {
    let pins = Set(namedSequences.compactMap { retained.version(at: $0) })
    // Most documents end here, without reading a record.
    let others = retained.records.filter { !pins.contains($0.sequence) }
    let isEarly = retained.version(at: start).map { first in
      others.contains { $0.sequence < first }
    }
    let limit = retention.isOn ? retention.revisions.map { max(0, $0) } : nil
    guard isEarly == true || limit.map({ others.count > $0 }) == true else { return }

    let needed = try retained.needed(byVersions: namedSequences, in: view)
    let unneeded = retained.records.map(\.sequence).filter { !needed.contains($0) }
    var first = retained.version(at: start) ?? 0
    if let limit, unneeded.count > limit {
      let firstKept = unneeded.count - limit
      first = max(first, limit == 0 ? retained.newest.sequence : unneeded[firstKept])
    }
    var gone = Set(try free(unneeded, before: first, retained))
    // In a conflict, a revision that was a leaf then can keep the limit from being reached.
    while let limit, unneeded.count - gone.count > limit,
      let next = retained.records.first(where: { $0.sequence > first })
    {
      first = next.sequence
      gone = Set(try free(unneeded, before: first, retained))
    }
    guard !gone.isEmpty else { return }
    let isEarlier = first <= start
    horizon = max(horizon, isEarlier ? startCommit : try view.commit(of: first))
    for record in retained.records where gone.contains(record.sequence) {
      obsolete.append(
        ObsoleteRecord(
          id: retained.id, sequence: record.sequence, hasAttachments: try hasAttachments(record)))
    }
  }

  private func hasAttachments(_ record: RetainedRevisions.Entry) throws(DatabaseError) -> Bool {
    guard mayHaveAttachments else { return false }
    return try view.record(at: record.locator).details?.attachments.isEmpty == false
  }

  /// Returns the records that no version from `first` on needs.
  private func free(
    _ records: [UInt64], before first: UInt64, _ retained: RetainedRevisions
  ) throws(DatabaseError) -> [UInt64] {
    guard let oldest = records.first, oldest < first else { return [] }
    let leaves = Set(try retained.leaves(of: first, in: view))
    return records.filter { $0 < first && !leaves.contains($0) }
  }
}
