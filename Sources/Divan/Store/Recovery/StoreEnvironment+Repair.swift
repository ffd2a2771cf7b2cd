import DivanLog
import Synchronization

extension StoreEnvironment {
  /// Rebuilds a damaged page of the index: a leaf from the log, an inner page from the leaves.
  ///
  /// Returns if the read can be retried; throws if the page cannot be rebuilt. Then the next
  /// opening checks the inner pages, and replays the whole log if one of them cannot be rebuilt.
  func repairIndex(_ error: PageError, in state: Version) throws(DatabaseError) {
    do throws(DatabaseError) {
      if case .unreadable(_, let error) = error { throw DatabaseError(error) }
      guard case .damaged(let number, _, let run?) = error,
        let tree = Version.trees.first(where: { state[keyPath: $0].runs.contains(run) })
      else { throw note(LeafRepair.unrepairable(error, path)) }
      // Another reader may have rebuilt it meanwhile.
      if run.replacement(number, state.compactionCount) != nil { return }
      let start = ContinuousClock.now
      let repair = LeafRepair(ReadView(state: state, self), tree)
      guard try rebuildPage(number, of: run, repair) else {
        throw note(LeafRepair.unrepairable(error, path))
      }
      counters.noteRebuiltPage()
      events?.report(.pageRebuilt(start.duration(to: .now)))
    } catch {
      requestCheck()
      throw error
    }
  }

  /// Rebuilds a page; returns false if that is not possible.
  private func rebuildPage(
    _ number: UInt32, of run: Run, _ repair: LeafRepair
  ) throws(DatabaseError) -> Bool {
    let coverage = try repair.reading { () throws(PageError) in try run.coverage(ofPage: number) }
    guard let coverage else { return false }
    if coverage.level == 0 { return try repair.rebuild(number, coverage, of: run) }
    let isRebuilt = try repair.reading { () throws(PageError) in try run.rebuildInnerPages() }
    return isRebuilt && run.replacement(number, 0) != nil
  }
}

/// Rebuilds leaves of one tree of the index, as of one version of the store.
///
/// A rebuilt leaf has the run's entries as of the run's commit: the last record of each key. Since
/// segments were compacted, two things are missing in the log, and neither matters to this version
/// or a later one. Newer layers hide records that were superseded after the run's commit. Keys that
/// the run deleted from the runs below it get a tombstone again, because they are below and have no
/// record.
///
/// Costs a scan of the whole log, and memory for the entries between the leaf's neighbours. In the
/// trees of retained records and of the catalog, which are mostly small, it is memory for all
/// entries in the store.
struct LeafRepair {
  let view: ReadView
  private let tree: KeyPath<Version, LayeredTree>

  init(_ view: ReadView, _ tree: KeyPath<Version, LayeredTree>) {
    self.view = view
    self.tree = tree
  }

  var state: Version { view.state }
  var path: String { view.environment.path }

  /// The error for a page that cannot be rebuilt, or that the system currently cannot read.
  static func unrepairable(_ error: PageError, _ path: String) -> DatabaseError {
    if case .unreadable(_, let error) = error { return DatabaseError(error) }
    return DatabaseError(
      .damaged, "a page of the index is damaged: \(error)",
      hint:
        "No document is lost: close the store and open it again; if that does not help, remove its "
        + "checkpoints before, so that the index is rebuilt", path: path)
  }

  typealias Entries = [[UInt8]: SharedBytes]
}

extension LeafRepair {
  /// Rebuilds a leaf; returns false if the log does not have its entries, or they fit no page.
  func rebuild(
    _ number: UInt32, _ coverage: Run.Coverage, of run: Run
  ) throws(DatabaseError) -> Bool {
    guard isLogged, let index = runs.firstIndex(of: run) else { return false }
    let entries = try entries(of: run, coverage, below: index + 1)
    return run.install(entries, for: number, compactionCount: state.compactionCount)
  }

  /// Whether the entries of the tree's leaves follow from the log, and are looked for there.
  private var isLogged: Bool {
    !indexKinds.contains { $0.tree == tree && (!$0.followsFromDocuments || tree != \.catalog) }
  }

  private var runs: [Run] { state[keyPath: tree].runs }

