import DivanLog

/// A store that was opened, with all that is needed to go on.
struct OpenedStore {
  var directory: StoreDirectory
  var storeID: StoreID
  var report: OpeningReport
  var lock: (any FileLock)?
  /// Nil if the store cannot be written to; ``refusal`` says why.
  var writer: LogWriter?
  var refusal: DatabaseError?
  var state: StoreState
  var checkpoint: Checkpoint?
  /// Bytes of log behind the checkpoint.
  var replayedSize = 0
}

extension SystemError {
  /// Whether it says that there is no room, of the medium or of the user's share.
  var isLackOfSpace: Bool { code == .noSpace || code == .quotaExceeded }
}

/// Opens a store: finds out what is there, decides what counts, and reads it into the index.
///
/// In the order of FILE_FORMAT.md §8. Nothing that exists is changed: what was left in doubt is logged
/// again into a new segment, and only then is anything served.
struct StoreOpening {
  let path: String
  let fileSystem: any FileSystem
  let configuration: Configuration
  private let directory: StoreDirectory

  init(_ path: String, on fileSystem: any FileSystem, _ configuration: Configuration) {
    self.path = path
    self.fileSystem = fileSystem
    self.configuration = configuration
    directory = StoreDirectory(path, on: fileSystem)
  }
}

extension StoreOpening {
  func open() throws(DatabaseError) -> OpenedStore {
    let clock = ContinuousClock()
    let start = clock.now
    var opened = configuration.isReadOnly ? try openForReading() : try openForWriting()
    opened.report.duration = clock.now - start
    return opened
  }

  // MARK: For writing

  private func openForWriting() throws(DatabaseError) -> OpenedStore {
    try makeDirectory()
    let lock = try takeLock()
    do throws(DatabaseError) {
      return try translating { () throws(LogError) in
        try prepareDirectory()
        return try read(lock: lock)
      }
    } catch {
      lock.release()
      throw error
    }
  }

  /// Makes the store's directory if there is none.
  private func makeDirectory() throws(DatabaseError) {
    do throws(SystemError) {
      guard try fileSystem.status(path).kind == .directory else {
        throw SystemError(call: "open", path: path, code: .notADirectory)
      }
    } catch  where error.code == .notFound {
      try translating { () throws(LogError) in
        try attempt { () throws(SystemError) in
          try fileSystem.makeDirectory(path)
        }
      }
    } catch  where error.code == .notADirectory {
      throw DatabaseError(
        .notAStore, "a store is a directory, and this is a file", hint: "Choose another path",
        path: path)
    } catch {
      throw DatabaseError(error)
    }
  }

  private func takeLock() throws(DatabaseError) -> any FileLock {
    let note = "process \(processID())"
    let outcome = try translating { () throws(LogError) in
      try refuseForeignDirectory()
      return try attempt { () throws(SystemError) in
        try fileSystem.lock(directory.path(of: .lock), note: note)
      }
    }
    switch outcome {
    case .acquired(let lock): return lock
    case .held(let holder):
      throw DatabaseError(
        .storeInUse,
        holder == note
          ? "the store is open in this process already" : "the store is open in \(holder)",
        hint: "Use the database that is open, close it first, or open this one with `isReadOnly`",
        path: path)
    }
  }

  /// Refuses a directory with files in it none of which is a store's, so that none is put among them.
  private func refuseForeignDirectory() throws(LogError) {
    let (files, foreign) = try directory.listing()
    if files.isEmpty, !foreign.isEmpty {
      throw .foreign(path: path, reason: "the directory holds other files, and no store")
    }
  }

  /// Makes sure that every name that is seen is durable, and empties the place for temporaries.
  private func prepareDirectory() throws(LogError) {
    let temporaries = directory.path(of: .temporaries)
    try attempt { () throws(SystemError) in
      if try fileSystem.exists(temporaries) {
        for name in try fileSystem.list(temporaries) {
          try fileSystem.remove("\(temporaries)/\(name)")
        }
      } else {
        try fileSystem.makeDirectory(temporaries)
      }
      try fileSystem.flushDirectory(path)
    }
    let hasSegments = try directory.listing().files.contains {
      if case .segment = $0 { true } else { false }
    }
    if !hasSegments {
      // Somebody made the directory, perhaps a process that ended just then: before the first commit
      // its own name must be durable, too.
      try attempt { () throws(SystemError) in
        try fileSystem.flushDirectory(parentDirectory(of: path))
      }
    }
  }

  // MARK: For reading

