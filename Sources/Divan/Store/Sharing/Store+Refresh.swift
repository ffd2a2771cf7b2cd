import DivanLog
import Synchronization

extension Store {
  /// Shows the latest whole commit of the process that writes; returns whether it is another one.
  ///
  /// What was read before is not read again, as long as the segments are there. If the writer has
  /// removed one, the store is opened again.
  func refresh() throws(DatabaseError) -> Bool {
    try requireOutsideOfWrite("refresh")
    transitions.acquire()
    defer { transitions.release() }
    guard !isClosed, !isSuspended else { throw unavailableError }
    // A store that is open for writing has no other writer.
    guard configuration.isReadOnly else { return false }
    return try withLockedState { (writer) throws(DatabaseError) in try refresh(&writer) }
  }

  private func refresh(_ writer: inout WriterState) throws(DatabaseError) -> Bool {
    let earlier = writer.newest.counters
    switch readNew(writer) {
    case .nothing: return false
    case .version(var opened):
      writer.followed.head = opened.head
      writer.followed.size += opened.replayedSize
      let reserved = opened.reservedSequence
      environment.opening.withLock { $0.reservedSequence = reserved }
      opened.state.services = AttachedServices()
      writer.load(opened.state)
    case .lost:
      throw DatabaseError(
        .outcomeUnknown,
        "commits that this database has shown were lost when a flush of the writer failed",
        hint: "Close the database, and open the store again", path: path)
    case .unknown:
      var opening = StoreOpening(directory, configuration, expecting: storeID, earlier)
      var opened = try opening.open()
      let results = OpeningResults(opened)
      environment.opening.withLock { $0 = results }
      opened.state.follow(earlier)
      writer.load(opened.state)
      writer.followed = FollowedLog(head: opened.head)
    }
    commits.show(writer.newest)
    return writer.newest.commit != earlier.commit
  }

  /// What was read of the log after the newest version.
  private enum NewLog: ~Copyable {
    case nothing
    case version(OpenedStore)
    /// The log cannot be continued from there.
    case unknown
    /// The log does not have all that was read.
    case lost
  }

  /// The size of the log read since the last checkpoint at which the next checkpoint is used.
  ///
  /// Until then the changes of the index are in memory, and replaced files take space on the disk.
  private var followedSizeLimit: Int { 2 * configuration.checkpointInterval }

  /// Reads what was appended to the log.
  private func readNew(_ writer: borrowing WriterState) -> NewLog {
    let newest = writer.newest
    let followed = writer.followed
    do throws(LogError) {
      // The evidence is read before the log, which is then at least as long as it says.
      let marks = try directory.flushMarks().marks
      let head = try directory.head().head
      let segments = newest.segments.segments
        .sorted { $0.header.numbers.lowerBound < $1.header.numbers.lowerBound }
      guard let last = segments.last else { return head == followed.head ? .nothing : .unknown }
      let isSameHead = head == followed.head
      // A compacted segment does not grow.
      let isGrown = last.header.compaction == nil ? try last.isGrown() : false
      if isSameHead, !isGrown { return .nothing }
      guard newest.gap == nil, followed.size <= followedSizeLimit else { return .unknown }
      let files = isSameHead ? nil : try directory.listing().files
      let chain: SegmentChain
      switch try SegmentChain.following(
        segments, through: newest.lastSequence, among: files, in: directory,
        isMapped: configuration.readMode.isMapped)
      {
      case .continued(let found): chain = found
      case .replaced: return .unknown
      case .lost: return .lost
      }
      var log = LogOpening(
        following: chain, from: newest, last, in: directory, configuration, head: head,
        marks: marks)
      let opened = try log.open()
      guard opened.report.damage.isEmpty, opened.checkpoint != nil else { return .unknown }
      return .version(opened)
    } catch {
      // A file may have vanished, or may be read while it is written.
      return .unknown
    }
  }
}
