import DivanLog
import Synchronization

extension Store {
  /// Compacts segments while that pays, with a checkpoint after each compaction to release the
  /// inputs.
  ///
  /// If the store is being closed, the current compaction is completed, so that even short sessions
  /// compact a part.
  func compactWhatPays() throws(DatabaseError) {
    while try compactOnce(isForced: false) {
      try writeCheckpoint()
      if maintenance.isStopped { break }
    }
  }

  /// Compacts all segments that contain dead records, and all small ones.
  func compactEverything() throws(DatabaseError) {
    try pruneHistory()
    try sweepAttachments()
    try deleteOrphanedAttachments()
    try writeCheckpoint()
    while try compactOnce(isForced: true) { try writeCheckpoint() }
  }

  /// Compacts one group of neighbouring segments; returns false if none is worth it.
  private func compactOnce(isForced: Bool) throws(DatabaseError) -> Bool {
    try finishCompaction()
    let (position, damaged) = maintenance.state.withLock { ($0.checkpoint?.position, $0.damaged) }
    guard let position else { return false }
    let begun:
      (
        state: Version, inputs: [Segment], fileID: UInt64, tail: LogTail,
        releasedThrough: UInt64
      )? =
        try withWriterLock { (writer) throws(DatabaseError) in
          guard commits.failure == nil else { return nil }
          let policy = CompactionPolicy(
            segmentSizeGoal: UInt64(configuration.segmentSizeGoal),
            sizeLimit: UInt64(configuration.mergedSizeLimit), isForced: isForced)
          let inputs = policy.choose(
            from: newest.segments, activeFileID: writer.active?.fileID, through: position,
            except: damaged)
          guard !inputs.isEmpty else { return nil }
          // Without history, only the newest version is certain to be complete.
          let retainsHistory = configuration.history.isOn || pinnedThrough > 0
          return (
            newest, inputs, writer.takeFileID(), writer.tail,
            retainsHistory ? newest.historyHorizon : newest.commit
          )
        }
    guard let begun else { return false }
    let start = ContinuousClock.now
    var filter = LivenessFilter(
      ReadView(state: begun.state, store: self), inputs: begun.inputs,
      awaitingDeletion: maintenance.state.withLock { $0.replaced }, isForced: isForced)
    let output: Segment
    var failure: DatabaseError?
    /// Runs `body`, and keeps its error, which is more exact than a `LogError`.
    func keepingError<R>(_ body: () throws(DatabaseError) -> R) throws(LogError) -> R {
      do throws(DatabaseError) {
        return try body()
      } catch {
        failure = error
        throw .system(SystemError(call: "merge", path: path, code: .inputOutput))
      }
    }
    do throws(LogError) {
      output = try SegmentCompaction.run(
        SegmentCompaction.Order(
          inputs: begun.inputs, fileID: begun.fileID, salt: configuration.random(),
          now: configuration.now(), evaluatedAt: begun.state.commit,
          releasedThrough: begun.releasedThrough, isMapped: configuration.readMode == .mapped),
        in: directory,
        keep: { (entry) throws(LogError) in
          try keepingError { () throws(DatabaseError) in try filter.keeps(entry) }
        },
        flushLog: { () throws(LogError) in
          // Forced compactions are rare enough for a scan of the index; nothing is replaced yet.
          if isForced {
            try keepingError { () throws(DatabaseError) in try filter.requireAllKept() }
          }
          _ = try begun.tail.flush()
        })
    } catch {
      let failure = failure ?? DatabaseError(error)
      if failure.code == .damaged {
        // A damaged segment is left unchanged: a compaction would destroy the evidence.
        maintenance.state.withLock { state in
          for input in begun.inputs where input.file.path == failure.path {
            state.damaged.insert(input.fileID)
          }
        }
      }
      throw failure
    }
    maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }
    try finishCompaction()
    noteCompaction(of: begun.inputs, into: output, since: start)
    return true
  }

  /// Installs the output of an unfinished compaction, if there is one; a retry is possible.
  func finishCompaction() throws(DatabaseError) {
    guard let (output, inputs) = maintenance.state.withLock({ $0.unfinished }) else { return }
    try install(output, replacing: inputs)
    maintenance.state.withLock { $0.unfinished = nil }
  }

  /// Points the index at the compacted segment, and takes its inputs out of use.
  ///
  /// Takes the writer lock for some thousand records at a time, so that writers need not wait long.
  /// Only an entry that still refers to an input is moved; concurrent changes are left alone.
  private func install(
    _ output: Segment, replacing inputs: [Segment]
  ) throws(DatabaseError) {
    let replaced = Set(inputs.map(\.fileID))
    try withWriterLock { (_) throws(DatabaseError) in
      newest.segments.update(output)
      newest.noteCompaction()
      commits.replaceNewest(with: newest)
    }
    var scan = RecordScan(output)
    var isDone = false
    while !isDone {
      try withWriterLock { (_) throws(DatabaseError) in
        isDone = try move(&scan, from: replaced, count: 2000)
        commits.replaceNewest(with: newest)
      }
    }
    try withWriterLock { (_) throws(DatabaseError) in
      newest.segments.replace(replaced, with: output.fileID)
      newest.noteCompaction()
      commits.replaceNewest(with: newest)
      maintenance.state.withLock {
        // A compaction of a single segment reuses its input's name.
        let others = inputs.map(\.file.name).filter { $0 != output.file.name }
        $0.replaced.formUnion(others)
        if others.count < inputs.count { $0.isCheckpointSpent = true }
      }
    }
  }

  /// Moves the index entries of the next `count` records; returns true at the end.
  private func move(
    _ scan: inout RecordScan, from inputs: Set<UInt64>, count: Int
  ) throws(DatabaseError) -> Bool {
    var scratch = ByteWriter(capacity: 128)
    for _ in 0..<count {
      let item: RecordScan.Item
      do throws(LogError) { item = try scan.next() } catch { throw DatabaseError(error) }
      switch item {
      case .record(let item): try move(item, from: inputs, scratch: &scratch)
      case .commit: continue
      case .damage(let damage): throw DatabaseError(damage)
      case .end: return true
      }
    }
    return false
  }

  /// Points the index at a record of the output if it refers to an input now.
  private func move(
    _ item: RecordScan.Entry, from inputs: Set<UInt64>, scratch: inout ByteWriter
  ) throws(DatabaseError) {
    newest.segments.noteAdded(item.locator)
    // A compaction also keeps some records that the index does not name: removals, and kinds that
    // only a later version can read. They are not dead.
    if !item.record.kind.isKnown || RemovalKey(removedBy: item.record) != nil { return }
    let view = ReadView(state: newest, store: self)
    guard let slot = try TreeSlot(of: item, in: view),
      let old = try slot.locator(in: view), inputs.contains(old.fileID)
    else { return newest.segments.noteDead(item.locator) }
    newest.segments.noteDead(old)
    switch slot {
    case .newest(let id, var entry):
      entry.locator = item.locator
      newest.index(entry, id, scratch: &scratch)
    case .retained(let key):
      newest.setRetained(key, item.locator, scratch: &scratch)
    case .catalog(let key):
      newest.setCatalog(key, leadingTo: item.locator, scratch: &scratch)
    }
  }
}

