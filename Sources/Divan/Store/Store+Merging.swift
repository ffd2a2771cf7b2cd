import DivanLog
import Synchronization

extension Store {
  /// Merges segments for as long as it pays, and writes a checkpoint after each merge, so that the
  /// inputs can go.
  ///
  /// When the store is being closed meanwhile, the merge at hand is completed: however short sessions are,
  /// each of them cleans a part.
  func mergeWhatPays() throws(DatabaseError) {
    while try mergeOnce(isForced: false) {
      try writeCheckpoint()
      if maintenance.isStopped { break }
    }
  }

  /// Merges everything that holds anything dead, and whatever is small.
  func mergeEverything() throws(DatabaseError) {
    try pruneHistory()
    try sweepAttachments()
    try deleteOrphanedAttachments()
    try writeCheckpoint()
    while try mergeOnce(isForced: true) { try writeCheckpoint() }
  }

  /// Merges one group of neighbouring segments; returns false if there is none worth it.
  private func mergeOnce(isForced: Bool) throws(DatabaseError) -> Bool {
    try finishMerge()
    let (position, damaged) = maintenance.state.withLock { ($0.checkpoint?.position, $0.damaged) }
    guard let position else { return false }
    let begun:
      (
        state: StoreState, inputs: [Segment], fileID: UInt64, tail: LogTail,
        releasedThrough: UInt64
      )? =
        try withTurn { (writer) throws(DatabaseError) in
          guard commits.failure == nil else { return nil }
          let policy = MergePolicy(
            segmentSizeGoal: UInt64(configuration.segmentSizeGoal),
            sizeLimit: UInt64(configuration.mergedSizeLimit), isForced: isForced)
          let inputs = policy.choose(
            from: newest.segments, activeFileID: writer.active?.fileID, through: position,
            except: damaged)
          guard !inputs.isEmpty else { return nil }
          // Where nothing is kept, only the newest version is sure to be whole.
          let isHistoryKept = configuration.history.isOn || pinnedThrough > 0
          return (
            newest, inputs, writer.takeFileID(), writer.tail,
            isHistoryKept ? newest.historyFloor : newest.commit
          )
        }
    guard let begun else { return false }
    var judge = MergeJudge(
      StoreView(state: begun.state, store: self), inputs: begun.inputs,
      awaitingDeletion: maintenance.state.withLock { $0.replaced }, isForced: isForced)
    let output: Segment
    var failure: DatabaseError?
    /// Judges, and remembers what went wrong more exactly than the log can say it.
    func judging<R>(_ body: () throws(DatabaseError) -> R) throws(LogError) -> R {
      do throws(DatabaseError) {
        return try body()
      } catch {
        failure = error
        throw .system(SystemError(call: "merge", path: path, code: .inputOutput))
      }
    }
    do throws(LogError) {
      output = try SegmentMerge.run(
        SegmentMerge.Order(
          inputs: begun.inputs, fileID: begun.fileID, salt: configuration.random(),
          now: configuration.now(), judgedAt: begun.state.commit,
          releasedThrough: begun.releasedThrough, isMapped: configuration.reads == .mapped),
        in: directory,
        keep: { (entry) throws(LogError) in
          try judging { () throws(DatabaseError) in try judge.keeps(entry) }
        },
        flushLog: { () throws(LogError) in
          // Seldom enough for a walk over the index; nothing is replaced yet.
          if isForced { try judging { () throws(DatabaseError) in try judge.requireAllKept() } }
          _ = try begun.tail.flush()
        })
    } catch {
      let failure = failure ?? DatabaseError(error)
      if failure.code == .damaged {
        // What is damaged stays as it is: a merge would destroy the evidence.
        maintenance.state.withLock { state in
          for input in begun.inputs where input.file.path == failure.path {
            state.damaged.insert(input.fileID)
          }
        }
      }
      throw failure
    }
    maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }
    try finishMerge()
    return true
  }

  /// Brings in a merged segment, perhaps once more, if one is waiting for that.
  func finishMerge() throws(DatabaseError) {
    guard let (output, inputs) = maintenance.state.withLock({ $0.unfinished }) else { return }
    try bringIn(output, inPlaceOf: inputs)
    maintenance.state.withLock { $0.unfinished = nil }
  }

  /// Lets the index refer to the merged segment, and takes its inputs out of use.
  ///
  /// The turn is held for some thousand records at a time, so that writers need not wait long. What
  /// was changed meanwhile stays as it is: only an entry that still refers to an input is moved.
  private func bringIn(
    _ output: Segment, inPlaceOf inputs: [Segment]
  ) throws(DatabaseError) {
    let replaced = Set(inputs.map(\.fileID))
    try withTurn { (_) throws(DatabaseError) in
      newest.segments.update(output)
      newest.noteMerge()
      commits.replaceNewest(with: newest)
    }
    var scan = RecordScan(output)
    var isDone = false
    while !isDone {
      try withTurn { (_) throws(DatabaseError) in
        isDone = try move(&scan, from: replaced, count: 2000)
        commits.replaceNewest(with: newest)
      }
    }
    try withTurn { (_) throws(DatabaseError) in
      newest.segments.replace(replaced, with: output.fileID)
      newest.noteMerge()
      commits.replaceNewest(with: newest)
      maintenance.state.withLock {
        // A merge of one segment has taken its input's name.
        let others = inputs.map(\.file.name).filter { $0 != output.file.name }
        $0.replaced.formUnion(others)
        if others.count < inputs.count { $0.isCheckpointSpent = true }
      }
    }
  }

  /// Moves the index entries of the next records; returns true at the end.
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

  /// Lets the index lead to a record of the output, if it leads to one of the inputs now.
  private func move(
    _ item: RecordScan.Entry, from inputs: Set<UInt64>, scratch: inout ByteWriter
  ) throws(DatabaseError) {
    newest.segments.noteAdded(item.locator)
    // What the index does not lead to, but a merge keeps all the same, is not dead: a removal, and what
    // only a later version can read.
    if !item.record.kind.isKnown || RemovalKey(removedBy: item.record) != nil { return }
    let view = StoreView(state: newest, store: self)
    guard let place = try IndexPlace(of: item, in: view),
      let old = try place.locator(in: view), inputs.contains(old.fileID)
    else { return newest.segments.noteDead(item.locator) }
    newest.segments.noteDead(old)
    switch place {
    case .newest(let id, var entry):
      entry.locator = item.locator
      newest.index(entry, id, scratch: &scratch)
    case .older(let key):
      newest.setOlder(key, item.locator, scratch: &scratch)
    case .catalog(let key):
      newest.setCatalog(key, leadingTo: item.locator, scratch: &scratch)
    }
  }
}

/// Which neighbouring segments to merge next.
struct MergePolicy {
  let segmentSizeGoal: UInt64
  /// A merged segment is not made larger than this.
  let sizeLimit: UInt64
  let isForced: Bool
}

extension MergePolicy {
  private struct Candidate {
    let segment: Segment
    let live: UInt64
    let total: UInt64

    /// Nothing is gained by merging a segment that is empty already, for its own sake.
    var deadShare: Double { total == 0 ? 0 : Double(total - live) / Double(total) }
  }

  /// The inputs of the next merge, neighbours in the order of the log; none if no merge pays.
  ///
  /// Only what a checkpoint covers, up to `position`, is merged, so that what follows it is replayed
  /// as it was written.
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
    // Half as much dead as live is left alone: then each merge gains enough for its cost.
    let isWasteful = dead > live / 2 && dead > segmentSizeGoal / 2
    return emptiest(groups, threshold: isWasteful ? 0.2 : 0.6) ?? small(groups) ?? []
  }

  /// The segment with the greatest share of dead bytes, with neighbours that are worth it too.
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

  /// Six or more small neighbours of like size, so that each byte is merged a few times only.
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

  /// Anything that a merge makes smaller or fewer.
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
