import DivanLog

extension LeafRepair {
  /// Returns the index entries that belong in a leaf of a run.
  ///
  /// `written` is the state of the log as of the run's commit.
  ///
  /// A compaction drops documents that were superseded when it began. If the new revision has the
  /// same value, no layer above the run contains the entry, so it must be here. Therefore these are
  /// the entries as of the first commit since which the log is complete. No version that reads this
  /// leaf is older, since it includes the compaction.
  ///
  /// Changes between the run and that commit are in layers above. They are left out here, because
  /// the leaf would not fit a page. A document that was written before the run was there unchanged;
  /// for another one, the layers above are searched.
  func indexEntries(
    of run: Run, above index: Int, _ coverage: Run.Coverage, _ written: Version
  ) throws(DatabaseError) -> Entries {
    let evaluatedAt = segments.compactMap { $0.header.compaction?.evaluatedAt }.max() ?? 0
    var whole = written
    if evaluatedAt > run.commit { whole = try replay(through: evaluatedAt) }
    // Everything is in memory except the documents, and damaged documents are skipped.
    try reading { () throws(PageError) in try whole.fillIndexesThatFollowFromDocuments() }
    let ready = Set(written.indexes.filter(\.isReady).map(\.number))
    let prefix = [CatalogKey.Kind.indexEntry.rawValue]
    var scan = whole.catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
    var found: Entries = [:]
    while let item = try reading({ () throws(PageError) in try scan.next() }) {
      let key = item.key.array
      guard coverage.contains(key), let number = IndexEntries.number(of: item.key) else { continue }
      let sequence = whole.sequence(ofIndexed: item)
      let wasThere =
        ready.contains(number) && sequence != nil && written.sequence(ofIndexed: item) == sequence
      let isHere = try wasThere ? true : !isContained(key, above: index)
      if isHere { found[key] = item.value }
    }
    return found
  }

  /// Whether a layer above a run contains a key, even as a tombstone.
  ///
  /// A damaged page counts as not containing it: rebuilding that page first would need this one.
  private func isContained(_ key: [UInt8], above index: Int) throws(DatabaseError) -> Bool {
    do throws(PageError) {
      return try state.catalog.knows(key.span, above: index)
    } catch {
      guard case .unreadable = error else { return false }
      throw Self.unrepairable(error, path)
    }
  }

  func reading<R>(_ body: () throws(PageError) -> R) throws(DatabaseError) -> R {
    do throws(PageError) {
      return try body()
    } catch {
      throw Self.unrepairable(error, path)
    }
  }
}
