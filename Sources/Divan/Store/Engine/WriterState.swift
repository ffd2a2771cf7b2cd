import DivanLog

/// The state that belongs to the thread with the writer lock: the end of the log, and the newest
/// version of the index.
///
/// ``Store/withWriter(_:)`` lends it to one thread at a time. The next transaction builds on
/// ``newest``. While the store is in use, only ``commit(_:needsFlush:)`` and ``changeNewest(_:)``
/// change what it leads to. Both publish the result, so readers never miss a change.
struct WriterState: ~Copyable, Sendable {
  /// Appends to the log; nil if the store cannot be written to.
  var log: LogWriter?
  /// The newest version, which the next transaction builds on.
  private(set) var newest: Version
  /// The highest sequence number of any named snapshot; nil while that is not known.
  var knownPin: UInt64?
  /// The counters of the last version before the store was suspended; nil if it is not.
  var suspended: Version.Counters?
  /// How far the log was read, if the store is open for reading only.
  var followed: FollowedLog
  /// Shows versions to readers.
  private let commits: GroupCommit

  init(
    _ log: consuming LogWriter?, _ newest: Version, _ followed: FollowedLog,
    publishingTo commits: GroupCommit
  ) {
    self.log = log
    self.newest = newest
    self.followed = followed
    self.commits = commits
  }
}

extension WriterState {
  // MARK: Changing the newest version

  /// Makes the version of an appended transaction the newest one, and returns its commit number.
  ///
  /// Readers see it once it is as durable as requested.
  mutating func commit(_ version: Version, needsFlush: Bool) -> UInt64 {
    newest = version
    if let end = log?.end, let time = log?.lastTime {
      (newest.commit, newest.time) = (end.commit, time)
    }
    newest.services = AttachedServices()
    noteActiveSegment()
    commits.add(newest, needsFlush: needsFlush)
    return newest.commit
  }

  /// Changes how the newest version is stored, and not what it contains.
  ///
  /// Readers see the result, also if an error is thrown.
  mutating func changeNewest<R, E: Error>(
    _ change: (inout Version) throws(E) -> R
  ) throws(E) -> R {
    defer { commits.replaceNewest(with: newest) }
    return try change(&newest)
  }

  /// Replaces the newest version by one from the files, which no reader of this process has seen.
  ///
  /// The caller publishes it, since that ends or begins more than a version.
  mutating func load(_ version: Version) {
    newest = version
    knownPin = nil
  }

  // MARK: The log

  /// The end of the log that other threads may use; nil if the store cannot be written to.
  var tail: LogTail? {
    switch log {
    case .some(let log): log.tail
    case .none: nil
    }
  }

  /// The segment that is appended to; nil if there is none yet.
  var activeSegment: Segment? {
    switch log {
    case .some(let log): log.active
    case .none: nil
    }
  }

  /// Ensures that there is a segment to append to; returns where the next transaction begins.
  mutating func prepareLog() throws(LogError) -> (fileID: UInt64, offset: Int) {
    // A new segment counts even if something failed after that.
    defer { noteActiveSegment() }
    guard let start = try log?.prepare() else { throw .closed }
    return start
  }

  /// Appends the records of the transaction that makes a version.
  mutating func append(
    _ buffer: inout TransactionBuffer, making version: Version
  ) throws(LogError) {
    guard log != nil else { throw .closed }
    try log?.append(
      &buffer, lastSequence: version.lastSequence, documentCount: version.documentCount)
  }

  /// Updates the newest version with the segment that is appended to.
  ///
  /// Nothing needs to be published: no version has locators in it before the next commit.
  private mutating func noteActiveSegment() {
    if let active = activeSegment { newest.segments.update(active) }
  }
}
