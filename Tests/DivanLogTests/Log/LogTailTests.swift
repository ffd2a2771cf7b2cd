import Dispatch
import DivanTesting
import Synchronization
import Testing

@testable import DivanLog

/// Tests of flushes of the log by several threads, and of the durable watermark.
struct LogTailTests {
  private let preamble = FilePreamble(
    kind: .segment, storeID: StoreID(high: 1, low: 2), salt: 3, createdAt: 4)

  private func end(_ offset: UInt64, commit: UInt64) -> LogEnd {
    LogEnd(offset: offset, commit: commit, chain: 0)
  }

  // Found by a review: both threads flushed the file, but the system reports a write failure only
  // once.
  @Test
  func `two threads that flush at the same time both report a failed flush`()
    async throws
  {
    let tail = LogTail(sequenceBound: 1000)
    let file = FileThatFailsOnce()
    tail.noteFlushed(
      LogTail.Point(file: file, fileID: 1, end: end(4096, commit: 1), sequenceBound: 1000))
    tail.noteAppended(
      LogTail.Point(file: file, fileID: 1, end: end(5000, commit: 2), sequenceBound: 1000))
    let results = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<2 { group.addTask { (try? tail.flush()) != nil } }
      return await group.reduce(into: [Bool]()) { $0.append($1) }
    }
    #expect(results == [false, false])
    #expect(tail.isPoisoned)
  }

  // Found by a review: the distance to the position in HEAD was calculated as an unsigned number.
  @Test func `a flush before the position in HEAD does not stop later marks in FLUSHED`() throws {
    let disk = SimulatedFileSystem()
    try disk.makeDirectory("/s")
    try disk.makeDirectory("/s/tmp")
    let directory = StoreDirectory("/s", on: disk)
    let marks = FlushMarks(in: directory, limit: 100)
    let header = SegmentHeader(
      preamble: preamble, fileID: 1, numbers: 1...1, generation: 0,
      predecessor: end(0, commit: 0), lastSequence: 0, sequenceBound: 0, flushedSize: 0,
      compaction: nil)
    marks.begin(header, at: end(4096, commit: 0))
    marks.makeFile(through: end(4096, commit: 0))
    marks.noteHead(
      Head(
        preamble: preamble, segmentNumber: 1, segmentSalt: 3, watermark: end(9000, commit: 9),
        lastSequence: 9, sequenceBound: 9, isClosed: false))
    marks.note(end(5000, commit: 5), in: 1)
    marks.note(end(9900, commit: 10), in: 1)
    let found = try directory.flushMarks()
    #expect(found.problem == nil)
    #expect(found.marks.map(\.end.commit).max() == 10)
  }
}

/// A file whose first flush fails after a second one has begun, or after a timeout.
///
/// All other flushes succeed.
private final class FileThatFailsOnce: OpenFile {
  let path = "/file"
  private let flushCount = Atomic(0)
  private let isJoined = DispatchSemaphore(value: 0)

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int { 0 }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {}
  func size() throws(SystemError) -> Int { 0 }
  func map(_ count: Int) throws(SystemError) -> SharedBytes { .empty }
  func close() throws(SystemError) {}

  func flush() throws(SystemError) {
    guard flushCount.add(1, ordering: .sequentiallyConsistent).oldValue == 0 else {
      isJoined.signal()
      return
    }
    _ = isJoined.wait(timeout: .now() + 0.3)
    throw SystemError(call: "flush", path: path, code: .inputOutput)
  }
}
