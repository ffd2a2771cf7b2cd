import DivanLog

/// An opened store, with everything needed to use it.
struct OpenedStore: ~Copyable {
  var directory: StoreDirectory
  var storeID: StoreID
  var report: OpeningReport
  /// Nil if the store cannot be written to; ``refusal`` says why.
  var writer: LogWriter?
  var refusal: DatabaseError?
  var state: Version
  var checkpoint: Checkpoint?
  /// What `HEAD` said; nil if it could not be read.
  var head: Head?
  /// The last sequence number that may have been used, perhaps by commits that are not seen yet.
  var reservedSequence: UInt64 = 0
  /// The number of the checkpoint that the opening chose, even if replay could not read a page of
  /// it; 0 if there was none to use.
  var highestCheckpoint: UInt64 = 0
  /// Bytes of log after the checkpoint.
  var replayedSize = 0
}

/// Opens a store: finds its valid files, and reads them into the index.
///
/// Follows the order of FILE_FORMAT.md §8. No existing file is changed. Doubtful commits are
/// reappended to a new segment, and only then can the store be read.
struct StoreOpening {
  let path: String
  let fileSystem: any FileSystem
  let configuration: Configuration
  /// Receives the progress, and returns whether to continue.
  let shouldContinue: (Double) -> Bool
  private var directory: StoreDirectory
  /// The store that must be there, because it was open before; nil if any may be, or none.
  private var expected: Expected?

  /// A store that was open before.
  private struct Expected {
    let storeID: StoreID
    let earlier: Version.Counters
  }

  init(
    _ path: String, on fileSystem: any FileSystem, _ configuration: Configuration,
    shouldContinue: @escaping (Double) -> Bool
  ) {
    self.path = path
    self.fileSystem = fileSystem
    self.configuration = configuration
    self.shouldContinue = shouldContinue
    directory = StoreDirectory(path, on: fileSystem, cipher: configuration.cipher)
  }

  /// Opens a store again that was open before in `directory`, with that ID and those counters.
  ///
  /// It is not created if it is missing, and must not be older than it was.
  init(
    _ directory: StoreDirectory, _ configuration: Configuration, expecting storeID: StoreID,
    _ earlier: Version.Counters
  ) {
    path = directory.path
    fileSystem = directory.fileSystem
    self.configuration = configuration
    shouldContinue = { _ in true }
    self.directory = directory
    expected = Expected(storeID: storeID, earlier: earlier)
  }
}

extension StoreOpening {
  mutating func open() throws(DatabaseError) -> OpenedStore {
    let clock = ContinuousClock()
    let start = clock.now
    if configuration.isReadOnly { try requireExpectedID() }
    var opened = configuration.isReadOnly ? try openForReading() : try openForWriting()
    try requireExpected(opened)
    opened.report.duration = clock.now - start
    return opened
  }

  // MARK: For writing

  private mutating func openForWriting() throws(DatabaseError) -> OpenedStore {
    if expected == nil { try makeDirectory() }
    let isEmpty = try translating { () throws(LogError) in try directory.checkIsStore() }
    if isEmpty, expected != nil { throw missing() }
    let lock: any FileLock
    do throws(DatabaseError) {
      lock = try StoreOpening.lock(
        directory,
        hint: "Use the database that is open, close it first, or open this one with `isReadOnly`")
    } catch  where error.code == .diskFull {
      return try openOnFullDisk(error)
    }
    directory.lock = lock
    do throws(DatabaseError) {
      try requireExpectedID()
      do throws(LogError) {
        // `LOCK` marks the directory as a store's, so it is made durable before any other file.
        if isEmpty { try directory.flush() }
        try prepareDirectory()
      } catch .system(let error) where error.isLackOfSpace {
        lock.release()
        directory.lock = nil
        return try openOnFullDisk(DatabaseError(error))
      } catch {
        throw DatabaseError(error)
      }
      let opened = try translating { () throws(LogError) in try read(lock: lock) }
      if configuration.damage == .reject { try refuseDamage(opened.report) }
      return opened
    } catch {
      lock.release()
      throw error
    }
  }

  /// Opens a store for reading when not even an empty file can be made, as without free inodes.
  private func openOnFullDisk(_ failure: DatabaseError) throws(DatabaseError) -> OpenedStore {
    let files = try translating { () throws(LogError) in try directory.listing().files }
    // Without anything to read, the caller wanted a new store.
    guard files.contains(where: { if case .segment = $0 { true } else { false } }) else {
      throw failure
    }
    var opened = try openForReading()
    let (refusal, note) = LogOpening.refusalForLackOfSpace(failure, path: path)
    opened.refusal = refusal
    opened.report.notes.append(note)
    return opened
  }