  private func openForReading() throws(DatabaseError) -> OpenedStore {
    // A file may vanish between its being listed and opened, when a merged one takes its place, and
    // HEAD may name a segment that came after the listing. So a verdict stands only if the directory
    // and HEAD were the same before and after it.
    for _ in 0..<16 {
      let before = try translating { () throws(LogError) in try evidence() }
      do throws(LogError) {
        let opened = try read(lock: nil)
        if opened.report.damage.isEmpty { return opened }
        if try evidence() == before { return opened }
      } catch .system(let error) where error.code == .notFound && error.path != path {
        continue
      } catch {
        let after = try translating { () throws(LogError) in try evidence() }
        if after == before { throw DatabaseError(error) }
      }
    }
    return try translating { () throws(LogError) in try read(lock: nil) }
  }

  /// What a writer changes whenever it adds or removes a file.
  private func evidence() throws(LogError) -> Evidence {
    Evidence(files: try directory.listing().files, head: try directory.head().head)
  }

  private struct Evidence: Equatable {
    let files: Set<FileName>
    let head: Head?
  }

  // MARK: Both

  private func read(lock: (any FileLock)?) throws(LogError) -> OpenedStore {
    let isWriter = lock != nil
    var report = OpeningReport()
    let (files, foreign) = try directory.listing()
    report.notes += foreign.map { "\($0) is no file of a store, and was left alone" }
    let (head, headProblem) = try directory.head()
    if let headProblem { report.notes.append("HEAD cannot be read: \(DatabaseError(headProblem))") }
    let hasSegments = files.contains { if case .segment = $0 { true } else { false } }
    let hasCheckpoints = files.contains { if case .checkpoint = $0 { true } else { false } }

    guard hasSegments else {
      guard isWriter || files.contains(.lock) || files.contains(.head) else {
        throw .foreign(path: path, reason: "the directory holds no store")
      }
      guard head == nil, headProblem == nil, !hasCheckpoints else {
        throw .damaged(
          Damage(path: path, offset: 0, reason: "the store has lost all of its segments"))
      }
      report.ending = isWriter ? .created : .closed
      if isWriter { directory.makeReserve(size: configuration.reserveSize) }
      return opened(
        StoreState(nodeSize: configuration.nodeSize), .empty,
        storeID: StoreID(high: configuration.random(), low: configuration.random()),
        lock: lock, report: report, checkpoint: nil)
    }
    return try read(files, head, lock: lock, report: report)
  }

