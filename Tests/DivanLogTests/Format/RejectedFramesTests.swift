import DivanLog
import DivanTesting
import TestSupport
import Testing

/// Tests of segments and checkpoints whose frames are intact but do not belong together.
@Suite struct RejectedFramesTests {
  private let directory = StoreDirectory("/store", on: SimulatedFileSystem())

  private func segment(_ forged: ForgedSegment, end: LogEnd? = nil) throws -> Segment {
    try forged.write(to: directory)
    return Segment(
      file: try SegmentFile(forged.header.numbers, in: directory), mapped: .empty,
      end: end ?? forged.end(commit: 99))
  }

  /// Returns the results of reading the transactions of a segment, in order.
  private func transactions(_ forged: ForgedSegment) throws -> [String] {
    var reader = TransactionReader(try segment(forged), limit: forged.size)
    var results: [String] = []
    while true {
      switch try reader.next() {
      case .transaction(let transaction): results.append("commit \(transaction.commit)")
      case .broken(_, let reason):
        results.append(reason)
        guard try reader.resume() else { return results }
      case .end: return results + ["end"]
      }
    }
  }

  private let record = ForgedSegment.record(200, [1, 2, 3])

  @Test func `a frame that breaks the chain is skipped, and later frames are read`()
    throws
  {
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record)
    forged.appendFrame(
      commit: 2, breakingChain: true, payload: record + ForgedSegment.trailer())
    forged.appendTransaction(commit: 3, record)
    #expect(
      try transactions(forged) == [
        "commit 1", "the frame does not follow the one before it", "commit 3", "end",
      ])
  }

  @Test func `a transaction needs all of its frames in order`() throws {
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record)
    forged.appendFrame(.transaction, .first, commit: 2, payload: record)
    // A first frame instead of a middle one.
    forged.appendTransaction(commit: 3, record)
    // A middle frame and a last one, without a first.
    forged.appendFrame(.transaction, [], commit: 4, payload: record)
    forged.appendFrame(.transaction, .last, commit: 4, payload: record + ForgedSegment.trailer())
    forged.appendTransaction(commit: 5, record)
    // A frame of a compacted segment.
    forged.appendFrame(.compacted, [], commit: 6, payload: record)
    forged.appendTransaction(commit: 6, record)
    // A repeated commit number.
    forged.appendTransaction(commit: 6, record)
    forged.appendTransaction(commit: 7, record)
    let order = "the frame is out of order"
    #expect(
      try transactions(forged) == [
        "commit 1", order, "commit 3", order, "commit 5", order, "commit 6", order, "commit 7",
        "end",
      ])
  }

  @Test func `a commit without a valid trailer does not count`() throws {
    var forged = ForgedSegment()
    forged.appendFrame(commit: 1, payload: record + ForgedSegment.trailer(frameCount: 2))
    forged.appendFrame(commit: 2, payload: [1, 2, 3])
    forged.appendTransaction(commit: 3, record)
    forged.appendFrame(.transaction, .first, commit: 4, payload: record)
    let trailer = "the commit has no valid trailer"
    #expect(
      try transactions(forged) == [
        trailer, trailer, "commit 3", "the transaction has no end",
      ])
  }

  @Test func `a frame header is not followed if its payload is cut off`() throws {
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record)
    let size = forged.size
    // A header without a payload at the end, after eight zero bytes.
    var writer = ByteWriter()
    writer.appendZeros(FrameHeader.size)
    _ = FrameHeader(
      kind: .transaction, flags: [.first, .last], payloadSize: 800, payloadChecksum: 0, commit: 2,
      chain: 1
    ).encode(into: &writer, at: 0, offset: size + 8, salt: forged.header.preamble.salt)
    let segment = try segment(forged)
    let disk = try #require(directory.fileSystem as? SimulatedFileSystem)
    try disk.overwrite(
      segment.file.path, atOffset: size, with: [UInt8](repeating: 0, count: 8) + writer.array)
    var reader = TransactionReader(segment, limit: size + 8 + writer.count)
    guard case .transaction = try reader.next(), case .broken(let offset, _) = try reader.next()
    else {
      Issue.record("expected a whole transaction and a broken frame")
      return
    }
    #expect(offset == size)
    #expect(try !reader.resume())
  }

  // MARK: Records

  /// Returns the results of scanning a segment's records.
  private func records(_ forged: ForgedSegment, end: LogEnd? = nil) throws -> [String] {
    var scan = RecordScan(try segment(forged, end: end))
    var results: [String] = []
    while true {
      switch try scan.next() {
      case .record(let entry): results.append("record of \(entry.commit)")
      case .commit(let end, _): results.append("commit \(end.commit)")
      case .damage(let damage): results.append(damage.reason)
      case .end: return results
      }
    }
  }

  @Test func `a damaged record makes the rest of its frame unreadable, but no other frame`() throws
  {
    var bad = record
    bad[bad.count - 1] ^= 1
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record + bad + record)
    forged.appendTransaction(commit: 2, record)
    #expect(
      try records(forged, end: forged.end(commit: 2)) == [
        "record of 1", "the record's checksum is wrong", "commit 1", "record of 2", "commit 2",
      ])
  }

  @Test func `transactions that do not end at the expected position are damage`() throws {
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record)
    let first = forged.end(commit: 1)
    forged.appendTransaction(commit: 2, record)
    let whole = ["record of 1", "commit 1", "record of 2", "commit 2"]
    #expect(try RejectedFramesTests().records(forged, end: forged.end(commit: 2)) == whole)
    #expect(try RejectedFramesTests().records(forged, end: first) == Array(whole.prefix(2)))
    for wrong in [
      LogEnd(offset: 0, commit: 2, chain: 0), LogEnd(offset: first.offset, commit: 2, chain: 0),
      LogEnd(offset: first.offset, commit: first.commit, chain: ~first.chain),
    ] {
      let results = try RejectedFramesTests().records(forged, end: wrong)
      #expect(results.last?.contains("the segment ends with commit") == true)
      #expect(results.dropLast() == whole.prefix(wrong.offset == 0 ? 0 : 2))
    }
  }

  private let compaction = SegmentHeader.Compaction(
    evaluatedAt: 1, releasedThrough: 0, end: LogEnd(offset: 1, commit: 1, chain: 1), fileSize: 0)

  @Test func `a compacted segment has only its own kinds of frames, and ends with a footer`()
    throws
  {
    let mark = ForgedSegment.record(2, [7, 1])
    var forged = ForgedSegment(compaction: compaction)
    forged.appendFrame(.compacted, [], commit: 7, payload: mark + record)
    forged.appendTransaction(commit: 8, record)
    forged.appendFrame(.compacted, [], commit: 8, payload: record)
    #expect(
      try records(forged) == [
        "record of 7", "the frame is of a kind that does not belong in a compacted segment",
      ])

    var endless = ForgedSegment(numbers: 2...2, fileID: 2, compaction: compaction)
    endless.appendFrame(.compacted, [], commit: 7, payload: mark + record)
    #expect(try records(endless) == ["record of 7", "the footer is missing"])

    var broken = ForgedSegment(numbers: 3...3, fileID: 3, compaction: compaction)
    broken.appendFrame(.compacted, [], commit: 7, payload: mark + record)
    broken.appendFrame(.compacted, [], commit: 7, breakingChain: true, payload: mark + record)
    broken.appendFrame(.footer, [], commit: 7, payload: [2, 0, 0, 0, 0, 0, 0, 0])
    #expect(
      try records(broken) == ["record of 7", "the frame does not follow the one before it"])
    // After a frame that is cut off, nothing more can be found.
    var cut = ForgedSegment(numbers: 4...4, fileID: 4, compaction: compaction)
    cut.appendFrame(.compacted, [], commit: 7, payload: mark + record)
    #expect(
      try records(cut, end: LogEnd(offset: UInt64(cut.size - 8), commit: 7, chain: 0))
        == ["the frame is cut off"])
  }

  @Test func `a locator that points outside the file or to another record is damage`() throws {
    var forged = ForgedSegment()
    forged.appendTransaction(commit: 1, record + record)
    let segment = try segment(forged)
    let offset = UInt64(SegmentHeader.size + FrameHeader.size)
    func reason(_ offset: UInt64, _ size: Int) -> String? {
      do {
        _ = try segment.record(
          at: RecordLocator(fileID: 1, offset: offset, size: UInt32(size)))
        return nil
      } catch LogError.damaged(let damage) {
        return damage.reason
      } catch {
        return "\(error)"
      }
    }
    #expect(reason(offset, record.count) == nil)
    #expect(reason(offset, 2 * record.count)?.contains("index entry") == true)
    #expect(reason(offset + 1, record.count) != nil)
    #expect(reason(.max, record.count)?.contains("outside") == true)
    #expect(reason(offset, Record.sizeLimit + 1)?.contains("outside") == true)
    #expect(reason(offset, 1 << 20)?.contains("too early") == true)
  }

  // MARK: The directory

  private func choose() throws -> SegmentChain {
    try #require(
      try SegmentChain.choose(
        from: directory.listing().files, in: directory, isMapped: false))
  }

  @Test func `a segment of another store is refused with its path`() throws {
    try ForgedSegment().write(to: directory)
    try ForgedSegment(numbers: 2...2, fileID: 2, storeID: 2).write(to: directory)
    do {
      _ = try choose()
      Issue.record("the segments were accepted as one store")
    } catch LogError.foreign(let path, _) {
      #expect(path == directory.path(of: .segment(2...2)))
    }
  }

  @Test func `a file that covers several segments counts only if its header has a compaction`()
    throws
  {
    var first = ForgedSegment()
    first.appendTransaction(commit: 1, record)
    try first.write(to: directory)
    try ForgedSegment(numbers: 2...2, fileID: 2, after: first.end(commit: 1)).write(to: directory)
    try ForgedSegment(numbers: 1...2, fileID: 3).write(to: directory)
    let chain = try choose()
    #expect(chain.segments.map(\.header.numbers) == [1...1, 2...2])
    #expect(chain.leftovers == [.segment(1...2)])
    #expect(chain.damage.isEmpty)
  }

  @Test func `an oversized HEAD is not read and is damaged`() throws {
    try directory.fileSystem.makeDirectory("/store")
    let file = try directory.fileSystem.open(directory.path(of: .head), .creating)
    try file.write(SharedBytes(copying: [1]), at: 1 << 20)
    let (head, problem) = try directory.head()
    #expect(head == nil)
    guard case .damaged(let damage) = problem else {
      Issue.record("\(String(describing: problem))")
      return
    }
    #expect(damage.path == "/store/HEAD")
  }

  @Test func `a temporary file of an earlier attempt does not prevent creating a file`() throws {
    try directory.fileSystem.makeDirectory("/store")
    try directory.fileSystem.makeDirectory("/store/tmp")
    let temporary = directory.temporaryPath(of: .segment(1...1))
    let left = try directory.fileSystem.open(temporary, .creating)
    try left.write(SharedBytes(copying: [9, 9, 9]), at: 0)
    _ = try directory.install(.segment(1...1)) { (file) throws(LogError) in
      try attempt { () throws(SystemError) in try file.write(SharedBytes(copying: [1]), at: 0) }
    }
    let bytes = try directory.fileSystem.contents(
      of: directory.path(of: .segment(1...1)), limit: 100)
    #expect(bytes.array == [1])
    #expect(try directory.fileSystem.list("/store/tmp").isEmpty)
  }

  /// Regression test: errors of a file named the temporary that it had been.
  @Test func `an error of an installed file names its present path`() throws {
    let directory = StoreDirectory("/store", on: MemoryFileSystem())
    try directory.fileSystem.makeDirectory("/store")
    try directory.fileSystem.makeDirectory("/store/tmp")
    let file = try directory.install(.segment(1...1)) { (file) throws(LogError) in
      #expect(file.path == directory.temporaryPath(of: .segment(1...1)))
    }
    #expect(file.path == directory.path(of: .segment(1...1)))
    try file.close()
    let error = #expect(throws: SystemError.self) { try file.size() }
    #expect(error?.path == directory.path(of: .segment(1...1)))
  }

  // MARK: Checkpoints and transactions in memory

  @Test func `a page that a checkpoint does not have is damage`() throws {
    try directory.fileSystem.makeDirectory("/store")
    let path = directory.path(of: .checkpoint(1))
    let preamble = FilePreamble(
      kind: .checkpoint, storeID: StoreID(high: 1, low: 1), salt: 1, createdAt: 0)
    var writer = CheckpointFileWriter(
      try directory.fileSystem.open(path, .creating), preamble: preamble, commit: 1)
    let page = [UInt8](repeating: 7, count: CheckpointHeader.pageSize)
    #expect(try writer.append(page: page.span) == 0)
    var contents = ByteWriter()
    contents.append(5 as UInt8)
    _ = try writer.finish(number: 1, directory: contents)
    for isMapped in [false, true] {
      let file = try CheckpointFile.open(1, in: directory, isMapped: isMapped)
      #expect(try file.page(0).array == page)
      #expect(try file.directory().array == [5])
      do {
        _ = try file.page(1)
        Issue.record("a page that does not exist was returned")
      } catch LogError.damaged(let damage) {
        #expect(damage.path == path)
      }
    }
  }

  @Test func `a transaction buffer returns its own records, and nothing at other positions`() {
    var buffer = TransactionBuffer(at: 8192)
    let appended = buffer.append(.document) { $0.append([1, 2, 3]) }
    #expect(buffer.record(at: appended.offset, size: appended.size)?.count == appended.size)
    #expect(buffer.record(at: 8191, size: 1) == nil)
    #expect(buffer.record(at: appended.offset, size: -1) == nil)
    #expect(buffer.record(at: appended.offset, size: appended.size + 1) == nil)
    #expect(buffer.record(at: 1 << 40, size: 1) == nil)
  }
}