  /// Creates the store's directory if there is none.
  private func makeDirectory() throws(DatabaseError) {
    do throws(SystemError) {
      guard try fileSystem.status(path).kind == .directory else {
        throw SystemError(call: "open", path: path, code: .notADirectory)
      }
    } catch  where error.code == .notFound {
      do throws(SystemError) {
        try makeDirectoryAndParents(at: path)
      } catch {
        throw DatabaseError(error, making: "the store", at: path)
      }
    } catch  where error.code == .notADirectory {
      throw DatabaseError(
        .notAStore, "a store is a directory, and this is a file", hint: "Choose another path",
        path: path)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// Creates a directory, and those around it that are missing.
  ///
  /// The names of these are durable before the store depends on them; that of the store's own
  /// directory is later: see ``prepareDirectory()``.
  private func makeDirectoryAndParents(at path: String) throws(SystemError) {
    do {
      try makeDirectory(at: path)
    } catch  where error.code == .notFound {
      let parent = parentDirectory(of: path)
      guard parent != path else { throw error }
      try makeDirectoryAndParents(at: parent)
      try fileSystem.flushDirectory(parentDirectory(of: parent))
      try makeDirectory(at: path)
    }
  }

  /// Creates a directory, unless another process has just done so.
  private func makeDirectory(at path: String) throws(SystemError) {
    do { try fileSystem.makeDirectory(path) } catch  where error.code == .exists {}
  }

  /// Takes the lock of a store, and leaves a note of this process in `LOCK`.
  static func lock(
    _ directory: StoreDirectory, hint: String
  ) throws(DatabaseError) -> any FileLock {
    let own = "process \(processID())"
    let outcome = try translating { () throws(LogError) in
      try attempt { () throws(SystemError) in
        try directory.fileSystem.lock(
          directory.path(of: .lock), note: StoreDirectory.lockNote(own))
      }
    }
    switch outcome {
    case .acquired(let lock): return lock
    case .held(let note):
      let holder = StoreDirectory.holder(inNote: note)
      throw DatabaseError(
        .storeInUse,
        holder == own
          ? "the store is open in this process already"
          : "the store is open in \(holder.isEmpty ? "another process" : holder)",
        hint: hint, path: directory.path)
    }
  }

  /// Makes every visible name durable, and removes the temporary files of earlier writers.
  private func prepareDirectory() throws(LogError) {
    let temporaries = directory.path(of: .temporaries)
    try attempt { () throws(SystemError) in
      if try fileSystem.exists(temporaries) {
        // Folders, and files with other names, are not the store's.
        for name in try fileSystem.list(temporaries) where StoreDirectory.isTemporary(name) {
          guard try fileSystem.entry("\(temporaries)/\(name)").kind == .file else { continue }
          try fileSystem.remove("\(temporaries)/\(name)")
        }
      } else {
        try makeDirectory(at: temporaries)
      }
      try fileSystem.flushDirectory(path)
    }
    let hasSegments = try directory.listing().files.contains {
      if case .segment = $0 { true } else { false }
    }
    if !hasSegments {
      // The directory may be new, made perhaps by a process that then ended. Its own name must be
      // durable before the first commit.
      let parent = parentDirectory(of: path)
      try attempt { () throws(SystemError) in try fileSystem.flushDirectory(parent) }
      // Those around it may be new, too. This process may not be allowed to open them, and not
      // every system flushes them; but a flush that failed may have lost a name.
      var outer = parentDirectory(of: parent)
      var last = parent
      while outer != last {
        do throws(SystemError) {
          try fileSystem.flushDirectory(outer)
        } catch  where error.code == .inputOutput {
          throw .system(error)
        } catch {}
        (last, outer) = (outer, parentDirectory(of: outer))
      }
    }
  }

  private func refuseDamage(_ report: OpeningReport) throws(DatabaseError) {
    guard let first = report.damage.first else { return }
    throw DatabaseError(
      .damaged, "the store is damaged, and was not opened: \(first.message)",
      hint:
        "Rescue what is sound with `logdump salvage`, or restore a backup; open it with `isReadOnly`, or with "
        + "`Configuration.damage` as `.salvage`, to read what is left",
      path: first.path ?? path, offset: first.offset, underlying: first)
  }

  // MARK: A store that was open before

  /// Throws if the segments belong to another store, before anything is changed.
  private func requireExpectedID() throws(DatabaseError) {
    guard let expected, expected.earlier.hasLog else { return }
    let files = try translating { () throws(LogError) in try directory.listing().files }
    for case .segment(let numbers) in files.sorted() {
      // If a header cannot be read, opening reports the damage.
      guard let file = try? SegmentFile(numbers, in: directory) else { continue }
      guard file.header.preamble.storeID == expected.storeID else { throw missing() }
      return
    }
  }

  /// Throws if an opened store is not the one that was open before, or is older.
  private func requireExpected(_ opened: borrowing OpenedStore) throws(DatabaseError) {
    guard let expected, expected.earlier.hasLog else { return }
    guard opened.storeID == expected.storeID, opened.state.segments.newest != nil else {
      throw missing()
    }
    guard opened.state.commit >= expected.earlier.commit else {
      if expected.earlier.mayLackCommits { throw lostCommits() }
      throw DatabaseError(
        .damaged,
        "the store ends with commit \(opened.state.commit), and had \(expected.earlier.commit) "
          + "when this database read it last",
        hint:
          "An older copy may have replaced it: close the database, and open the store again to use it",
        path: path)
    }
    if expected.earlier.mayLackCommits { try requireCommits(of: expected.earlier, opened) }
  }

  /// Throws unless the log proves that it has the commits that were shown.
  private func requireCommits(
    of earlier: Version.Counters, _ opened: borrowing OpenedStore
  ) throws(DatabaseError) {
    let segments = opened.state.segments.segments
    let hasAll = try translating { () throws(LogError) -> Bool in
      guard let last = earlier.lastSegment else { return true }
      return try SegmentChain.hasCommits(
        through: earlier.commit, earlier.lastSequence, endingIn: last, among: segments)
    }
    guard hasAll else { throw lostCommits() }
  }

  private func lostCommits() -> DatabaseError {
    DatabaseError(
      .outcomeUnknown,
      "commits of weaker durability that this database has shown may be lost, since a flush failed",
      hint: "Close the database, and open the store again", path: path)
  }

  private func missing() -> DatabaseError {
    DatabaseError(
      .notFound, "the store that this database had open is no longer at its path",
      hint: "Move it back, or close the database, and open the store at its current path",
      path: path)
  }

  // MARK: For reading

  private func openForReading() throws(DatabaseError) -> OpenedStore {
    // A file may vanish after it is listed and before it is opened, when a compacted one replaces
    // it. HEAD may name a segment that came after the listing. So a finding counts only if the
    // directory and HEAD are the same before and after it.
    for _ in 0..<16 {
      let before = try translating { () throws(LogError) in try directoryState() }
      do throws(LogError) {
        let opened = try read(lock: nil)
        if opened.report.damage.isEmpty { return opened }
        if try directoryState() == before { return opened }
      } catch .system(let error) where error.code == .notFound && error.path != path {
        continue
      } catch .system(let error) where error.code == .cancelled {
        throw DatabaseError(error)
      } catch {
        let after = try translating { () throws(LogError) in try directoryState() }
        if after == before { throw DatabaseError(error) }
      }
    }
    return try translating { () throws(LogError) in try read(lock: nil) }
  }

  /// Returns the state that a writer changes whenever it adds or removes a file.
  private func directoryState() throws(LogError) -> DirectoryState {
    DirectoryState(files: try directory.listing().files, head: try directory.head().head)
  }

  private struct DirectoryState: Equatable {
    let files: Set<FileName>
    let head: Head?
  }

  // MARK: Both

  private func read(lock: (any FileLock)?) throws(LogError) -> OpenedStore {
    let isWriter = lock != nil
    var report = OpeningReport()
    let (files, unrelated) = try directory.listing()
    report.notes += unrelated.map { "\($0) is not a file of a store and was left unchanged" }
    let (head, headProblem) = try directory.head()
    if let headProblem { report.notes.append("HEAD cannot be read: \(DatabaseError(headProblem))") }
    // Read before the segments: a concurrent writer writes the mark after the log.
    let (marks, markProblem) = try directory.flushMarks()
    if let markProblem {
      report.notes.append("FLUSHED cannot be read: \(DatabaseError(markProblem))")
    }
    let hasSegments = files.contains { if case .segment = $0 { true } else { false } }

    guard hasSegments else {
      // A writer has checked this before it took the lock.
      guard try isWriter ? true : directory.isStore() else {
        throw .foreign(path: path, reason: "the directory does not contain a store")
      }
      let loss = try directory.lossOfSegments(
        among: files, hasHead: head != nil || headProblem != nil,
        hasMarks: !marks.isEmpty || markProblem != nil)
      if let loss { throw .damaged(loss) }
      report.ending = isWriter ? .created : .closed
      if isWriter { directory.makeReserve(size: configuration.reserveSize) }
      let storeID =
        expected?.storeID ?? StoreID(high: configuration.random(), low: configuration.random())
      return OpenedStore(
        directory: directory, storeID: storeID, report: report,
        writer: isWriter
          ? LogWriter(directory, storeID: storeID, configuration, continuing: .empty) : nil,
        refusal: isWriter
          ? nil
          : DatabaseError(.readOnly, "the database was opened for reading only", path: path),
        state: Version(nodeSize: configuration.nodeSize))
    }
    var log = try LogOpening(
      directory, configuration, files: files, head: head, marks: marks, lock: lock,
      report: report, shouldContinue: shouldContinue)
    var opened = try log.open()
    if !isWriter { try noteMisplacedFolders(files, in: &opened.report) }
    return opened
  }

  /// Reports names of store folders that something else has.
  ///
  /// A writer refuses such a store; a reader reads the rest.
  private func noteMisplacedFolders(
    _ files: Set<FileName>, in report: inout OpeningReport
  ) throws(LogError) {
    do throws(LogError) {
      try directory.checkFolders(files)
    } catch .foreignDirectory(let path, let reason) {
      report.damage.append(DatabaseError(.damaged(Damage(path: path, offset: 0, reason: reason))))
    }
  }
}