/// Chooses the neighbouring segments to compact next.
struct CompactionPolicy {
  let segmentSizeGoal: UInt64
  /// The maximum size of a compacted segment.
  let sizeLimit: UInt64
  let isForced: Bool
}

extension CompactionPolicy {
  private struct Candidate {
    let segment: Segment
    let live: UInt64
    let total: UInt64

    /// 0 for an empty segment: compacting it gains nothing.
    var deadShare: Double { total == 0 ? 0 : Double(total - live) / Double(total) }
  }

  /// Returns the inputs of the next compaction, neighbours in log order; empty if none pays.
  ///
  /// Only segments that a checkpoint covers, up to `position`, are compacted, so that everything
  /// after it is replayed as it was written.
  func choose(
    from table: SegmentTable, activeFileID: UInt64?, through position: Checkpoint.Position,
    except damaged: Set<UInt64>
  ) -> [Segment] {
    let all = zip(table.segments, table.usages).sorted {
      $0.0.header.numbers.lowerBound < $1.0.header.numbers.lowerBound
    }
    var groups: [[Candidate]] = [[]]
    var live: UInt64 = 0
    var dead: UInt64 = 0
    for (segment, usage) in all {
      live += usage.total - usage.dead
      let isCovered =
        segment.fileID != activeFileID
        && (segment.header.numbers.upperBound < position.segmentNumber
          || segment.fileID == position.fileID)
      if isCovered, !damaged.contains(segment.fileID) {
        dead += usage.dead
        groups[groups.count - 1].append(
          Candidate(segment: segment, live: usage.total - usage.dead, total: usage.total))
      } else {
        groups.append([])
      }
    }
    if isForced { return forced(groups) }
    // Dead bytes of up to half the live ones are tolerated: then each compaction gains enough for
    // its cost.
    let isWasteful = dead > live / 2 && dead > segmentSizeGoal / 2
    return emptiest(groups, threshold: isWasteful ? 0.2 : 0.6) ?? small(groups) ?? []
  }

