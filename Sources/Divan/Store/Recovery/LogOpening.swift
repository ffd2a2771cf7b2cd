import DivanLog

/// Opens the log of a store: finds its end, makes doubtful commits durable, and replays it.
///
/// The steps follow each other in ``open()``; each prepares the next one.
struct LogOpening: ~Copyable {
  private let directory: StoreDirectory
  private let configuration: Configuration
  /// Receives the progress, and returns whether to continue.
  private let shouldContinue: (Double) -> Bool
  private let files: Set<FileName>
  private let head: Head?
  private let marks: [FlushMark]
  /// A writer's lock; nil for an opening that only reads.
  private let lock: (any FileLock)?
  private var report: OpeningReport

  private var checkpoint: Checkpoint.Usable?
  /// Whether the inner pages of the checkpoint are checked when they are read.
  private var isCheckDeferred = false
  /// The facts that unusable checkpoints prove.
  private let evidence: [Checkpoint.Evidence]
  private var chain: SegmentChain
  /// The last segment, and how the log ends in it.
  private let last: Segment
  private var recovery: LogRecovery
  private var isClosed = false
  private var damage: [Damage]
  /// Whether there is evidence that more was durable than the log has.
  private var lacksEnd = false
  /// The bytes of log after the checkpoint.
  private var replayedSize = 0
  private var writer: LogWriter?
  private var refusal: DatabaseError?

  init(
    _ directory: StoreDirectory, _ configuration: Configuration, files: Set<FileName>, head: Head?,
    marks: [FlushMark], lock: (any FileLock)?, report: OpeningReport,
    shouldContinue: @escaping (Double) -> Bool
  ) throws(LogError) {
    var report = report
    var evidence: [Checkpoint.Evidence] = []
    // Only a writer can make the next opening check: see ``StoreEnvironment/repairIndex(_:in:)``.
    isCheckDeferred = lock != nil && head?.isClosed == true && !files.contains(.check)
    let checkpoint = try Checkpoint.newestUsable(
      among: files, in: directory, configuration: configuration,
      innerPages: isCheckDeferred ? .deferred : .rebuilding, notes: &report.notes,
      evidence: &evidence)
    var chosen = checkpoint?.chain
    if chosen == nil {
      chosen = try SegmentChain.choose(
        from: files, in: directory, isMapped: configuration.readMode.isMapped)
    }
    guard let chosen, let last = chosen.segments.last else {
      throw .damaged(
        Damage(
          path: directory.path, offset: 0, reason: "no segment of the store can be read"))
    }
    self.directory = directory
    self.shouldContinue = shouldContinue
    self.configuration = configuration
    self.files = files
    self.head = head
    self.marks = marks
    self.lock = lock
    self.report = report
    self.checkpoint = checkpoint
    self.evidence = evidence
    chain = chosen
    damage = chosen.damage + (checkpoint?.damage ?? [])
    self.last = last
    recovery = LogRecovery(ofCompacted: last)
  }
}

extension LogOpening {
  /// Follows a log that was read before, up to the end of the last segment of `state`.
  ///
  /// The version takes the place of a checkpoint. `chain` has its segments, and those after them.
  init(
    following chain: SegmentChain, from state: Version, _ last: Segment,
    in directory: StoreDirectory, _ configuration: Configuration, head: Head?, marks: [FlushMark]
  ) {
    let position = Checkpoint.Position(
      segmentNumber: last.header.numbers.upperBound, fileID: last.fileID, end: last.end)
    let checkpoint = Checkpoint(
      number: 0, position: position, time: state.time, lastSequence: state.lastSequence,
      documentCount: state.documentCount, highestFileID: 0, historyHorizon: state.historyHorizon,
      members: [], trees: [])
    self.checkpoint = Checkpoint.Usable(
      checkpoint: checkpoint, chain: chain, state: state, damage: [])
    self.directory = directory
    self.configuration = configuration
    shouldContinue = { _ in true }
    files = []
    self.head = head
    self.marks = marks
    lock = nil
    report = OpeningReport()
    evidence = []
    self.chain = chain
    damage = []
    self.last = chain.segments.last ?? last
    recovery = LogRecovery(ofCompacted: self.last)
  }

  /// Runs all steps.
  mutating func open() throws(LogError) -> OpenedStore {
    try findEnd()
    let start = try start()
    try prepareWriting(start)
    return try replay(onto: start)
  }

  /// The end of the log that the checkpoint covers, if it is in the last segment.
  private var positionInLast: LogEnd? {
    checkpoint?.checkpoint.position.fileID == last.fileID
      ? checkpoint?.checkpoint.position.end : nil
  }

