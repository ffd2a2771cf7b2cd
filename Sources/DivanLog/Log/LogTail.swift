import Synchronization

/// How far the log was appended to, and how far it was flushed: shared by the one who appends and
/// those who wait for a flush.
package final class LogTail: Sendable {
  /// A place in the log, with the file to flush to make it durable.
  package struct Point: Sendable {
    package let file: any OpenFile
    package let fileID: UInt64
    package let end: LogEnd
    /// Sequence numbers up to this one may be used once this place is durable.
    package let sequenceBound: UInt64
  }

  fileprivate struct State {
    var appended: Point?
    var flushed: Point?
    var sequenceBound: UInt64
    /// The highest bound that was ever stated and flushed, in trailers that count no more as well.
    var highestBound: UInt64
    /// The bound that HEAD and the headers of segments state.
    var statedBound: UInt64 = 0
    /// No opening reads the trailers up to this commit, because a checkpoint covers them.
    var coveredCommit: UInt64 = 0
    /// Why nothing more may be written, if so.
    var failure: SystemError?
  }

  private let state: Guarded<State>
  /// Where it is written how far the log was flushed; nil if nowhere.
  private let marks: FlushMarks?

  package init(sequenceBound: UInt64, marks: FlushMarks? = nil) {
    self.marks = marks
    state = Guarded(State(sequenceBound: sequenceBound, highestBound: sequenceBound))
  }
}

extension LogTail {
  /// Whether a flush has failed, so that nothing more may be written.
  package var isPoisoned: Bool { state.withLock { $0.failure != nil } }

  /// Lets nothing more be written, because of a failure after which nobody knows what is durable.
  package func poison(_ failure: SystemError) {
    state.withLock { $0.failure = $0.failure ?? failure }
  }

  /// Sequence numbers up to this one may be used: the bound is durable.
  package var sequenceBound: UInt64 { state.withLock { $0.sequenceBound } }

  /// What is to be stated from now on, so that no statement is lower than one before it.
  package var highestBound: UInt64 { state.withLock { $0.highestBound } }

  /// Notes a bound that HEAD states now.
  package func raiseSequenceBound(to bound: UInt64) { state.withLock { $0.state(bound) } }

  /// Notes that a checkpoint may soon cover all that was appended.
  ///
  /// Then the next opening reads on behind it, and what the trailers before it said of sequence numbers
  /// counts no more.
  package func noteCovered() {
    state.withLock {
      $0.coveredCommit = $0.appended?.end.commit ?? 0
      $0.sequenceBound = $0.statedBound
    }
  }

  /// The last place in a file that is known to be flushed; nil if none is.
  package func flushedEnd(in fileID: UInt64) -> LogEnd? {
    state.withLock { $0.flushed.flatMap { $0.fileID == fileID ? $0.end : nil } }
  }

  /// The last commit that was appended; nil if none was.
  package var appendedCommit: UInt64? { state.withLock { $0.appended?.end.commit } }

  /// The file that is appended to; nil if there is none yet.
  package var activeFileID: UInt64? { state.withLock { $0.appended?.fileID } }

  /// Notes that the log now ends at `point`.
  package func noteAppended(_ point: Point) { state.withLock { $0.appended = point } }

  /// Notes that a segment begins, and that it is durable to `point`.
  package func noteFlushed(_ point: Point) {
    state.withLock {
      $0.appended = point
      $0.flushed = point
      $0.state(point.sequenceBound)
    }
  }

  /// Flushes everything that was appended before the call; returns the last durable commit.
  ///
  /// A failure is final: the system may report success the next time, with the bytes gone.
  package func flush() throws(LogError) -> UInt64 {
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
    // Before anyone can see that it is durable.
    marks?.note(target.end, in: target.fileID)
    state.withLock {
      // Somebody else may have flushed more meanwhile, or begun the next segment.
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

extension LogTail.State {
  fileprivate mutating func state(_ bound: UInt64) {
    statedBound = max(statedBound, bound)
    sequenceBound = max(sequenceBound, bound)
    highestBound = max(highestBound, bound)
  }
}
