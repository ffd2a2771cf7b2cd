import DivanLog

extension LeafRepair {
  /// The entries of indexes that belong in a leaf of the run at a place, where `written` is what the log says of the
  /// commit as of which the run was written.
  ///
  /// A merge drops documents that were superseded when it began; if the new revision has the same value, no layer above
  /// the run says anything of the entry, so that it must be here. Therefore these are the entries as of the first commit
  /// since which the log lacks nothing. No version that looks here is older, since it has seen the merge. What has
  /// changed between the run and that commit is said above, and left out here, for the leaf would not fit a
  /// page: a document that was written before the run was there as it is; of another, it is asked what is said above.
  func indexEntries(
    of run: Run, above index: Int, _ coverage: Run.Coverage, _ written: StoreState
  ) throws(DatabaseError) -> Entries {
    let judged = segments.compactMap { $0.header.merge?.judgedAt }.max() ?? 0
    var whole = written
    if judged > run.commit { whole = try replay(through: judged) }
    // All of it is in memory, but for the documents, and of these what is damaged is passed over.
    try reading { () throws(PageError) in try whole.makeIndexes() }
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
      let isHere = try wasThere ? true : !isSaid(key, above: index)
      if isHere { found[key] = item.value }
    }
    return found
  }

  /// Whether a layer above a run says anything of a key.
  ///
  /// A page that is damaged, too, counts as silent: to rebuild it first would need this one.
  private func isSaid(_ key: [UInt8], above index: Int) throws(DatabaseError) -> Bool {
    do throws(PageError) {
      return try state.catalog.knows(key.span, above: index)
    } catch {
      guard case .unreadable = error else { return false }
      throw Self.cannotHelp(error, path)
    }
  }

  private func reading<R>(_ body: () throws(PageError) -> R) throws(DatabaseError) -> R {
    do throws(PageError) {
      return try body()
    } catch {
      throw Self.cannotHelp(error, path)
    }
  }
}

extension StoreState {
  /// The sequence number of the document that an entry of an index is of.
  fileprivate func sequence(ofIndexed item: IndexEntry) -> UInt64? {
    guard let id = IndexEntries.read(item)?.id,
      let value = id.withSpan({ (key) in try? documents.find(key) }),
      let entry = try? DocumentEntry.decode(value)
    else { return nil }
    return entry.sequence
  }
}
