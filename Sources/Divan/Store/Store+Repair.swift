import DivanLog

extension Store {
  /// Rebuilds from the log a page of the index that proved bad when it was touched.
  ///
  /// Returns if reading can be tried again; throws if it cannot be helped.
  func repairIndex(_ error: PageError, in state: StoreState) throws(DatabaseError) {
    let number: UInt32
    switch error {
    case .damaged(let page, _): number = page
    case .unreadable(_, let reason):
      throw DatabaseError(.inputOutput, "a page of the index cannot be read: \(reason)", path: path)
    }
    var isRepaired = false
    for run in state.documents.runs {
      guard let leaf = badLeaf(number, of: run, state.version) else { continue }
      let entries = try documentEntries(of: leaf, at: run.commit, in: state)
      guard run.install(entries, for: number, version: state.version) else {
        throw unrepairable(error)
      }
      isRepaired = true
    }
    for (index, run) in state.sequences.runs.enumerated() {
      guard let leaf = badLeaf(number, of: run, state.version) else { continue }
      let entries = try sequenceEntries(
        of: leaf, above: Array(state.sequences.runs[(index + 1)...]), in: state)
      guard run.install(entries, for: number, version: state.version) else {
        throw unrepairable(error)
      }
      isRepaired = true
    }
    guard isRepaired else { throw unrepairable(error) }
  }

  private func unrepairable(_ error: PageError) -> DatabaseError {
    DatabaseError(
      .damaged, "a page of the index is damaged: \(error)",
      hint:
        "No document is lost: close the store, remove its checkpoints, and open it again, which "
        + "rebuilds the index", path: path)
  }

  /// What belongs in a leaf of a run that cannot be read; nil if the page is no such leaf.
  private func badLeaf(_ number: UInt32, of run: Run, _ version: UInt64) -> Run.Coverage? {
    guard let coverage = try? run.coverage(ofPage: number), coverage.level == 0,
      !run.isSoundLeaf(number, version: version)
    else { return nil }
    return coverage
  }

  /// What a leaf of the documents' tree held: the last record, at the run's commit, of each key that
  /// belongs in it.
  private func documentEntries(
    of leaf: Run.Coverage, at commit: UInt64, in state: StoreState
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    var found: [[UInt8]: (sequence: UInt64, value: [UInt8])] = [:]
    for segment in state.segments.segments {
      var scan = RecordScan(segment)
      reading: while true {
        let item: RecordScan.Item
        do throws(LogError) { item = try scan.next() } catch { throw DatabaseError(error) }
        switch item {
        case .record(let item):
          guard item.record.kind == .document, item.commit <= commit,
            let record = try? DocumentRecord.decode(item.record.payload)
          else { continue }
          let key = record.idBytes.array
          guard leaf.contains(key), found[key]?.sequence ?? 0 < record.sequence else { continue }
          let entry = DocumentEntry(
            revision: record.revision, isDeleted: record.isDeleted, sequence: record.sequence,
            locator: item.locator)
          var bytes = ByteWriter(capacity: 128)
          entry.encode(to: &bytes)
          found[key] = (record.sequence, bytes.array)
        case .commit: continue
        case .damage(let damage): throw DatabaseError(damage)
        case .end: break reading
        }
      }
    }
    return found.map { (key: $0.key, value: $0.value.value) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  /// What a leaf of the sequences' tree held, as far as it still counts: what the documents' tree
  /// has of it, and that all other numbers are gone that the runs below hold.
  ///
  /// A number that was superseded since is hidden by the layers above, or not asked for.
  private func sequenceEntries(
    of leaf: Run.Coverage, above lowerRuns: [Run], in state: StoreState
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    let view = StoreView(state: state, store: self)
    var scan = state.documents.scan()
    var found: [[UInt8]: [UInt8]] = [:]
    while let item = try view.step(&scan) {
      let entry = try view.decodeEntry(item.value)
      let key = entry.sequence.withBigEndianBytes { key in key.indices.map { key[$0] } }
      guard leaf.contains(key) else { continue }
      var bytes = ByteWriter(capacity: 64)
      entry.locator.encode(to: &bytes)
      found[key] = bytes.array
    }
    var below = LayeredTree(runs: lowerRuns)
    below.version = state.version
    scan = below.scan(from: leaf.lower.map { .inclusive($0) } ?? .unbounded)
    while let item = try view.step(&scan), leaf.contains(item.key.array) {
      if found[item.key.array] == nil { found[item.key.array] = [] }
    }
    return found.map { (key: $0.key, value: $0.value) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }
}