  // MARK: Finding the end of the log

  private mutating func findEnd() throws(LogError) {
    var end = last.end
    if last.header.compaction == nil {
      recovery = try LogRecovery.examine(last, from: positionInLast, watermarks: watermarks)
      end = recovery.end
      if recovery.damage != nil {
        // Records after damage are read where they can be.
        let size = try last.file.size()
        end = try LogRecovery.readableEnd(
          of: last, size: size, from: positionInLast, watermarks: watermarks)
        lacksEnd = try LogRecovery.isMoreProven(
          than: end, in: last, size: size, watermarks: watermarks)
      }
    } else if let watermark = watermarks.first(where: { $0.commit > last.end.commit }) {
      recovery.damage = Damage(
        path: directory.path, offset: 0,
        reason:
          "\(watermark.witness) shows that the log was durable through commit \(watermark.commit), "
          + "but it ends with commit \(last.end.commit)")
      lacksEnd = true
    }
    chain.segments[chain.segments.count - 1] = Segment(last, through: end)
    if let found = recovery.damage { damage.append(found) }
    isClosed =
      head.map {
        $0.isClosed && $0.segmentNumber == last.header.numbers.upperBound
          && ($0.watermark == recovery.end || last.header.compaction != nil)
      } ?? false
    report.ending = isClosed ? .closed : .interrupted
    // After the end of a log that was closed there may be a part of a failed write.
    report.discardedBytes =
      recovery.damage == nil && !isClosed ? recovery.discarded?.count ?? 0 : 0
  }

  /// The evidence, other than the log itself, of how far it was durable.
  private var watermarks: [LogRecovery.Watermark] {
    var watermarks: [LogRecovery.Watermark] = []
    if let head { watermarks.append(LogRecovery.Watermark(head, about: last)) }
    watermarks += marks.compactMap { LogRecovery.Watermark($0, about: last) }
    if let position = checkpoint?.checkpoint.position {
      watermarks.append(
        LogRecovery.Watermark(
          commit: position.end.commit, offset: positionInLast?.offset ?? 0,
          witness: "the checkpoint"))
    }
    // The files that it depends on are gone, and perhaps the end of the log with them.
    let storeID = last.header.preamble.storeID
    watermarks += evidence.filter { $0.storeID == storeID }.map(\.watermark)
    return watermarks + chain.segments.compactMap { LogRecovery.Watermark(ofCompaction: $0.header) }
  }

  // MARK: Resuming writing

  private func start() throws(LogError) -> LogWriter.Start {
    let bound = max(
      recovery.sequenceBound, chain.segments.map(\.header.sequenceBound).reduce(0, max),
      head?.sequenceBound ?? 0)
    let used = max(
      recovery.lastTrailer?.lastSequence ?? 0,
      chain.segments.map(\.header.lastSequence).reduce(0, max), head?.lastSequence ?? 0,
      checkpoint?.checkpoint.lastSequence ?? 0)
    return LogWriter.Start(
      segmentNumber: last.header.numbers.upperBound, segmentSalt: last.header.preamble.salt,
      end: recovery.end, nextFileID: try highestFileID() + 1,
      // Transactions that were lost in a crash may have used any number up to the bound.
      lastSequence: isClosed ? used : max(used, bound), sequenceBound: bound,
      isClosed: isClosed)
  }

  private func highestFileID() throws(LogError) -> UInt64 {
    var highest = chain.segments.map(\.fileID).reduce(0, max)
    // Leftovers had numbers too, which locators of the checkpoint may still name.
    for case .segment(let numbers) in chain.leftovers {
      if let file = try? SegmentFile(numbers, in: directory) {
        highest = max(highest, file.header.fileID)
      }
    }
    return max(highest, checkpoint?.checkpoint.highestFileID ?? 0)
  }

