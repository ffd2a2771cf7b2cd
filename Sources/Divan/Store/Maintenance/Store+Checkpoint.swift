import DivanLog
import Synchronization

extension Store {
  /// Writes a checkpoint of the changes since the last one, if there are any.
  ///
  /// Takes the writer lock at the beginning and the end only.
  func writeCheckpoint() throws(DatabaseError) {
    try finishCompaction()
    let start = ContinuousClock.now
    guard
      let begun = try withWriter({ (writer) throws(DatabaseError) in beginCheckpoint(&writer) })
    else { return }
    let written: WrittenCheckpoint
    do throws(DatabaseError) {
      written = try write(begun)
    } catch {
      try withWriter { (writer) throws(DatabaseError) in abandonCheckpoint(&writer) }
      throw error
    }
    try withWriter { (writer) throws(DatabaseError) in install(written, &writer) }
    noteCheckpoint(begun.version.commit, size: written.size, since: start)
    try deleteReplacedFiles(by: written.checkpoint)
    // If there was room for a checkpoint, there may be room to recreate a released reserve.
    directory.makeReserve(size: configuration.reserveSize)
  }

  /// Does the same for a caller that holds the writer lock.
  func writeCheckpoint(_ writer: inout WriterState) throws(DatabaseError) {
    // The next opening works without the checkpoint, and drops the compaction.
    guard maintenance.state.withLock({ $0.unfinished == nil }) else { return }
    let start = ContinuousClock.now
    if let begun = beginCheckpoint(&writer) {
      let written: WrittenCheckpoint
      do throws(DatabaseError) {
        written = try write(begun)
      } catch {
        abandonCheckpoint(&writer)
        throw error
      }
      install(written, &writer)
      noteCheckpoint(begun.version.commit, size: written.size, since: start)
      try deleteReplacedFiles(by: written.checkpoint)
    }
  }

  /// Writes a checkpoint if the memtables are large, as while an index is built or removed.
  ///
  /// A failure does no harm: until a checkpoint succeeds, only memory is used. This call does not
  /// try again before the memtables have twice that size.
  func writeCheckpointIfLarge() {
    let size = commits.visible?.state.memtableSize ?? 0
    let failedSize = maintenance.state.withLock { $0.failedMemtableSize }
    guard size >= max(configuration.memtableSizeLimit, 2 * failedSize) else { return }
    do throws(DatabaseError) {
      try maintenance.exclusively(self) { () throws(DatabaseError) in try writeCheckpoint() }
    } catch {
      maintenance.state.withLock { $0.failedMemtableSize = size }
    }
  }

  private struct BegunCheckpoint {
    let number: UInt64
    let version: Version
    let position: Checkpoint.Position
    let tail: LogTail
    let previous: Checkpoint?
  }

  private struct WrittenCheckpoint {
    let checkpoint: Checkpoint
    let runs: [[Run]]
    /// The size of the file.
    let size: Int
  }

  /// Makes the memtables immutable, to be written; returns nil if the last checkpoint is current.
  private func beginCheckpoint(_ writer: inout WriterState) -> BegunCheckpoint? {
    guard commits.failure == nil, let position = writer.logPosition, let tail = writer.tail
    else { return nil }
    let hasChanges = writer.newest.memtableSize > 0
    let (number, previous, isNeeded) = maintenance.state.withLock { state in
      let isNeeded =
        state.checkpoint?.position.end.commit != position.end.commit || !state.replaced.isEmpty
        || state.isCheckpointSpent || hasChanges
      guard isNeeded else { return (0 as UInt64, state.checkpoint, false) }
      state.lastNumber += 1
      state.pendingSize = 0
      return (state.lastNumber, state.checkpoint, true)
    }
    guard isNeeded else { return nil }
    tail.noteCovered()
    writer.changeNewest { version in
      for tree in Version.trees { version[keyPath: tree].freezeMemtable() }
      version.immutableSequence = version.lastSequence
    }
    return BegunCheckpoint(
      number: number, version: writer.newest, position: position, tail: tail, previous: previous)
  }

  /// Makes the immutable memtables part of the mutable ones again.
  private func abandonCheckpoint(_ writer: inout WriterState) {
    writer.changeNewest { version in
      for tree in Version.trees { version[keyPath: tree].unfreezeMemtable() }
    }
  }

