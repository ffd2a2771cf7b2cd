import DivanLog

extension Store {
  /// Drops superseded revisions whose attachments are gone, in an index rebuilt from the log alone.
  ///
  /// If a compaction has dropped a record, the log no longer says whether the record before it was
  /// retained. It then counts as retained, which is harmless while it can be read. But its
  /// attachments may have been deleted when it was dropped, and that is not damage. So a record
  /// whose content is missing counts as dropped. Leaves, and records that named versions show, were
  /// never dropped: there, missing content is damage.
  ///
  /// No other thread may use the store yet. Nothing is logged: rebuilding the index from the log
  /// again has the same result. An error is reported as one of maintenance.
  func dropHistoryWithoutContent(_ writer: inout WriterState) {
    guard isRebuilt else { return }
    do throws(DatabaseError) {
      let view = writer.view(of: self)
      guard try view.hasReferences() else { return }
      let named = try view.namedCommitPoints().map(\.commitPoint.sequence)
      var gone: [(id: SharedBytes, sequence: UInt64)] = []
      var horizon = writer.newest.historyHorizon
      try view.forEachRetained { (retained) throws(DatabaseError) in
        let needed = try retained.needed(byVersions: named, in: view)
        for (index, record) in retained.records.enumerated()
        where !needed.contains(record.sequence) {
          guard try view.lacksContent(of: record) else { continue }
          gone.append((retained.id, record.sequence))
          horizon = max(horizon, try view.commit(of: retained.successor(of: index)))
        }
        return true
      }
      guard !gone.isEmpty else { return }
      try writer.rebuildNewest(of: self) { (version) throws(PageError) in
        version.historyHorizon = horizon
        for record in gone { try version.release(record.sequence, of: record.id) }
      }
    } catch {
      // A later pass tries again. Until then only space is lost.
      maintenance.note(error)
      noteMaintenance(error, after: nil)
    }
  }
}
