import DivanLog

extension LogOpening {
  /// Replays the log onto the checkpoint; if anything is damaged, once more with all sound records.
  mutating func replayLog() throws(LogError) -> Replay {
    if writer == nil { checkInnerPages() }
    let replay = try replayed(isSalvaging: false)
    // If opening is refused, salvage is not needed.
    guard isDamaged(replay), lock == nil || configuration.damage == .salvage else { return replay }
    checkInnerPages()
    let salvaged = try replayed(isSalvaging: true)
    report.salvagedRecords = salvaged.salvagedCount
    return salvaged
  }

  private func isDamaged(_ replay: borrowing Replay) -> Bool {
    !damage.isEmpty || !replay.damage.isEmpty
  }

  /// Decides whether the store can be written to, deletes unused files, and completes the report.
  mutating func conclude(
    _ found: consuming Replay, _ start: LogWriter.Start
  ) throws(LogError) -> OpenedStore {
    var replay = found
    let gap = isDamaged(replay) ? gap(&replay) : nil
    noteDamage(replay.damage)
    if writer != nil {
      if let first = replay.damage.first {
        refuse(because: first)
      } else if replay.state.lastSequence > LogWriter.startLimit
        || replay.state.commit > LogWriter.startLimit
      {
        refuseForLackOfNumbers()
      } else {
        // Not if anything is damaged: then unused files may contain the missing data.
        try removeLeftovers()
        // If it was released just now, there is no space to make it again.
        if !files.contains(.reserve) { directory.makeReserve(size: configuration.reserveSize) }
      }
    }
    report.damage = damage.map { DatabaseError($0) }
    report.replayedCommits = replay.commitCount
    report.noteUnread(replay.unreadAttachments)
    var state = replay.state
    // Only a writer continues above the numbers that a lost transaction may have used. A reader
    // has seen what it has read: others may be used by the writer that it reads beside.
    if lock != nil || isClosed { state.lastSequence = max(state.lastSequence, start.lastSequence) }
    state.gap = configuration.damage == .salvage ? nil : gap
    if writer != nil {
      report.notes += directory.removeUnrelatedViews(
        among: files, of: last.header.preamble.storeID, state)
    }
    writer?.resume(time: state.time)
    return OpenedStore(
      directory: directory, storeID: last.header.preamble.storeID, report: report,
      writer: writer.take(), refusal: refusal, state: state,
      checkpoint: checkpoint?.checkpoint, head: head, reservedSequence: start.lastSequence,
      highestCheckpoint: checkpointNumber, replayedSize: replayedSize)
  }

  /// Replays the log onto the checkpoint, or from nothing if a page of the checkpoint is bad.
  private mutating func replayed(isSalvaging: Bool) throws(LogError) -> Replay {
    while let checkpoint {
      var replay = Replay(
        onto: checkpoint.state, isFromNothing: false, isSalvaging: isSalvaging,
        attachments: attachments)
      replayedSize = try run(&replay)
      guard let problem = replay.indexProblem else { return replay }
      if isCheckDeferred {
        checkInnerPages()
        continue
      }
      if case .unreadable(_, let error) = problem, !isOfCheckpoint(error) { throw .system(error) }
      dropCheckpoint(because: problem)
    }
    var replay = Replay(
      onto: Version(nodeSize: configuration.nodeSize), isFromNothing: true,
      isSalvaging: isSalvaging, attachments: attachments)
    replayedSize = try run(&replay)
    // There are no pages; but indexes read documents, and that may fail.
    if case .unreadable(_, let error) = replay.indexProblem { throw .system(error) }
    return replay
  }

  /// Whether the medium failed to read a page of a checkpoint, and not a document for an index.
  private func isOfCheckpoint(_ error: SystemError) -> Bool {
    error.code == .inputOutput
      && files.contains {
        if case .checkpoint = $0 { directory.path(of: $0) == error.path } else { false }
      }
  }

  /// Checks the inner pages if that was deferred, because reads will not do it, or have failed.
  private mutating func checkInnerPages() {
    guard isCheckDeferred, let checkpoint else { return }
    isCheckDeferred = false
    do throws(PageError) {
      try checkpoint.requireInnerPages()
      checkpoint.noteRebuiltPages(&report.notes)
    } catch {
      dropCheckpoint(because: error)
    }
  }

