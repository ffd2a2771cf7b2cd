import Synchronization

/// Writes into `FLUSHED` how far the log was flushed, after each flush and before anyone is told of it.
///
/// So when the process ends, the system has a witness of each commit that was acknowledged as durable, apart
/// from the log: one cut does not take both. The witness itself is flushed only when as much log as
/// the limit says was flushed since `HEAD` or it was; so a loss of power leaves no more than that without one.
///
/// It is evidence only. What fails here fails no commit: it is tried again at the next flush, and a file that
/// could not be made, when `HEAD` is replaced.
///
/// Invariant: a mark is written only after the flush that it speaks of has succeeded.
package final class FlushMarks: Sendable {
  private struct State {
    var file: (any OpenFile)?
    var segment: SegmentHeader?
    /// The last commit that a mark names.
    var commit: UInt64 = 0
    /// Which of the three marks was written last.
    var newest = 0
    /// Which of them was flushed: it stays until another one was.
    var flushed = 0
    /// The place in the segment of which a witness is durable.
    var witnessed: UInt64 = 0
  }

  private let directory: StoreDirectory
  private let limit: UInt64
  private let state = Guarded(State())

  /// Once more bytes of log than `limit` says were flushed, the witness is, too.
  package init(in directory: StoreDirectory, limit: Int) {
    self.directory = directory
    self.limit = UInt64(limit)
  }
}

extension FlushMarks {
  /// Notes that a segment begins, whose name and bytes so far are durable, and so is all before it.
  package func begin(_ segment: SegmentHeader, at end: LogEnd) {
    state.withLock {
      $0.segment = segment
      $0.commit = end.commit
      $0.witnessed = UInt64(SegmentHeader.size)
    }
  }

  /// Makes the file, unless this writer has made it.
  ///
  /// Its name becomes durable with that of `HEAD`, which is replaced next. Until then `HEAD` and the headers
  /// of segments prove no less than the file that had the name.
  package func makeFile(through end: LogEnd) {
    let segment = state.withLock { $0.file == nil ? $0.segment : nil }
    guard let segment else { return }
    var writer = ByteWriter(capacity: FlushMark.fileSize)
    writer.append(FlushMarks.mark(segment, end).encode())
    writer.appendZeros(FlushMark.fileSize - FlushMark.size)
    let bytes = writer.sharedCopy
    let file = try? directory.place(.flushed) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(bytes, at: 0) }
    }
    state.withLock {
      $0.file = file
      $0.newest = 0
      $0.flushed = 0
    }
  }

  /// Notes that `HEAD` says, durably, how far a segment was flushed.
  package func noteHead(_ head: Head) {
    state.withLock {
      guard $0.segment?.preamble.salt == head.segmentSalt else { return }
      $0.witnessed = max($0.witnessed, head.floor.offset)
    }
  }

  /// Writes that a segment was flushed up to `end`, unless a mark says as much.
  package func note(_ end: LogEnd, in fileID: UInt64) {
    // One after the other: of two that flush at the same time, the later one must not overwrite the mark that the
    // other one relies on.
    state.withLock { state in
      guard let file = state.file, let segment = state.segment, segment.fileID == fileID,
        end.commit > state.commit
      else { return }
      let mark = FlushMarks.mark(segment, end).encode()
      let place = (0..<3).first { $0 != state.newest && $0 != state.flushed } ?? 0
      do throws(SystemError) {
        try file.write(mark, at: FlushMark.offsets[place])
        state.commit = end.commit
        state.newest = place
        guard end.offset - state.witnessed >= limit else { return }
        try file.flush()
        state.flushed = place
        state.witnessed = end.offset
      } catch {
        // The next flush of the log tries again, and until then the mark before this one counts.
      }
    }
  }

  private static func mark(_ segment: SegmentHeader, _ end: LogEnd) -> FlushMark {
    var preamble = segment.preamble
    preamble.kind = .flushed
    return FlushMark(
      preamble: preamble, segmentNumber: segment.numbers.upperBound, end: end)
  }
}
