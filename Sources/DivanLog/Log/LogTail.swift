import Synchronization

/// The ends of the appended and of the flushed log.
///
/// The writer shares them with threads that wait for a flush.
package final class LogTail: Sendable {
  /// A position in the log, with the file to flush to make it durable.
  package struct Point: Sendable {
    package let file: any OpenFile
    package let fileID: UInt64
    package let end: LogEnd
    /// Sequence numbers up to this one may be used once this position is durable.
    package let sequenceBound: UInt64
  }

  fileprivate struct State {
    var appended: Point?
    var flushed: Point?
    var sequenceBound: UInt64
    /// The highest bound that was ever stated and flushed, also in trailers that no longer count.
    var highestBound: UInt64
    /// The bound that HEAD and the headers of segments state.
    var statedBound: UInt64 = 0
    /// No opening reads the trailers up to this commit, because a checkpoint covers them.
    var coveredCommit: UInt64 = 0
    /// The failure after which nothing may be written, if there was one.
    var failure: SystemError?
  }

  private let state: Guarded<State>
  /// The number of calls of ``flush()``; locked during each of them.
  ///
  /// An empty value would have the mutex's address, which the thread sanitizer reports as a race.
  private let flushCount = Guarded(0)
  /// The marks that record how far the log was flushed; nil if there are none.
  private let marks: FlushMarks?

  package init(sequenceBound: UInt64, marks: FlushMarks? = nil) {
    self.marks = marks
    state = Guarded(State(sequenceBound: sequenceBound, highestBound: sequenceBound))
  }
}

extension LogTail {
  /// Whether a flush has failed, so that nothing more may be written.
  package var isPoisoned: Bool { state.withLock { $0.failure != nil } }

  /// Prevents all further writes after a failure that leaves it unknown which bytes are durable.
  package func poison(_ failure: SystemError) {
    state.withLock { $0.failure = $0.failure ?? failure }
  }

  /// The last sequence number that may be used: the bound is durable.
  package var sequenceBound: UInt64 { state.withLock { $0.sequenceBound } }

  /// The bound to be stated from now on, so that no statement is lower than an earlier one.
  package var highestBound: UInt64 { state.withLock { $0.highestBound } }

  /// Notes a bound that HEAD states now.
  package func raiseSequenceBound(to bound: UInt64) { state.withLock { $0.state(bound) } }

  /// Notes that a checkpoint may soon cover everything that was appended.
  ///
  /// The next opening then reads on after it, and the sequence bounds in the trailers before it no
  /// longer count.
  package func noteCovered() {
    state.withLock {
      $0.coveredCommit = $0.appended?.end.commit ?? 0
      $0.sequenceBound = $0.statedBound
    }
  }

  /// Returns the last position in a file that is known to be flushed; nil if there is none.
  package func flushedEnd(in fileID: UInt64) -> LogEnd? {
    state.withLock { $0.flushed.flatMap { $0.fileID == fileID ? $0.end : nil } }
  }

  /// The last commit that was appended; nil if none was.
  package var appendedCommit: UInt64? { state.withLock { $0.appended?.end.commit } }

  /// The file that is appended to; nil if there is none yet.
  package var activeFileID: UInt64? { state.withLock { $0.appended?.fileID } }

  /// Notes that the log now ends at `point`.
  package func noteAppended(_ point: Point) { state.withLock { $0.appended = point } }

  /// Notes that a segment begins, and that it is durable up to `point`.
  package func noteFlushed(_ point: Point) {
    state.withLock {
      $0.appended = point
      $0.flushed = point
      $0.state(point.sequenceBound)
    }
  }

  /// Flushes everything that was appended before the call; returns the last durable commit.
  ///
  /// A failure is final: the system may report success the next time although the bytes are gone.
  package func flush() throws(LogError) -> UInt64 {
    // One flush at a time: the system reports a failure of writing to one of two concurrent flushes
    // only, and the other one would acknowledge what was lost.
    try flushCount.withLock { (count) throws(LogError) -> UInt64 in
      count += 1
      let (target, flushed, failure) = state.withLock { ($0.appended, $0.flushed, $0.failure) }
      guard let target else { return 0 }
      if let flushed, flushed.fileID == target.fileID, flushed.end == target.end {
        return target.end.commit
      }
      if let failure { throw .system(failure) }
      do throws(SystemError) {
        try target.file.flush()
      } catch {
        poison(error)
        throw .system(error)
      }
      // Before any thread can see that it is durable.
      marks?.note(target.end, in: target.fileID)
      state.withLock {
        // Another thread may have flushed more meanwhile, or begun the next segment.
        let isBehind = $0.flushed.map { $0.end.commit >= target.end.commit } == true
        if !isBehind { $0.flushed = target }
        $0.highestBound = max($0.highestBound, target.sequenceBound)
        if target.end.commit > $0.coveredCommit {
          $0.sequenceBound = max($0.sequenceBound, target.sequenceBound)
        }
      }
      return target.end.commit
    }
  }
}

extension LogTail.State {
  fileprivate mutating func state(_ bound: UInt64) {
    statedBound = max(statedBound, bound)
    sequenceBound = max(sequenceBound, bound)
    highestBound = max(highestBound, bound)
  }
}
