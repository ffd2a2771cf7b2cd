import DivanLog

extension Store {
  /// Rebuilds from the log a leaf of the index that proved bad when it was touched.
  ///
  /// Returns if reading can be tried again; throws if it cannot be helped.
  func repairIndex(_ error: PageError, in state: StoreState) throws(DatabaseError) {
    let number: UInt32
    switch error {
    case .damaged(let page, _): number = page
    case .unreadable(_, let error): throw DatabaseError(error)
    }
    // An error does not say whose page it is: that number may be bad in several runs.
    let view = StoreView(state: state, store: self)
    var isRebuilt = false
    for tree in StoreState.trees where try LeafRepair(view, tree).rebuild(number) {
      isRebuilt = true
    }
    guard isRebuilt else { throw LeafRepair.cannotHelp(error, path) }
  }
}

/// Rebuilds leaves of one tree of the index, as one version of the store knows them.
///
/// A rebuilt leaf says what the run said, as of the run's commit: which record each key had last. Two
/// things are missing in the log since segments were merged, and neither matters to this version or a
/// later one: records that were superseded after the run's commit, which newer layers hide, and the
/// keys that the run took away from the runs below it. These get a tombstone again because they stand
/// below and have no record.
///
/// It takes a walk over the whole log, and memory for as many entries as the keys between the leaf's
/// neighbours have; in the trees of older records and of the catalog, which are mostly small, for as
/// many as there are in the store.
struct LeafRepair {
  let view: StoreView
  private let tree: KeyPath<StoreState, LayeredTree>

  init(_ view: StoreView, _ tree: KeyPath<StoreState, LayeredTree>) {
    self.view = view
    self.tree = tree
  }

  var state: StoreState { view.state }
  var path: String { view.store.path }

  /// What to tell of a page that cannot be rebuilt, or that the system does not read just now.
  static func cannotHelp(_ error: PageError, _ path: String) -> DatabaseError {
    if case .unreadable(_, let error) = error { return DatabaseError(error) }
    return DatabaseError(
      .damaged, "a page of the index is damaged: \(error)",
      hint:
        "No document is lost: close the store, remove its checkpoints, and open it again, which "
        + "rebuilds the index", path: path)
  }

  typealias Entries = [[UInt8]: SharedBytes]
}

extension LeafRepair {
  /// Rebuilds the page in each run that has a bad leaf of this number; returns whether there was one.
  func rebuild(_ number: UInt32) throws(DatabaseError) -> Bool {
    try rebuild(number, inRunsFrom: 0)
  }

  private var runs: [Run] { state[keyPath: tree].runs }

  /// The oldest run comes first, because the others need it.
  private func rebuild(_ number: UInt32, inRunsFrom first: Int) throws(DatabaseError) -> Bool {
    var isRebuilt = false
    for index in runs.indices.reversed() where index >= first {
      guard let coverage = badLeaf(number, of: runs[index]) else { continue }
      let entries = try entries(of: runs[index], coverage, below: index + 1)
      guard runs[index].install(entries, for: number, mergeCount: state.mergeCount) else {
        throw Self.cannotHelp(.damaged(page: number, reason: "it cannot be rebuilt"), path)
      }
      isRebuilt = true
    }
    return isRebuilt
  }

  /// What a page of a run covers, if it is a leaf that cannot be read.
  private func badLeaf(_ number: UInt32, of run: Run) -> Run.Coverage? {
    guard let coverage = try? run.coverage(ofPage: number), coverage.level == 0,
      !run.isSound(number, level: 0, mergeCount: state.mergeCount)
    else { return nil }
    return coverage
  }

