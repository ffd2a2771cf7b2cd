import DivanLog
import Synchronization

extension Store {
  /// Compacts segments while that pays.
  ///
  /// If the store is being closed, the current compaction is completed, so that even short sessions
  /// compact a part.
  func compactWhatPays() throws(DatabaseError) { try compactGroups(isForced: false) }

  /// Compacts all segments that contain dead records, and all small ones.
  func compactEverything() throws(DatabaseError) {
    try pruneHistory()
    try sweepAttachments()
    try deleteOrphanedAttachments()
    try writeCheckpoint()
    try compactGroups(isForced: true)
  }

  /// Compacts group after group, with a checkpoint after each compaction to release the inputs.
  ///
  /// Segments that cannot be read are left out, and the first error is thrown when the others are
  /// compacted.
  private func compactGroups(isForced: Bool) throws(DatabaseError) {
    var problem: DatabaseError?
    while true {
      let leftOutCount = maintenance.state.withLock { $0.damaged.count }
      do throws(DatabaseError) {
        guard try compactOnce(isForced: isForced) else { break }
      } catch  where error.code == .damaged || error.code == .inputOutput {
        problem = problem ?? error
        guard maintenance.state.withLock({ $0.damaged.count }) > leftOutCount else { break }
        if !isForced, maintenance.isStopped { break }
        continue
      }
      try writeCheckpoint()
      if !isForced, maintenance.isStopped { break }
    }
    if let problem { throw problem }
  }

  /// Compacts one group of neighbouring segments; returns false if none is worth it.
  private func compactOnce(isForced: Bool) throws(DatabaseError) -> Bool {
    try finishCompaction()
    let (position, damaged) = maintenance.state.withLock { ($0.checkpoint?.position, $0.damaged) }
    guard let position else { return false }
    let policy = CompactionPolicy(
      segmentSizeGoal: UInt64(configuration.segmentSizeGoal),
      sizeLimit: UInt64(configuration.compactedSegmentSizeLimit), isForced: isForced,
      keyID: directory.cipher?.keyID)
    let begun = try withWriter { (writer) throws(DatabaseError) in
      let inputs = policy.choose(
        from: writer.newest.segments, activeFileID: writer.activeSegment?.fileID, through: position,
        except: damaged)
      return inputs.isEmpty ? nil : beginCompaction(of: inputs, &writer)
    }
    guard let begun else { return false }
    let start = ContinuousClock.now
    let output: Segment
    do throws(DatabaseError) {
      output = try write(begun, isForced: isForced)
    } catch {
      leaveOut(begun.inputs, after: error)
      discardOutput(of: begun.inputs)
      throw error
    }
    maintenance.state.withLock { $0.unfinished = (output, begun.inputs) }
    try finishCompaction()
    noteCompaction(of: begun.inputs, into: output, since: start)
    return true
  }

  /// Has the output of a failed compaction deleted with the next checkpoint, if it got its name.
  ///
  /// Otherwise a later compaction could take only some of its inputs, and others. Without a
  /// checkpoint, an opening could not tell which of the two files to use. The output of a single
  /// segment has replaced that one in the directory, and stays: it is enough to rebuild the index.
  private func discardOutput(of inputs: [Segment]) {
    guard inputs.count > 1, let first = inputs.first?.header, let last = inputs.last?.header
    else { return }
    let name = FileName.segment(first.numbers.lowerBound...last.numbers.upperBound)
    // If it is unknown whether it exists, it may.
    guard (try? directory.fileSystem.exists(directory.path(of: name))) != false else { return }
    maintenance.state.withLock { _ = $0.replaced.insert(name) }
  }

  /// Leaves segments out of later compactions that cannot be read.
  ///
  /// A damaged one stays unchanged: a compaction would destroy the evidence. If something else is
  /// damaged, such as the index, it is unknown which input needs it, and none of them is tried
  /// before the store is opened again. Without this, the same inputs would be chosen each time,
  /// and no others.
  private func leaveOut(_ inputs: [Segment], after error: DatabaseError) {
    guard error.code == .damaged || error.code == .inputOutput else { return }
    var unreadable = inputs.filter { $0.file.path == error.path }
    if unreadable.isEmpty, error.code == .damaged { unreadable = inputs }
    maintenance.state.withLock { $0.damaged.formUnion(unreadable.map(\.fileID)) }
  }