  /// Creates the writer, and makes doubtful commits durable before anything is read or written.
  private mutating func prepareWriting(_ start: LogWriter.Start) throws(LogError) {
    guard lock != nil else {
      refusal = DatabaseError(
        .readOnly, "the database was opened for reading only",
        hint: "Open it without `isReadOnly` to write", path: directory.path)
      return
    }
    if let first = damage.first { return refuse(because: first) }
    guard start.isWithinLimits else { return refuseForLackOfNumbers() }
    writer = LogWriter(
      directory, storeID: last.header.preamble.storeID, configuration, continuing: start)
    guard !isClosed, recovery.proven != recovery.end else { return }
    var proven = last
    proven.end = recovery.proven
    var whole = last
    whole.end = recovery.end
    do throws(LogError) {
      try reappend(LogWriter.Reappend(whole, after: recovery.proven))
      report.securedCommits = Int(clamping: recovery.end.commit - recovery.proven.commit)
    } catch .system(let error) where error.isLackOfSpace {
      // Everything can be read, as in a read-only opening; a later opening makes it durable.
      let note: String
      (refusal, note) = LogOpening.refusalForLackOfSpace(
        DatabaseError(error), path: directory.path)
      report.notes.append(note)
    }
    // A segment that has its name already is the log's end, even if HEAD does not say so.
    if let active = writer?.active {
      chain.segments[chain.segments.count - 1] = proven
      chain.segments.append(active)
    }
    if refusal != nil { writer = nil }
  }

  /// Returns the refusal to write on a full disk, and the note for the opening report.
  static func refusalForLackOfSpace(
    _ cause: DatabaseError, path: String
  ) -> (DatabaseError, note: String) {
    (
      DatabaseError(
        .readOnly, "the store is open for reading only, because the disk is full",
        hint: "Make space, and open it again", path: path, underlying: cause),
      "The disk is full, so the store is open for reading only"
    )
  }

  private mutating func refuse(because damage: Damage) {
    writer = nil
    refusal = DatabaseError(
      .readOnly, "the store is open for reading only, because it is damaged",
      hint: "Rescue what is sound with `logdump salvage`, or restore a backup",
      path: directory.path, underlying: DatabaseError(damage))
  }

  private mutating func refuseForLackOfNumbers() {
    writer = nil
    refusal = DatabaseError(
      .readOnly, "the store is open for reading only, because its numbers are used up",
      hint: "Export its documents, and import them into a new store", path: directory.path)
  }

  /// Reappends the doubtful commits; if the disk is full, with the reserve released.
  private mutating func reappend(_ reappend: LogWriter.Reappend) throws(LogError) {
    do throws(LogError) {
      try writer?.begin(reappending: reappend)
    } catch .system(let error) where error.isLackOfSpace {
      // If it cannot be removed, there is no more space than before, and the next error says so.
      try? directory.remove(.reserve)
      if writer?.active == nil {
        try writer?.begin(reappending: reappend)
      } else {
        // The segment has its name, and must not be made twice; only HEAD is behind.
        try writer?.replaceHead(isClosed: false)
      }
    }
  }

  // MARK: Replay

  private mutating func replay(onto start: LogWriter.Start) throws(LogError) -> OpenedStore {
    let highestCheckpoint = checkpoint?.checkpoint.number ?? 0
    if writer == nil { checkInnerPages() }
    var replay = try replayed(isSalvaging: false)
    let isDamaged = !damage.isEmpty || !replay.damage.isEmpty
    // If opening is refused, salvage is not needed.
    if isDamaged, lock == nil || configuration.damage == .salvage {
      checkInnerPages()
      replay = try replayed(isSalvaging: true)
      report.salvagedRecords = replay.salvagedCount
    }
    let gap = isDamaged ? gap(&replay) : nil
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
      directory: directory, storeID: last.header.preamble.storeID, report: report, lock: lock,
      writer: writer.take(), refusal: refusal, state: state,
      checkpoint: checkpoint?.checkpoint, head: head, reservedSequence: start.lastSequence,
      highestCheckpoint: highestCheckpoint, replayedSize: replayedSize)
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

  /// Deletes unused files, so that no later opening mistakes them for parts of the store.
  private func removeLeftovers() throws(LogError) {
    var leftovers = chain.leftovers
    // Its request was met.
    if files.contains(.check) { leftovers.append(.check) }
    for case .checkpoint(let number) in files {
      if checkpoint?.checkpoint.depends(on: number) != true {
        leftovers.append(.checkpoint(number))
      }
    }
    guard !leftovers.isEmpty else { return }
    for name in leftovers.sorted() { try directory.remove(name) }
    try directory.flush()
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

extension LogWriter {
  /// Creates a writer with the settings of the configuration.
  init(
    _ directory: StoreDirectory, storeID: StoreID, _ configuration: Configuration,
    continuing start: Start
  ) {
    self.init(
      directory, storeID: storeID,
      settings: Settings(
        segmentSizeGoal: configuration.segmentSizeGoal,
        isMapped: configuration.readMode.isMapped,
        sequenceReserve: configuration.sequenceReserve,
        unwitnessedLimit: configuration.unwitnessedLimit, now: configuration.now,
        random: configuration.random),
      continuing: start)
  }
}