  /// What a leaf held.
  private func entries(
    of run: Run, _ coverage: Run.Coverage, below: Int
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    var found: Entries
    switch tree {
    case \.documents: found = try lastDocuments(through: run.commit, coverage)
    case \.sequences: found = try lastSequences(through: run.commit, coverage)
    default:
      let written = try replay(through: run.commit)
      found = entries(of: written, coverage)
      if tree == \.catalog, !state.indexes.isEmpty {
        for (key, value) in try indexEntries(of: run, above: below - 1, coverage, written) {
          found[key] = value
        }
      }
    }
    var lower = LayeredTree(runs: Array(runs[below...]))
    lower.mergeCount = state.mergeCount
    var scan = lower.scan(
      from: coverage.lower.map { .inclusive($0) } ?? .unbounded,
      to: coverage.upper.map { .exclusive($0) } ?? .unbounded)
    while let item = try next(&scan, below) {
      let key = item.key.array
      if let value = found[key] {
        // The run below says it, too; that it does is what keeps the leaf small enough for a page.
        if try says(item.value, value) { found[key] = nil }
      } else {
        found[key] = .empty
      }
    }
    return found.map { (key: $0.key, value: $0.value.array) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private func next(
    _ scan: inout LayeredScan, _ below: Int
  ) throws(DatabaseError) -> IndexEntry? {
    while true {
      do throws(PageError) {
        return try scan.next()
      } catch {
        switch error {
        case .unreadable(_, let error): throw DatabaseError(error)
        case .damaged(let number, _):
          guard try rebuild(number, inRunsFrom: below) else {
            throw Self.cannotHelp(error, path)
          }
        }
      }
    }
  }

  /// Whether an entry of a run below leads to the same record as the one that was found.
  private func says(_ value: SharedBytes, _ found: SharedBytes) throws(DatabaseError) -> Bool {
    let (old, new): (RecordLocator, RecordLocator)
    switch tree {
    case \.catalog: return value == found
    case \.documents:
      (old, new) = (try view.decodeEntry(value).locator, try view.decodeEntry(found).locator)
    default: (old, new) = (try view.decodeLocator(value), try view.decodeLocator(found))
    }
    // Of the same revision there may be several records: a changed expiry makes a new one.
    guard state.segments[old.fileID] != nil, old.size == new.size else { return false }
    // While a merge is brought in, the same record stands in two files.
    return try old == new
      ? true : view.payload(of: .document, at: old) == view.payload(of: .document, at: new)
  }
}

extension Segment {
  /// Whether a segment is the merger of this one, perhaps with others.
  fileprivate func isInput(of output: Segment) -> Bool {
    let (own, others) = (header.numbers, output.header.numbers)
    guard fileID != output.fileID, others.contains(own.lowerBound), others.contains(own.upperBound)
    else { return false }
    return own != others || header.generation < output.header.generation
  }
}

// MARK: What the log says

extension LeafRepair {
  /// The entries of the documents' tree that belong in a leaf: of each document, the last record.
  private func lastDocuments(
    through commit: UInt64, _ coverage: Run.Coverage
  ) throws(DatabaseError) -> Entries {
    var found: Entries = [:]
    try forEachChange(through: commit) { (id, record, locator) in
      guard coverage.contains(id) else { return }
      guard let record else {
        found[id] = nil
        return
      }
      var bytes = ByteWriter(capacity: 128)
      DocumentEntry(record, at: locator).encode(to: &bytes)
      found[id] = bytes.sharedCopy
    }
    return found
  }

  /// The entries of the sequences' tree that belong in a leaf: those that no later record of the same
  /// document has superseded.
  private func lastSequences(
    through commit: UInt64, _ coverage: Run.Coverage
  ) throws(DatabaseError) -> Entries {
    var keys: [[UInt8]: [UInt8]] = [:]
    var found: Entries = [:]
    try forEachChange(through: commit) { (id, record, locator) in
      let key = record?.sequence.bigEndianBytes
      if let older = keys.removeValue(forKey: id) { found[older] = nil }
      guard let key, coverage.contains(key) else { return }
      keys[id] = key
      var bytes = ByteWriter(capacity: 64)
      locator.encode(to: &bytes)
      found[key] = bytes.sharedCopy
    }
    return found
  }

  /// The version to which reading the log anew leads, up to a commit, but for indexes.
  func replay(through commit: UInt64) throws(DatabaseError) -> StoreState {
    let nodeSize = view.store.configuration.nodeSize
    var replay = Replay(onto: StoreState(nodeSize: nodeSize), isFromNothing: true)
    for segment in segments {
      try translating { () throws(LogError) in
        _ = try replay.run(segment, from: nil, through: commit)
      }
    }
    if let damage = replay.damage.first { throw DatabaseError(damage) }
    return replay.state
  }

  /// The entries of a version that belong in a leaf of another tree.
  private func entries(of written: StoreState, _ coverage: Run.Coverage) -> Entries {
    var found: Entries = [:]
    var scan = written[keyPath: tree].scan()
    // All of it is in memory, so nothing can fail.
    while let item = try? scan.next() {
      if coverage.contains(item.key.array) { found[item.key.array] = item.value }
    }
    return found
  }

  /// The segments in the order of the log; of a merge that is just being brought in, the inputs.
  var segments: [Segment] {
    let all = state.segments.segments
    return all.filter { output in !all.contains { $0.isInput(of: output) } }
      .sorted { $0.header.numbers.lowerBound < $1.header.numbers.lowerBound }
  }

  /// Calls `body` with what happened to documents up to a commit, oldest first: a record, or nil for one
  /// that was purged.
  private func forEachChange(
    through commit: UInt64, _ body: (_ id: [UInt8], DocumentRecord?, RecordLocator) -> Void
  ) throws(DatabaseError) {
    for segment in segments {
      var scan = RecordScan(segment)
      reading: while true {
        let item: RecordScan.Item
        do throws(LogError) { item = try scan.next() } catch { throw DatabaseError(error) }
        switch item {
        case .record(let item):
          guard item.commit <= commit else { continue }
          let payload = item.record.payload
          if item.record.kind == .document, let record = try? DocumentRecord.decode(payload) {
            body(record.idBytes.array, record, item.locator)
          } else if item.record.kind == .purge, let purge = try? PurgeRecord.decode(payload),
            purge.sequence == nil
          {
            body(purge.idBytes.array, nil, item.locator)
          }
        case .commit: continue
        case .damage(let damage): throw DatabaseError(damage)
        case .end: break reading
        }
      }
    }
  }
}
