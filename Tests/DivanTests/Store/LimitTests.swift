import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of files with valid checksums and numbers that no writer produces.
///
/// Arithmetic on such numbers would trap.
struct LimitTests {
  private static let preamble = FilePreamble(
    kind: .head, storeID: StoreID(high: 1, low: 2), salt: 3, createdAt: 4)
  private static let end = LogEnd(offset: 4096, commit: 1, chain: 5)

  /// Expects `isRead` to hold with the highest number that is allowed, and not above it.
  private func expectLimit(_ index: Int, _ isRead: (UInt64) -> Bool) {
    #expect(isRead(counterLimit), "number \(index)")
    for number in [counterLimit + 1, .max] { #expect(!isRead(number), "number \(index)") }
  }

  /// Regression test: a document too large for its record was acknowledged, but could not be read.
  ///
  /// An even larger one was too large for any frame and trapped.
  @Test func `a document too large for a record is refused, and nothing is lost`() throws {
    let database = try Database.inMemory()
    try database.put("m", #"{"title": "M"}"#)
    var document = try #require(try database.snapshot().document("m"))
    document["text"] = .string(String(repeating: "x", count: 9 << 20))
    let one = Document.Attachment(contentType: String(repeating: "t", count: 1000), [1])
    for number in 0..<9000 {
      document.attachments["\(number) \(String(repeating: "n", count: 1000))"] = one
    }
    let error = #expect(throws: DatabaseError.self) { try database.write { try $0.put(document) } }
    #expect(error?.code == .documentTooLarge && error?.documentID == "m")
    try database.put("after", "{}")
    #expect(try database.json("m") == #"{"title":"M"}"#)
    #expect(try database.check().isSound)
  }

  @Test func `decoding HEAD rejects numbers above the counter limit`() {
    let head = Head(
      preamble: LimitTests.preamble, segmentNumber: 1, segmentSalt: 1, watermark: LimitTests.end,
      lastSequence: 1, sequenceBound: 1, isClosed: true)
    let changes: [(inout Head, UInt64) -> Void] = [
      { $0.segmentNumber = $1 }, { $0.watermark.offset = $1 }, { $0.watermark.commit = $1 },
      { $0.lastSequence = $1 }, { $0.sequenceBound = $1 },
    ]
    for (index, change) in changes.enumerated() {
      expectLimit(index) { number in
        var head = head
        change(&head, number)
        return (try? Head.decode(head.encode(), path: "HEAD")) == head
      }
    }
  }

  @Test func `decoding a segment header rejects numbers above the counter limit`() {
    var header = SegmentHeader(
      preamble: LimitTests.preamble, fileID: 1, numbers: 1...1, generation: 1,
      predecessor: LimitTests.end, lastSequence: 1, sequenceBound: 1, flushedSize: 4096,
      compaction: SegmentHeader.Compaction(
        evaluatedAt: 1, releasedThrough: 1, end: LimitTests.end, fileSize: 4096))
    header.preamble.kind = .segment
    let changes: [(inout SegmentHeader, UInt64) -> Void] = [
      { $0.fileID = $1 }, { $0.numbers = 1...$1 }, { $0.predecessor.offset = $1 },
      { $0.predecessor.commit = $1 }, { $0.lastSequence = $1 }, { $0.sequenceBound = $1 },
      { $0.flushedSize = $1 }, { $0.compaction?.evaluatedAt = $1 },
      { $0.compaction?.releasedThrough = $1 },
      { $0.compaction?.end.offset = $1 }, { $0.compaction?.end.commit = $1 },
      { $0.compaction?.fileSize = $1 },
    ]
    for (index, change) in changes.enumerated() {
      expectLimit(index) { number in
        var header = header
        change(&header, number)
        return (try? SegmentHeader.decode(header.encode(), path: "segment")) == header
      }
    }
  }

  @Test func `decoding frame headers and commit trailers rejects numbers above the counter limit`()
  {
    expectLimit(0) { number in
      var writer = ByteWriter()
      writer.appendZeros(FrameHeader.size)
      let header = FrameHeader(
        kind: .transaction, flags: .first, payloadSize: 8, payloadChecksum: 0, commit: number,
        chain: 0)
      _ = header.encode(into: &writer, at: 0, offset: 4096, salt: 1)
      return FrameHeader.decode(writer.sharedCopy, offset: 4096, salt: 1) == header
    }
    let trailer = CommitTrailer(
      frameCount: 1, recordCount: 1, lastSequence: 1, sequenceBound: 1, flushedThrough: 1, time: 1,
      documentCount: 1)
    let changes: [(inout CommitTrailer, UInt64) -> Void] = [
      { $0.lastSequence = $1 }, { $0.sequenceBound = $1 }, { $0.flushedThrough = $1 },
      { $0.time = $1 }, { $0.documentCount = $1 },
    ]
    for (index, change) in changes.enumerated() {
      expectLimit(index) { number in
        var trailer = trailer
        change(&trailer, number)
        var writer = ByteWriter()
        trailer.encode(to: &writer)
        return CommitTrailer.decode(endOf: writer.sharedCopy) == trailer
      }
    }
  }

  @Test func `decoding a checkpoint directory rejects numbers above the counter limit`() {
    let checkpoint = Checkpoint(
      number: 1, position: .init(segmentNumber: 1, fileID: 1, end: LimitTests.end), time: 1,
      lastSequence: 1, documentCount: 1, highestFileID: 1, historyHorizon: 1,
      members: [
        .init(
          segment: .init(numbers: 1...counterLimit, fileID: 1, salt: 1),
          usage: .init(total: 9, dead: 1))
      ], trees: [])
    let changes: [(inout Checkpoint, UInt64) -> Void] = [
      { $0.position.segmentNumber = $1 },
      // The position is in a file that the checkpoint lists.
      { ($0.position.fileID, $0.members[0].segment.fileID) = ($1, $1) },
      { $0.position.end.offset = $1 }, { $0.position.end.commit = $1 }, { $0.time = $1 },
      { $0.lastSequence = $1 }, { $0.documentCount = $1 }, { $0.highestFileID = $1 },
      { $0.members[0].segment.numbers = 1...$1 }, { $0.members[0].usage.total = $1 },
    ]
    func isRead(_ checkpoint: Checkpoint) -> Bool {
      var writer = ByteWriter()
      checkpoint.encode(to: &writer)
      return (try? Checkpoint.decode(writer.sharedCopy, number: 1)) != nil
    }
    for (index, change) in changes.enumerated() {
      expectLimit(index) { number in
        var checkpoint = checkpoint
        change(&checkpoint, number)
        return isRead(checkpoint)
      }
    }
    // The dead bytes are at most all bytes, and the position is within a segment.
    var other = checkpoint
    other.members[0].usage.dead = 10
    #expect(!isRead(other))
    other = checkpoint
    other.members[0].segment.numbers = 2...3
    #expect(!isRead(other))
  }

  @Test func `decoding a document record rejects a sequence number above the counter limit`() {
    expectLimit(0) { number in
      let record = DocumentRecord(
        idBytes: SharedBytes(copying: [0x61]), sequence: number,
        revision: RevisionID(generation: 1, digest: .own(1, 2)),
        isDeleted: false, ancestors: .none, superseded: nil, body: .empty)
      var writer = ByteWriter()
      record.encode(to: &writer)
      return (try? DocumentRecord.decode(writer.sharedCopy))?.sequence == number
    }
  }

  @Test func `deleting more documents than a checkpoint counts does not trap`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<30, size: 20)
      try database.writeCheckpoint()
      // No commit follows the checkpoint, since it would correct the count.
      try database.close()
    }
    let disk = fixture.fileSystem
    try forgeCheckpoint(on: disk) { $0.documentCount = 0 }
    let database = try CrashFixture(disk, CrashWriter(seed: 0), life: 70).open {
      $0.maintenance = .manual
    }
    #expect(database.openingReport.notes.isEmpty, "\(database.openingReport)")
    try database.write { transaction in
      for number in 5..<12 {
        let wasThere = try transaction.delete("doc-\(number)")
        #expect(wasThere)
      }
    }
    #expect(try database.snapshot().document("doc-5") == nil)
    #expect(try database.snapshot().document("doc-20") != nil)
  }

  /// Rewrites checkpoint 1 with the same pages and another directory, and removes `HEAD`.
  private func forgeCheckpoint(
    on disk: SimulatedFileSystem, _ change: (inout Checkpoint) -> Void
  ) throws {
    let directory = StoreDirectory(CrashFixture.path, on: disk)
    let file = try CheckpointFile.open(1, in: directory, isMapped: false)
    var checkpoint = try Checkpoint.decode(file.directory(), number: 1)
    change(&checkpoint)
    let forged = try disk.open("/forged", .creating)
    var writer = CheckpointFileWriter(
      forged, preamble: file.header.preamble, commit: checkpoint.position.end.commit)
    for number in 0..<file.header.pageCount {
      try file.page(number).withSpan { (page: Span<UInt8>) throws(LogError) in
        _ = try writer.append(page: page)
      }
    }
    var bytes = ByteWriter()
    checkpoint.encode(to: &bytes)
    _ = try writer.finish(number: 1, directory: bytes)
    try disk.rename("/forged", to: directory.path(of: .checkpoint(1)))
    try disk.vanish(directory.path(of: .head))
  }

  // Found by the store fuzzer: numbers beyond the limit were committed without an error, and the
  // commits were missing after the store was reopened.
  @Test func `a store whose sequence numbers are exhausted opens for reading only`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 20)
      try database.close()
    }
    let directory = StoreDirectory(CrashFixture.path, on: fixture.fileSystem)
    for bound in [counterLimit, LogWriter.startLimit + 1, LogWriter.startLimit] {
      var head = try #require(try directory.head().head)
      head.sequenceBound = bound
      head.isClosed = false
      let disk = fixture.fileSystem.restarted(.processEnd)
      try StoreDirectory(CrashFixture.path, on: disk).replaceHead(head)
      let database = try CrashFixture(disk, CrashWriter(seed: 0), life: 70).open()
      #expect(try database.snapshot().count == 5)
      #expect(database.openingReport.damage.isEmpty)
      if bound > LogWriter.startLimit {
        let error = #expect(throws: DatabaseError.self) {
          try database.write { _ = try $0.replace("new", with: [:]) }
        }
        #expect(error?.code == .readOnly)
      } else {
        try database.write { _ = try $0.replace("new", with: [:]) }
        try database.close()
        let again = try CrashFixture(disk, CrashWriter(seed: 0), life: 80).open()
        #expect(try again.snapshot().count == 6)
      }
    }
  }

  // Found while following up a fuzzer result: the trailer would have been above the limit, so the
  // commit would not have counted.
  @Test func `counts and times at their limit do not make a commit unreadable`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<30, size: 20)
      try database.writeCheckpoint()
      try database.close()
    }
    let disk = fixture.fileSystem
    try forgeCheckpoint(on: disk) {
      $0.documentCount = counterLimit
      $0.time = counterLimit
    }
    for life in [70, 80, 90] {
      let database = try CrashFixture(disk, CrashWriter(seed: 0), life: life).open {
        $0.maintenance = .manual
      }
      #expect(try database.snapshot().document("new-70") != nil || life == 70)
      try database.write { _ = try $0.replace("new-\(life)", with: [:]) }
      try database.close()
    }
  }

  // Found while following up a fuzzer result: adding one to the highest number trapped.
  @Test func `a compacted segment of the highest generation can be compacted again`() throws {
    let original = try DamagedStore.merged.make()
    let directory = StoreDirectory(CrashFixture.path, on: original.disk)
    var compactedCount = 0
    for case .segment(let numbers) in try directory.listing().files {
      var header = try SegmentFile(numbers, in: directory).header
      guard header.compaction != nil else { continue }
      compactedCount += 1
      header.generation = .max
      try original.disk.overwrite(
        directory.path(of: .segment(numbers)), atOffset: 0, with: header.encode().array)
    }
    #expect(compactedCount == 1)
    let database = try CrashFixture(original.disk, CrashWriter(seed: 0), life: 70).open {
      $0.maintenance = .manual
    }
    try database.write { _ = try $0.replace("new", with: [:]) }
    try database.compact()
    #expect(try database.check().isSound)
  }
}