  /// Writes the live records of the inputs to a new segment.
  private func write(_ begun: BegunCompaction, isForced: Bool) throws(DatabaseError) -> Segment {
    var filter = CompactionFilter(
      ReadView(state: begun.state, environment), inputs: begun.inputs,
      awaitingDeletion: maintenance.state.withLock { $0.replaced }, isForced: isForced)
    var failure: DatabaseError?
    /// Runs `body`, and keeps its error, which is more exact than a `LogError`.
    func keepingError<R>(_ body: () throws(DatabaseError) -> R) throws(LogError) -> R {
      do throws(DatabaseError) {
        return try body()
      } catch {
        failure = error
        throw .system(SystemError(call: "compact", path: path, code: .inputOutput))
      }
    }
    do throws(LogError) {
      return try SegmentCompaction.run(
        SegmentCompaction.Order(
          inputs: begun.inputs, fileID: begun.fileID, salt: configuration.random(),
          now: configuration.now(), evaluatedAt: begun.state.commit,
          releasedThrough: begun.releasedThrough, isMapped: configuration.readMode.isMapped),
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
      throw failure ?? DatabaseError(error)
    }
  }

  private struct BegunCompaction {
    let state: Version
    let inputs: [Segment]
    let fileID: UInt64
    let tail: LogTail
    /// Versions before this commit may be incomplete after the compaction.
    let releasedThrough: UInt64
  }

  private func beginCompaction(
    of inputs: [Segment], _ writer: inout WriterState
  ) -> BegunCompaction? {
    guard commits.failure == nil, let fileID = writer.log?.takeFileID(), let tail = writer.tail
    else { return nil }
    // Without history, only the newest version is certain to be complete.
    let retainsHistory = configuration.history.isOn || writer.pinnedThrough(in: self) > 0
    let newest = writer.newest
    return BegunCompaction(
      state: newest, inputs: inputs, fileID: fileID, tail: tail,
      releasedThrough: retainsHistory ? newest.historyHorizon : newest.commit)
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
    try withWriter { (writer) throws(DatabaseError) in
      writer.changeNewest { version in
        version.segments.update(output)
        // If an earlier attempt has failed, all records are counted again.
        version.segments.setUsage(SegmentTable.Usage(), of: output.fileID)
        version.noteCompaction()
      }
    }
    var scan = RecordScan(output)
    var isDone = false
    while !isDone {
      try withWriter { (writer) throws(DatabaseError) in
        isDone = try writer.changeNewest { (version) throws(DatabaseError) in
          try move(&scan, from: replaced, count: 2000, in: &version)
        }
      }
    }
    try withWriter { (writer) throws(DatabaseError) in
      writer.changeNewest { version in
        version.segments.replace(replaced, with: output.fileID)
        version.noteCompaction()
      }
      maintenance.state.withLock {
        // A compaction of a single segment reuses its input's name.
        let others = inputs.map(\.file.name).filter { $0 != output.file.name }
        $0.replaced.formUnion(others)
        // An earlier attempt may have failed after the output got its name.
        $0.replaced.remove(output.file.name)
        if others.count < inputs.count { $0.isCheckpointSpent = true }
      }
    }
  }

  /// Moves the index entries of the next `count` records; returns true at the end.
  private func move(
    _ scan: inout RecordScan, from inputs: Set<UInt64>, count: Int, in newest: inout Version
  ) throws(DatabaseError) -> Bool {
    var scratch = ByteWriter(capacity: 128)
    // No two records of a compacted segment have the same key, so what was moved before need not be
    // seen. A view for each record costs more than all else here.
    let view = ReadView(state: newest, environment)
    for _ in 0..<count {
      let item = try translating { () throws(LogError) in try scan.nextRecord() }
      guard let item else { return true }
      try move(item, from: inputs, in: &newest, seenBy: view, scratch: &scratch)
    }
    return false
  }

  /// Points the index at a record of the output if it refers to an input now.
  private func move(
    _ item: RecordScan.Entry, from inputs: Set<UInt64>, in newest: inout Version,
    seenBy view: ReadView, scratch: inout ByteWriter
  ) throws(DatabaseError) {
    newest.segments.noteAdded(item.locator)
    // A compaction also keeps some records that the index does not name: removals, and kinds that
    // only a later version can read. They are not dead.
    let record = try view.decode(item)
    if case .skipped = record { return }
    if RemovalKey(removedBy: record) != nil { return }
    let slot = try TreeSlot(of: record, in: view)
    let old = try slot?.locator(in: view)
    // An earlier attempt may have moved it.
    if old == item.locator { return }
    guard let slot, let old, inputs.contains(old.fileID) else {
      return newest.segments.noteDead(item.locator)
    }
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
