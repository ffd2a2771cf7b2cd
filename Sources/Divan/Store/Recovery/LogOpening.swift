import DivanLog

/// Opens the log of a store: finds its end, makes doubtful commits durable, and replays it.
///
/// Creating one chooses the newest checkpoint that can be used, and the segments. The steps after
/// that follow each other in ``open()``; each prepares the next one.
struct LogOpening: ~Copyable {
  let directory: StoreDirectory
  let configuration: Configuration
  /// Receives the progress, and returns whether to continue.
  let shouldContinue: (Double) -> Bool
  let files: Set<FileName>
  let head: Head?
  private let marks: [FlushMark]
  /// A writer's lock; nil for an opening that only reads.
  let lock: (any FileLock)?
  var report: OpeningReport

  var checkpoint: Checkpoint.Usable?
  /// The number of the checkpoint that was chosen, also if it is dropped later; 0 without one.
  let checkpointNumber: UInt64
  /// Whether the inner pages of the checkpoint are checked when they are read.
  var isCheckDeferred = false
  /// The facts that unusable checkpoints prove.
  private let evidence: [Checkpoint.Evidence]
  var chain: SegmentChain
  /// The last segment, and how the log ends in it.
  let last: Segment
  var recovery: LogRecovery
  var isClosed = false
  var damage: [Damage]
  /// Whether there is evidence that more was durable than the log has.
  var lacksEnd = false
  /// The bytes of log after the checkpoint.
  var replayedSize = 0
  var writer: LogWriter?
  var refusal: DatabaseError?

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
    checkpointNumber = checkpoint?.checkpoint.number ?? 0
    self.evidence = evidence
    chain = chosen
    damage = chosen.damage + (checkpoint?.damage ?? [])
    self.last = last
    // ``findEnd()`` replaces it.
    recovery = LogRecovery(endingAsStated: last)
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
    checkpointNumber = checkpoint.number
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
    recovery = LogRecovery(endingAsStated: self.last)
  }

  /// Runs all steps.
  mutating func open() throws(LogError) -> OpenedStore {
    try findEnd()
    let start = try writerStart()
    try prepareWriting(start)
    let replay = try replayLog()
    return try conclude(replay, start)
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

  /// Returns where a writer continues.
  private func writerStart() throws(LogError) -> LogWriter.Start {
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

  mutating func refuse(because damage: Damage) {
    writer = nil
    refusal = DatabaseError(
      .readOnly, "the store is open for reading only, because it is damaged",
      hint: "Rescue what is sound with `logdump salvage`, or restore a backup",
      path: directory.path, underlying: DatabaseError(damage))
  }

  mutating func refuseForLackOfNumbers() {
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

  /// Deletes unused files, so that no later opening mistakes them for parts of the store.
  func removeLeftovers() throws(LogError) {
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
