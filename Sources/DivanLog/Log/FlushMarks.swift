import Synchronization

/// Records in `FLUSHED` how far the log is flushed, after each flush and before it is reported.
///
/// When the process ends, the system therefore has evidence, apart from the log, of each commit
/// that was acknowledged as durable: one cut does not remove both. The evidence itself is flushed
/// only when `limit` bytes of log were flushed since `HEAD` or the evidence was. A loss of power
/// therefore leaves at most that much log without evidence.
///
/// It is evidence only. A failure here fails no commit: the write is tried again at the next flush.
/// If the file could not be made, that is tried again when `HEAD` is replaced.
///
/// Invariant: a mark is written only after the flush that it records has succeeded.
package final class FlushMarks: Sendable {
  private struct State {
    var file: (any OpenFile)?
    var segment: SegmentHeader?
    /// The last commit that a mark names.
    var commit: UInt64 = 0
    /// The index of the mark that was written last.
    var newest = 0
    /// The index of the mark that was flushed last; it is kept until another one is flushed.
    var flushed = 0
    /// The offset in the segment up to which there is durable evidence.
    var witnessed: UInt64 = 0
  }

  private let directory: StoreDirectory
  private let limit: UInt64
  private let state = Guarded(State())

  /// Flushes the evidence, too, whenever `limit` bytes of log were flushed without it.
  package init(in directory: StoreDirectory, limit: Int) {
    self.directory = directory
    self.limit = UInt64(limit)
  }
}

extension FlushMarks {
  /// Notes that a segment begins; its name, its bytes so far and everything before are durable.
  package func begin(_ segment: SegmentHeader, at end: LogEnd) {
    state.withLock {
      $0.segment = segment
      $0.commit = end.commit
      $0.witnessed = UInt64(SegmentHeader.size)
    }
  }

  /// Makes the file, unless this writer has made it.
  ///
  /// Its name becomes durable with that of `HEAD`, which is replaced next. Until then, `HEAD` and
  /// the headers of segments prove no less than the previous file of that name.
  package func makeFile(through end: LogEnd) {
    let segment = state.withLock { $0.file == nil ? $0.segment : nil }
    guard let segment else { return }
    var writer = ByteWriter(capacity: FlushMark.fileSize)
    writer.append(FlushMarks.mark(segment, end).encode())
    writer.appendZeros(FlushMark.fileSize - FlushMark.size)
    let bytes = writer.sharedCopy
    let file = try? directory.installUnflushed(.flushed) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(bytes, at: 0) }
    }
    state.withLock {
      $0.file = file
      $0.newest = 0
      $0.flushed = 0
    }
  }

  /// Notes that `HEAD` durably states how far a segment was flushed.
  package func noteHead(_ head: Head) {
    state.withLock {
      guard $0.segment?.preamble.salt == head.segmentSalt else { return }
      $0.witnessed = max($0.witnessed, head.watermark.offset)
    }
  }

  /// Writes that a segment was flushed up to `end`, unless a mark says so already.
  package func note(_ end: LogEnd, in fileID: UInt64) {
    // One after the other: of two concurrent flushes, the later one must not overwrite the mark
    // that the other one relies on.
    state.withLock { state in
      guard let file = state.file, let segment = state.segment, segment.fileID == fileID,
        end.commit > state.commit
      else { return }
      let mark = FlushMarks.mark(segment, end).encode()
      let slot = (0..<3).first { $0 != state.newest && $0 != state.flushed } ?? 0
      do throws(SystemError) {
        try file.write(mark, at: FlushMark.offsets[slot])
        state.commit = end.commit
        state.newest = slot
        guard end.offset >= state.witnessed + limit else { return }
        try file.flush()
        state.flushed = slot
        state.witnessed = end.offset
      } catch {
        // The next flush of the log tries again, and until then the previous mark counts.
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