  private mutating func dropCheckpoint(because problem: PageError) {
    report.notes.append("A page of the checkpoint cannot be read, and it was not used: \(problem)")
    checkpoint = nil
  }

  /// The files of attachments, whose text full-text indexes may have.
  private var attachments: AttachmentFiles {
    AttachmentFiles(
      directory, AttachmentFiles.Settings(isMapped: configuration.readMode.isMapped))
  }

  /// Adds the damage that replay found, each location once.
  ///
  /// If the end of the log exists, the damage that replay found within a damaged range replaces the
  /// coarser report of recovery.
  private mutating func noteDamage(_ found: [Damage]) {
    if let coarse = recovery.damage, let size = coarse.size, !lacksEnd {
      let range = coarse.offset..<max(coarse.offset, coarse.offset + size)
      if found.contains(where: { $0.path == coarse.path && range.contains($0.offset) }) {
        damage.removeAll { $0.path == coarse.path && $0.offset == coarse.offset }
      }
    }
    damage += found.filter { found in
      !damage.contains { $0.path == found.path && $0.offset == found.offset }
    }
  }

  /// Returns the part of the log that damage makes unknown; nil if no replayed part is damaged.
  private func gap(_ replay: inout Replay) -> LogGap? {
    var highest: UInt64 = 0
    for case .segment(let numbers) in files { highest = max(highest, numbers.upperBound) }
    // A segment after the last one, whose header cannot be read, may contain anything.
    if lacksEnd || highest > last.header.numbers.upperBound { replay.noteGap() }
    // Damage to segments that the checkpoint covers concerns only the documents in them, which the
    // index knows.
    let covered = Set(chain.segments[..<firstReplayed].map(\.file.path))
    if !replay.hasDoubt, chain.damage.contains(where: { !covered.contains($0.path) }) {
      replay.noteGap()
    }
    guard replay.hasGap, let first = damage.first ?? replay.damage.first else { return nil }
    return LogGap(
      end: replay.gapEnd, doubtEnd: replay.doubtEnd, damage: DatabaseError(first))
  }

  /// The index of the first segment that the checkpoint does not cover completely.
  private var firstReplayed: Int {
    guard let position = checkpoint?.checkpoint.position,
      let first = chain.segments.firstIndex(where: {
        $0.header.numbers.contains(position.segmentNumber)
      })
    else { return 0 }
    // The checkpoint covers a compacted segment as a whole.
    let isCovered =
      chain.segments[first].header.compaction != nil
      && chain.segments[first].fileID == position.fileID
    return isCovered ? first + 1 : first
  }

  /// Replays the log that the checkpoint does not cover; returns the number of bytes.
  private func run(_ replay: inout Replay) throws(LogError) -> Int {
    let position = checkpoint?.checkpoint.position
    let first = firstReplayed
    for segment in chain.segments[..<first] { replay.state.segments.update(segment) }
    let total = max(1, chain.segments[first...].reduce(0) { $0 + Int(clamping: $1.end.offset) })
    var done = 0
    var replayed = 0
    var expected = first == 0 ? 1 : chain.segments[first - 1].header.numbers.upperBound + 1
    var compacted = first == 0 ? nil : chain.segments[first - 1].header.compaction?.end
    for segment in chain.segments[first...] {
      let (numbers, predecessor) = (segment.header.numbers, segment.header.predecessor)
      let follows =
        compacted.map { $0.commit == predecessor.commit && $0.chain == predecessor.chain } ?? true
      if numbers.lowerBound != expected || !follows { replay.noteGap() }
      compacted = segment.header.compaction?.end
      expected = segment.header.numbers.upperBound + 1
      let start = position?.fileID == segment.fileID ? position?.end : nil
      let begin = start.map { Int(clamping: $0.offset) } ?? SegmentHeader.size
      replayed += max(0, Int(clamping: segment.end.offset) - begin)
      let limit = lacksEnd && segment.fileID == last.fileID ? try last.file.size() : nil
      let continues = try replay.run(segment, from: start, limit: limit) {
        [shouldContinue] (offset) in
        shouldContinue(Double(done + offset) / Double(total))
      }
      done += Int(clamping: segment.end.offset)
      guard replay.indexProblem == nil else { return replayed }
      guard continues, shouldContinue(Double(done) / Double(total)) else {
        throw .system(SystemError(call: "open", path: directory.path, code: .cancelled))
      }
    }
    replay.finish()
    return replayed
  }
}