  /// Writes the pages and the directory under the checkpoint's name.
  private func write(_ begun: BegunCheckpoint) throws(DatabaseError) -> WrittenCheckpoint {
    let version = begun.version
    var checkpoint = Checkpoint(
      number: begun.number, position: begun.position, time: version.time,
      lastSequence: version.lastSequence, documentCount: version.documentCount,
      highestFileID: version.segments.segments.map(\.fileID).reduce(0, max),
      historyHorizon: version.historyHorizon, members: version.segments.members, trees: [])
    let salt = configuration.random()
    let preamble = FilePreamble(
      kind: .checkpoint, storeID: storeID, salt: salt, createdAt: configuration.now(),
      keyID: directory.keyID)
    var merged: [Int] = []
    // `install` passes on only errors of the log.
    var failure: DatabaseError?
    var size = 0
    do throws(LogError) {
      _ = try directory.install(
        .checkpoint(begun.number),
        // Otherwise the index could be ahead of the log.
        beforeRename: { () throws(LogError) in _ = try begun.tail.flush() }
      ) { (file) throws(LogError) in
        let encryption = try directory.encryption(preamble, path: file.path)
        let sink = PageSink(
          CheckpointFileWriter(
            file, preamble: preamble, commit: version.commit, encryptedBy: encryption))
        do throws(DatabaseError) {
          for index in Version.trees.indices {
            let (count, locators) = try writeTree(index, of: begun, salt: salt, to: sink)
            merged.append(count)
            checkpoint.trees.append(locators)
          }
        } catch {
          failure = error
          throw .system(SystemError(call: "write", path: directory.path, code: .inputOutput))
        }
        var directoryBytes = ByteWriter(capacity: 4096)
        checkpoint.encode(to: &directoryBytes)
        let header = try sink.finish(number: begun.number, directory: directoryBytes)
        size = header.directoryOffset + Int(clamping: header.directorySize)
      }
    } catch {
      throw failure ?? DatabaseError(error)
    }
    let runs = try open(checkpoint, merged: merged, version)
    return WrittenCheckpoint(checkpoint: checkpoint, runs: runs, size: size)
  }

  /// Writes the pages of one tree; returns how many runs were merged, and where all its runs are.
  private func writeTree(
    _ index: Int, of begun: BegunCheckpoint, salt: UInt64, to sink: PageSink
  ) throws(DatabaseError) -> (mergedCount: Int, locators: [Checkpoint.RunLocator]) {
    let version = begun.version
    let path = Version.trees[index]
    let tree = version[keyPath: path]
    let mergedCount = runsToMerge(tree)
    var locators = Array(begun.previous.runs(ofTree: index).dropFirst(mergedCount))
    // Lookups of sequence numbers that do not exist are rare.
    let isFiltered = path != \.sequences
    if let summary = try writeRun(
      tree, mergingNewest: mergedCount, isFiltered: isFiltered,
      ReadView(state: version, environment), to: sink)
    {
      locators.insert(
        Checkpoint.RunLocator(
          checkpoint: begun.number, salt: salt, commit: version.commit, summary: summary), at: 0)
    }
    return (mergedCount, locators)
  }

  /// Returns how many of the newest runs to merge into a new one.
  ///
  /// Keeps the number of runs low, and writes each entry only a few times.
  private func runsToMerge(_ tree: LayeredTree) -> Int {
    let counts = tree.runs.map(\.count)
    guard let base = counts.last else { return 0 }
    var gathered = tree.immutableCount
    if 4 * (gathered + counts.dropLast().reduce(0, +)) >= base { return counts.count }
    var merged = 0
    while merged < counts.count - 1, counts[merged] <= 2 * gathered || counts.count - merged > 4 {
      gathered += counts[merged]
      merged += 1
    }
    return merged
  }

  /// Writes one run; nil if it would be empty.
  private func writeRun(
    _ tree: LayeredTree, mergingNewest count: Int, isFiltered: Bool, _ view: ReadView,
    to sink: PageSink
  ) throws(DatabaseError) -> RunSummary? {
    var entries = tree.entriesToWrite(mergingNewestRuns: count)
    let keyCount = tree.runs.prefix(count).reduce(tree.immutableCount) { $0 + $1.count }
    var writer = RunWriter(
      pageSize: sink.pageSize, filteredKeys: isFiltered ? keyCount : 0
    ) { (page) throws(LogError) in try sink.append(page) }
    while true {
      while let leafRange = try view.repairing({ (_) throws(PageError) in
        try entries.nextLeafRange()
      }) {
        try translating { () throws(LogError) in
          try writer.append(leafRange, keepsTombstones: entries.keepsTombstones)
        }
      }
      let entry = try view.repairing { (_) throws(PageError) in try entries.next() }
      guard let entry else { break }
      try translating { () throws(LogError) in try writer.append(entry) }
    }
    guard !writer.isEmpty else { return nil }
    return try translating { () throws(LogError) in try writer.finish() }
  }