  /// Returns the entries of a leaf, reconstructed from the log.
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
    lower.compactionCount = state.compactionCount
    var scan = lower.scan(
      from: coverage.lower.map { .inclusive($0) } ?? .unbounded,
      to: coverage.upper.map { .exclusive($0) } ?? .unbounded)
    // A damaged page of a run below is rebuilt first.
    while let item = try view.repairing({ (_) throws(PageError) in try scan.next() }) {
      let key = item.key.array
      if let value = found[key] {
        // The run below has the same entry. Leaving such entries out keeps the leaf small enough
        // for a page.
        if try leadToSameRecord(item.value, value) { found[key] = nil }
      } else {
        found[key] = .empty
      }
    }
    return found.map { (key: $0.key, value: $0.value.array) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  /// Whether an entry of a run below and the one found in the log lead to the same record.
  private func leadToSameRecord(_ value: SharedBytes, _ found: SharedBytes) throws(DatabaseError)
    -> Bool
  {
    let (old, new): (RecordLocator, RecordLocator)
    switch tree {
    case \.catalog: return value == found
    case \.documents:
      (old, new) = (try view.decodeEntry(value).locator, try view.decodeEntry(found).locator)
    default: (old, new) = (try view.decodeLocator(value), try view.decodeLocator(found))
    }
    // A revision may have several records: a changed expiry makes a new one.
    guard state.segments[old.fileID] != nil, old.size == new.size else { return false }
    // While a compaction is being installed, the same record is in two files.
    return try old == new
      ? true : view.payload(of: .document, at: old) == view.payload(of: .document, at: new)
  }
}

extension Segment {
  /// Whether `output` is a compaction of this segment, perhaps with others.
  fileprivate func isInput(of output: Segment) -> Bool {
    let (own, others) = (header.numbers, output.header.numbers)
    guard fileID != output.fileID, others.contains(own.lowerBound), others.contains(own.upperBound)
    else { return false }
    return own != others || header.generation < output.header.generation
  }
}

// MARK: Entries from the log

extension LeafRepair {
  /// Returns the documents' tree entries that belong in a leaf: the last record of each document.
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

  /// Returns the sequence tree's entries that belong in a leaf.
  ///
  /// These are the ones that no later record of the same document superseded.
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

  /// Returns the version that replaying the log up to a commit produces, without indexes.
  func replay(through commit: UInt64) throws(DatabaseError) -> Version {
    let nodeSize = view.environment.configuration.nodeSize
    var replay = Replay(onto: Version(nodeSize: nodeSize), isFromNothing: true)
    for segment in segments {
      try translating { () throws(LogError) in
        _ = try replay.run(segment, from: nil, through: commit)
      }
    }
    if let damage = replay.damage.first { throw DatabaseError(damage) }
    return replay.state
  }

  /// Returns the entries of a version that belong in a leaf of another tree.
  private func entries(of written: Version, _ coverage: Run.Coverage) -> Entries {
    var found: Entries = [:]
    var scan = written[keyPath: tree].scan()
    // Everything is in memory, so nothing can fail.
    while let item = try? scan.next() {
      if coverage.contains(item.key.array) { found[item.key.array] = item.value }
    }
    return found
  }

  /// The segments in log order; for a compaction that is being installed, its inputs.
  var segments: [Segment] {
    let all = state.segments.segments
    return all.filter { output in !all.contains { $0.isInput(of: output) } }
      .sorted { $0.header.numbers.lowerBound < $1.header.numbers.lowerBound }
  }

  /// Calls `body` for each change of a document up to a commit, oldest first; nil for a purge.
  private func forEachChange(
    through commit: UInt64, _ body: (_ id: [UInt8], DocumentRecord?, RecordLocator) -> Void
  ) throws(DatabaseError) {
    for segment in segments {
      try translating { () throws(LogError) in
        var scan = RecordScan(segment)
        while let item = try scan.nextRecord() {
          guard item.commit <= commit else { continue }
          let payload = item.record.payload
          if item.record.kind == .document, let record = try? DocumentRecord.decode(payload) {
            body(record.idBytes.array, record, item.locator)
          } else if item.record.kind == .purge, let purge = try? PurgeRecord.decode(payload),
            purge.sequence == nil
          {
            body(purge.idBytes.array, nil, item.locator)
          }
        }
      }
    }
  }
}
