import DivanLog

extension Store {
  /// Rebuilds from the log a page of the index that proved bad when it was touched.
  ///
  /// Returns if reading can be tried again; throws if it cannot be helped.
  func repairIndex(_ error: PageError, in state: StoreState) throws(DatabaseError) {
    let number: UInt32
    switch error {
    case .damaged(let page, _): number = page
    case .unreadable(_, let error): throw DatabaseError(error)
    case .entryTooLong:
      throw DatabaseError(.damaged, "an entry of the index is too long", path: path)
    }
    var isRepaired = false
    for run in state.documents.runs where try isBadLeaf(number, of: run) {
      guard run.install(try documentEntries(number, of: run, in: state), for: number) else {
        throw unrepairable(error)
      }
      isRepaired = true
    }
    for run in state.sequences.runs where try isBadLeaf(number, of: run) {
      guard run.install(try sequenceEntries(number, of: run, in: state), for: number) else {
        throw unrepairable(error)
      }
      isRepaired = true
    }
    guard isRepaired else { throw unrepairable(error) }
  }

  private func unrepairable(_ error: PageError) -> DatabaseError {
    DatabaseError(
      .damaged, "a page of the index is damaged: \(error)",
      hint: "No document is lost: close and reopen the store, which rebuilds the index", path: path)
  }

  private func isBadLeaf(_ number: UInt32, of run: Run) throws(DatabaseError) -> Bool {
    guard let coverage = try? run.coverage(ofPage: number), coverage.level == 0 else {
      return false
    }
    return !run.isSound(number, level: 0)
  }

  /// What a leaf of the documents' tree held: the last record, at the run's commit, of each key that
  /// belongs in it.
  private func documentEntries(
    _ number: UInt32, of run: Run, in state: StoreState
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    let coverage = try bounds(number, of: run)
    var found: [[UInt8]: (sequence: UInt64, value: [UInt8])] = [:]
    for segment in state.segments.segments {
      var scan = RecordScan(segment)
      reading: while true {
        let item: RecordScan.Item
        do throws(LogError) { item = try scan.next() } catch { throw DatabaseError(error) }
        switch item {
        case .record(let item):
          guard item.record.kind == .document, item.commit <= run.commit,
            let record = try? DocumentRecord.decode(item.record.payload)
          else { continue }
          let key = record.idBytes.array
          guard coverage.contains(key), found[key]?.sequence ?? 0 < record.sequence else {
            continue
          }
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
  /// has of it.
  ///
  /// A number that was superseded since is hidden by the layers above, or not asked for.
  private func sequenceEntries(
    _ number: UInt32, of run: Run, in state: StoreState
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    let coverage = try bounds(number, of: run)
    let view = StoreView(state: state, store: self)
    var scan: LayeredScan? = state.documents.scan()
    var found: [(key: [UInt8], value: [UInt8])] = []
    while let item = try view.step(&scan) {
      let entry = try view.decodeEntry(item.value)
      let key = entry.sequence.withBigEndianBytes { key in key.indices.map { key[$0] } }
      guard coverage.contains(key) else { continue }
      var bytes = ByteWriter(capacity: 64)
      entry.locator.encode(to: &bytes)
      found.append((key, bytes.array))
    }
    return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private func bounds(_ number: UInt32, of run: Run) throws(DatabaseError) -> Run.Coverage {
    do throws(PageError) {
      if let coverage = try run.coverage(ofPage: number) { return coverage }
    } catch {
      throw unrepairable(error)
    }
    throw unrepairable(.damaged(page: number, reason: "it belongs nowhere"))
  }
}

extension Run.Coverage {
  func contains(_ key: [UInt8]) -> Bool {
    let isAbove =
      switch lower {
      case .unbounded: true
      case .inclusive(let bound): !key.lexicographicallyPrecedes(bound)
      case .exclusive(let bound): bound.lexicographicallyPrecedes(key)
      }
    let isBelow =
      switch upper {
      case .unbounded: true
      case .inclusive(let bound): !bound.lexicographicallyPrecedes(key)
      case .exclusive(let bound): key.lexicographicallyPrecedes(bound)
      }
    return isAbove && isBelow
  }
}