  /// Opens the runs that a new checkpoint names: its own, and older ones that are already open.
  private func open(
    _ checkpoint: Checkpoint, merged: [Int], _ version: Version
  ) throws(DatabaseError) -> [[Run]] {
    try translating { () throws(LogError) in
      let file = try CheckpointFile.open(
        checkpoint.number, in: directory, isMapped: configuration.readMode.isMapped)
      let source = CheckpointPages.source(of: file)
      var runs: [[Run]] = []
      for (index, path) in Version.trees.enumerated() {
        var tree = Array(version[keyPath: path].runs.dropFirst(merged[index]))
        if let locator = checkpoint.trees[index].first, locator.checkpoint == checkpoint.number {
          do throws(PageError) {
            let firstPage = checkpoint.firstPage(of: locator.summary, pageSize: file.pageSize)
            let run = try Run(
              source, locator.summary, firstPage: firstPage, commit: locator.commit)
            tree.insert(run, at: 0)
          } catch {
            throw .damaged(Damage(path: file.path, offset: 0, reason: "\(error)"))
          }
        }
        runs.append(tree)
      }
      return runs
    }
  }

  /// Replaces the immutable memtables with the new runs.
  private func install(_ written: WrittenCheckpoint, _ writer: inout WriterState) {
    writer.changeNewest { version in
      for (tree, runs) in zip(Version.trees, written.runs) {
        version[keyPath: tree].replaceImmutable(with: runs)
      }
    }
    maintenance.state.withLock {
      $0.checkpoint = written.checkpoint
      $0.isCheckpointSpent = false
      $0.failedMemtableSize = 0
    }
    // HEAD is only evidence; if it cannot be replaced now, creating the next segment tries again.
    try? writer.log?.replaceHead(isClosed: false)
  }

  /// Deletes the files that neither the log nor the newest checkpoint needs.
  private func deleteReplacedFiles(by checkpoint: Checkpoint) throws(DatabaseError) {
    try translating { () throws(LogError) in
      let replaced = maintenance.state.withLock { $0.replaced }
      let listed = Set(checkpoint.members.map { FileName.segment($0.segment.numbers) })
      var obsolete = replaced.subtracting(listed)
      for case .checkpoint(let number) in try directory.listing().files
      where !checkpoint.depends(on: number) {
        obsolete.insert(.checkpoint(number))
      }
      guard !obsolete.isEmpty else { return }
      let failureCount = directory.failureCount
      for name in obsolete.sorted() { try directory.remove(name) }
      try directory.flush(since: failureCount)
      maintenance.state.withLock { $0.replaced.subtract(obsolete) }
    }
  }
}

extension WriterState {
  /// The log's end as a checkpoint records it; nil if there is no log.
  fileprivate var logPosition: Checkpoint.Position? {
    (activeSegment ?? newest.segments.newest).map {
      Checkpoint.Position(
        segmentNumber: $0.header.numbers.upperBound, fileID: $0.fileID, end: $0.end)
    }
  }
}

extension Checkpoint? {
  /// The runs of a tree, newest first.
  fileprivate func runs(ofTree index: Int) -> [Checkpoint.RunLocator] {
    guard let trees = self?.trees, index < trees.count else { return [] }
    return trees[index]
  }
}

/// A reference to a checkpoint file's writer, so that closures can append pages.
private final class PageSink {
  private var writer: CheckpointFileWriter

  init(_ writer: consuming CheckpointFileWriter) { self.writer = writer }

  /// The size of each page in bytes.
  var pageSize: Int { writer.pageSize }

  func append(_ page: Span<UInt8>) throws(LogError) -> UInt32 { try writer.append(page: page) }

  func finish(
    number: UInt64, directory: borrowing ByteWriter
  ) throws(LogError) -> CheckpointHeader {
    try writer.finish(number: number, directory: directory)
  }
}