  private func read(
    _ files: Set<FileName>, _ head: Head?, lock: (any FileLock)?, report: OpeningReport
  ) throws(LogError) -> OpenedStore {
    var report = report
    let isMapped = configuration.reads == .mapped
    let checkpoint = try Checkpoint.newestUsable(
      among: files, in: directory, configuration: configuration, notes: &report.notes)
    var chosen = checkpoint?.chain
    if chosen == nil {
      chosen = try SegmentChain.choose(from: files, in: directory, isMapped: isMapped)
    }
    guard var chain = chosen, let last = chain.segments.last else {
      throw .damaged(
        Damage(path: path, offset: 0, reason: "no segment of the store can be read"))
    }
    var damage = chain.damage
    let position = checkpoint?.checkpoint.position

    // How does the log end?
    var recovery: LogRecovery
    let size = try last.file.size()
    if last.header.merge == nil {
      var floors: [LogRecovery.Floor] = []
      if let head { floors.append(floor(head, last)) }
      if let position {
        floors.append(
          LogRecovery.Floor(
            commit: position.end.commit,
            offset: position.fileID == last.fileID ? position.end.offset : 0,
            witness: "the checkpoint"))
      }
      recovery = try LogRecovery.examine(
        last, size: size, from: position?.fileID == last.fileID ? position?.end : nil,
        floors: floors)
    } else {
      recovery = LogRecovery(ofMerged: last)
      if let head,
        head.segmentNumber > last.header.numbers.upperBound
          || head.floor.commit > last.end.commit
      {
        recovery.damage = Damage(
          path: path, offset: 0,
          reason: "HEAD shows that the log was durable through commit \(head.floor.commit)")
      }
    }
    if let found = recovery.damage { damage.append(found) }
    let isClosed =
      head.map {
        $0.isClosed && $0.segmentNumber == last.header.numbers.upperBound
          && ($0.floor == recovery.end || last.header.merge != nil) && recovery.discarded == nil
      } ?? false
    report.ending = isClosed ? .closed : .interrupted
    report.discardedBytes = recovery.damage == nil ? recovery.discarded?.count ?? 0 : 0

    // What may not have been durable is made so, before anything is served.
    var tail = last
    tail.end = recovery.end
    if recovery.damage != nil, last.header.merge == nil {
      tail.end = try LogRecovery.readableEnd(
        of: last, size: size, from: position?.fileID == last.fileID ? position?.end : nil)
    }
    var start = LogWriter.Start(
      segmentNumber: last.header.numbers.upperBound, segmentSalt: last.header.preamble.salt,
      end: recovery.end,
      nextFileID: (files.isEmpty ? 0 : try highestFileID(chain, checkpoint?.checkpoint)) + 1,
      lastSequence: lastSequence(recovery, chain, head, checkpoint?.checkpoint),
      sequenceBound: sequenceBound(recovery, chain, head), time: 0, isClosed: isClosed)
    if !isClosed { start.lastSequence = max(start.lastSequence, start.sequenceBound) }
    let mustRelog =
      lock != nil && damage.isEmpty && !isClosed && recovery.proven != recovery.end
    if mustRelog { tail.end = recovery.proven }
    chain.segments[chain.segments.count - 1] = tail

    var writer: LogWriter?
    var refusal: DatabaseError?
    if lock != nil {
      if let first = damage.first {
        refusal = DatabaseError(
          .readOnly, "the store is open for reading only, because it is damaged",
          hint: "Rescue what is sound with `logdump salvage`, or restore a backup", path: path,
          underlying: DatabaseError(first))
      } else {
        let made = makeWriter(last.header.preamble.storeID, start)
        writer = made
        if mustRelog {
          var whole = tail
          whole.end = recovery.end
          do throws(LogError) {
            try relog(
              LogWriter.Relog(segment: whole, proven: recovery.proven, end: recovery.end), made)
            if let active = made.active { chain.segments.append(active) }
            report.securedCommits = Int(clamping: recovery.end.commit - recovery.proven.commit)
          } catch .system(let error) where error.isLackOfSpace {
            // A segment that is in its place already is the log's end, even if HEAD does not say so.
            if let active = made.active {
              chain.segments.append(active)
            } else {
              chain.segments[chain.segments.count - 1] = whole
            }
            // Everything can be read, as by a read-only opening; it is made durable another time.
            writer = nil
            refusal = DatabaseError(
              .readOnly, "the store is open for reading only, because the disk is full",
              hint: "Make space, and open it again", path: path, underlying: DatabaseError(error))
            report.notes.append("The disk is full, so the store is open for reading only")
          }
        }
      }
    } else {
      refusal = DatabaseError(
        .readOnly, "the database was opened for reading only",
        hint: "Open it without `isReadOnly` to write", path: path)
    }

    // Bring the log into the index.
    var replay = Replay(
      onto: checkpoint?.state ?? StoreState(nodeSize: configuration.nodeSize),
      isFromNothing: checkpoint == nil)
    let replayedSize = try run(&replay, chain, position)
    damage += replay.damage.filter { found in
      !damage.contains { $0.path == found.path && $0.offset == found.offset }
    }
    if writer != nil, replay.damage.isEmpty {
      // Not where anything is damaged: what stands for nothing may hold what is missing then.
      try removeLeftovers(chain, files, checkpoint?.checkpoint)
      // If it was given up just now, there is no room to make it again.
      if !files.contains(.reserve) { directory.makeReserve(size: configuration.reserveSize) }
    }
    if refusal == nil || lock != nil, let first = replay.damage.first, writer != nil {
      writer = nil
      refusal = DatabaseError(
        .readOnly, "the store is open for reading only, because it is damaged",
        hint: "Rescue what is sound with `logdump salvage`, or restore a backup", path: path,
        underlying: DatabaseError(first))
    }
    report.damage = damage.map { DatabaseError($0) }
    report.replayedCommits = replay.commitCount
    var state = replay.state
    state.lastSequence = max(state.lastSequence, start.lastSequence)
    writer?.resume(time: state.time)
    return OpenedStore(
      directory: directory, storeID: last.header.preamble.storeID, report: report, lock: lock,
      writer: writer, refusal: refusal, state: state, checkpoint: checkpoint?.checkpoint,
      replayedSize: replayedSize)
  }

  private func opened(
    _ state: StoreState, _ start: LogWriter.Start, storeID: StoreID, lock: (any FileLock)?,
    report: OpeningReport, checkpoint: Checkpoint?
  ) -> OpenedStore {
    OpenedStore(
      directory: directory, storeID: storeID, report: report, lock: lock,
      writer: lock == nil ? nil : makeWriter(storeID, start),
      refusal: lock == nil
        ? DatabaseError(.readOnly, "the database was opened for reading only", path: path) : nil,
      state: state, checkpoint: checkpoint)
  }

  private func makeWriter(_ storeID: StoreID, _ start: LogWriter.Start) -> LogWriter {
    LogWriter(
      directory, storeID: storeID,
      settings: LogWriter.Settings(
        segmentSizeGoal: configuration.segmentSizeGoal,
        isMapped: configuration.reads == .mapped,
        sequenceReserve: configuration.sequenceReserve, now: configuration.now,
        random: configuration.random),
      continuing: start)
  }