  /// Returns the segment with the largest dead share, with neighbours that are worth compacting.
  private func emptiest(_ groups: [[Candidate]], threshold: Double) -> [Segment]? {
    var best: (group: Int, index: Int, share: Double)?
    for (group, candidates) in groups.enumerated() {
      for (index, candidate) in candidates.enumerated()
      where candidate.deadShare >= threshold && candidate.deadShare > best?.share ?? 0 {
        best = (group, index, candidate.deadShare)
      }
    }
    guard let best else { return nil }
    let group = groups[best.group]
    var range = best.index...best.index
    var size = group[best.index].live
    func isWorthIt(_ candidate: Candidate) -> Bool {
      size + candidate.live <= sizeLimit
        && (candidate.deadShare >= threshold / 2 || candidate.live < segmentSizeGoal / 8)
    }
    while range.lowerBound > 0, isWorthIt(group[range.lowerBound - 1]) {
      size += group[range.lowerBound - 1].live
      range = range.lowerBound - 1...range.upperBound
    }
    while range.upperBound + 1 < group.count, isWorthIt(group[range.upperBound + 1]) {
      size += group[range.upperBound + 1].live
      range = range.lowerBound...range.upperBound + 1
    }
    return group[range].map(\.segment)
  }

  /// Returns six or more small neighbours of similar size, to copy each byte only a few times.
  private func small(_ groups: [[Candidate]]) -> [Segment]? {
    var limit = UInt64(1) << 16
    while limit <= segmentSizeGoal {
      for group in groups {
        for run in group.split(whereSeparator: { $0.live > limit }) where run.count >= 6 {
          return run.map(\.segment)
        }
      }
      limit *= 4
    }
    return nil
  }

  /// Returns segments that a compaction makes smaller or fewer.
  private func forced(_ groups: [[Candidate]]) -> [Segment] {
    for group in groups {
      var run: [Candidate] = []
      var size: UInt64 = 0
      for candidate in group {
        if size + candidate.live > sizeLimit, !run.isEmpty {
          if pays(run) { return run.map(\.segment) }
          run = []
          size = 0
        }
        run.append(candidate)
        size += candidate.live
      }
      if pays(run) { return run.map(\.segment) }
    }
    return []
  }

  private func pays(_ run: [Candidate]) -> Bool {
    run.count > 1 || run.contains { $0.total > $0.live }
  }
}