  private func floor(_ head: Head, _ last: Segment) -> LogRecovery.Floor {
    let isOfLast =
      head.segmentNumber == last.header.numbers.upperBound
      && head.segmentSalt == last.header.preamble.salt
    return LogRecovery.Floor(
      // A newer segment than the last one was there once, even if nothing was in it yet.
      commit: head.segmentNumber > last.header.numbers.upperBound
        ? max(head.floor.commit, last.header.predecessor.commit) + 1 : head.floor.commit,
      offset: isOfLast ? head.floor.offset : 0, witness: "HEAD")
  }

  private func highestFileID(
    _ chain: SegmentChain, _ checkpoint: Checkpoint?
  ) throws(LogError) -> UInt64 {
    var highest = chain.segments.map(\.fileID).max() ?? 0
    // Leftovers had numbers too, which locators of the checkpoint may still name.
    for case .segment(let numbers) in chain.leftovers {
      if let file = try? SegmentFile(numbers, in: directory) {
        highest = max(highest, file.header.fileID)
      }
    }
    return max(highest, checkpoint?.highestFileID ?? 0)
  }

  private func lastSequence(
    _ recovery: LogRecovery, _ chain: SegmentChain, _ head: Head?, _ checkpoint: Checkpoint?
  ) -> UInt64 {
    max(
      recovery.lastTrailer?.lastSequence ?? 0,
      chain.segments.map(\.header.lastSequence).max() ?? 0, head?.lastSequence ?? 0,
      checkpoint?.lastSequence ?? 0)
  }

  private func sequenceBound(
    _ recovery: LogRecovery, _ chain: SegmentChain, _ head: Head?
  ) -> UInt64 {
    max(
      recovery.sequenceBound, chain.segments.map(\.header.sequenceBound).max() ?? 0,
      head?.sequenceBound ?? 0)
  }

  /// Logs again what was left in doubt; if the disk is full, with the reserve released.
  private func relog(_ relog: LogWriter.Relog, _ writer: LogWriter) throws(LogError) {
    do throws(LogError) {
      try writer.begin(after: relog.proven, relogging: relog)
    } catch .system(let error) where error.isLackOfSpace {
      // If it cannot be removed, there is no more room than before, and the next error says so.
      try? directory.remove(.reserve)
      if writer.active == nil {
        try writer.begin(after: relog.proven, relogging: relog)
      } else {
        // The segment is in its place, and must not be made twice; only HEAD is behind.
        try writer.replaceHead(isClosed: false)
      }
    }
  }

  /// Deletes files that stand for nothing, so that no later opening takes them for something.
  private func removeLeftovers(
    _ chain: SegmentChain, _ files: Set<FileName>, _ checkpoint: Checkpoint?
  ) throws(LogError) {
    var leftovers = chain.leftovers
    for case .checkpoint(let number) in files {
      if checkpoint?.rests(on: number) != true { leftovers.append(.checkpoint(number)) }
    }
    guard !leftovers.isEmpty else { return }
    for name in leftovers { try directory.remove(name) }
    try directory.flush()
  }

  /// Replays what the checkpoint does not cover; returns how many bytes that were.
  private func run(
    _ replay: inout Replay, _ chain: SegmentChain, _ position: Checkpoint.Position?
  ) throws(LogError) -> Int {
    var first =
      position.flatMap { position in
        chain.segments.firstIndex { $0.header.numbers.contains(position.segmentNumber) }
      } ?? 0
    if let position, chain.segments[first].header.merge != nil,
      chain.segments[first].fileID == position.fileID
    {
      // The checkpoint covers a merged segment as a whole.
      first += 1
    }
    for segment in chain.segments[..<first] { replay.state.segments.update(segment) }
    let total = max(1, chain.segments[first...].reduce(0) { $0 + Int(clamping: $1.end.offset) })
    var done = 0
    var replayed = 0
    for segment in chain.segments[first...] {
      let start = position?.fileID == segment.fileID ? position?.end : nil
      let begin = start.map { Int(clamping: $0.offset) } ?? SegmentHeader.size
      replayed += max(0, Int(clamping: segment.end.offset) - begin)
      let goesOn = try replay.run(segment, from: start) { offset in
        configuration.openingProgress?(Double(done + offset) / Double(total)) ?? true
      }
      done += Int(clamping: segment.end.offset)
      guard goesOn, configuration.openingProgress?(Double(done) / Double(total)) ?? true else {
        throw .system(SystemError(call: "open", path: path, code: .cancelled))
      }
    }
    return replayed
  }
}
