import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of checkpoints with valid checksums and false contents.
///
/// They are not used, inspection finds the fault, or reads report damage.
struct ForgedCheckpointTests {
  private let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
  private var disk: SimulatedFileSystem { fixture.fileSystem }
  private var directory: StoreDirectory { StoreDirectory(CrashFixture.path, on: disk) }

  private func store(_ count: Int = 300) throws -> Database {
    let database = try fixture.open { $0.maintenance = .manual }
    try database.write { transaction in
      for number in 0..<count { try transaction.replace("doc-\(1000 + number)", with: [:]) }
    }
    return database
  }

  private func path(_ number: UInt64) -> String { directory.path(of: .checkpoint(number)) }

  // MARK: The directory

  private func directoryBytes() throws -> [UInt8] {
    let database = try store(3)
    try database.writeCheckpoint()
    try database.close()
    return try CheckpointFile.open(1, in: directory, isMapped: false).directory().array
  }

  private func refusal(_ bytes: [UInt8]) -> ByteError? {
    do throws(ByteError) {
      _ = try Checkpoint.decode(SharedBytes(copying: bytes), number: 1)
      return nil
    } catch {
      return error
    }
  }

  @Test
  func `decoding a checkpoint directory rejects a wrong version, length or number`()
    throws
  {
    let sound = try directoryBytes()
    #expect(refusal(sound) == nil)
    var changed = sound
    changed[0] = 9
    #expect(refusal(changed)?.reason.contains("version") == true)
    for size in 0..<sound.count { #expect(refusal(Array(sound[..<size])) != nil, "\(size)") }
    let checkpoint = try Checkpoint.decode(SharedBytes(copying: sound), number: 1)
    func encoded(_ change: (inout Checkpoint) -> Void) -> [UInt8] {
      var forged = checkpoint
      change(&forged)
      var writer = ByteWriter()
      forged.encode(to: &writer)
      return writer.array
    }
    #expect(refusal(encoded { _ in }) == nil)
    #expect(refusal(encoded { $0.time = counterLimit + 1 }) != nil)
    #expect(refusal(encoded { $0.members[0].usage.dead = counterLimit }) != nil)
    #expect(refusal(encoded { $0.members = [] }) != nil)
    // A writer gives the next number to the segment to which it reappends commits in doubt. A
    // position in it would hide that whole segment.
    #expect(refusal(encoded { $0.position.fileID += 1 }) != nil)
    let run = checkpoint.trees[0][0]
    for count in [Int.max, 4096 * (Int(run.summary.root) + 2)] {
      let summary = RunSummary(
        root: run.summary.root, height: run.summary.height, count: count,
        filter: run.summary.filter)
      #expect(refusal(encoded { $0.trees[0][0].summary = summary }) != nil, "\(count) entries")
    }
    // The first member is one segment; each of its numbers takes one byte.
    let members = encoded { $0.members[0].segment.numbers = 77...78 }
    let offset = try #require(members.indices.first { members[$0...].starts(with: [77, 78]) })
    var swapped = members
    swapped.swapAt(offset, offset + 1)
    #expect(refusal(swapped)?.reason.contains("wrong order") == true)
  }

  @Test
  func `a checkpoint is not used if the one that it builds on is missing or replaced`()
    throws
  {
    let database = try store()
    try database.writeCheckpoint()
    try database.write { _ = try $0.replace("doc-1000", with: ["n": 1]) }
    try database.writeCheckpoint()
    try database.close()
    #expect(disk.names(in: CrashFixture.path).filter { $0.hasSuffix(".checkpoint") }.count == 2)
    let older = try disk.contents(of: path(1), limit: 1 << 24).array
    for isGone in [true, false] {
      let disk = disk.restarted(.processEnd)
      try disk.vanish(path(1))
      if !isGone {
        // The same pages under another salt.
        let file = try disk.open(path(1), .creating)
        var forged = Array(
          rechecksummed(SharedBytes(copying: Array(older[..<4096]))) {
            put(12345, in: &$0, at: 40)
          }.array)
        forged += older[4096...]
        try file.write(SharedBytes(copying: forged), at: 0)
      }
      let reopened = try CrashFixture(disk, CrashWriter(seed: 1), life: 50).open {
        $0.maintenance = .manual
      }
      #expect(reopened.openingReport.damage.isEmpty)
      #expect(reopened.openingReport.notes.contains { $0.contains("was not used") })
      #expect(try reopened.snapshot().document("doc-1000")?["n"] == 1)
      #expect(try reopened.check().isSound)
    }
  }

  // MARK: Pages

  /// Replaces a page of a checkpoint, with valid checksums.
  private func replacePage(
    _ number: UInt32, of checkpoint: UInt64, with page: [UInt8], claimedSize: Int? = nil
  ) throws {
    let offset = CheckpointHeader.offset(ofPage: number)
    let bytes = try disk.contents(of: path(checkpoint), limit: 1 << 24)
    let header = try CheckpointHeader.decode(bytes.prefix(CheckpointHeader.size), path: "")
    let frame = bytes.suffix(from: offset)
    var frameHeader = try #require(
      FrameHeader.decode(frame, offset: offset, salt: header.preamble.salt))
    var writer = ByteWriter()
    writer.appendZeros(FrameHeader.size)
    writer.append(page)
    frameHeader.payloadChecksum = CRC32C.checksum(SharedBytes(copying: page))
    if let claimedSize { frameHeader.payloadSize = claimedSize }
    _ = frameHeader.encode(into: &writer, at: 0, offset: offset, salt: header.preamble.salt)
    try disk.overwrite(path(checkpoint), atOffset: offset, with: writer.array)
  }

  private func page(_ number: UInt32) throws -> [UInt8] {
    try CheckpointFile.open(1, in: directory, isMapped: false).page(number).array
  }

  private func inspect() throws -> InspectedCheckpoint {
    try #require(try InspectedCheckpoint(1, among: directory.listing().files, in: directory))
  }

  @Test func `swapped leaves are reported as damage, and not hidden by a repair`() throws {
    let database = try store()
    try database.writeCheckpoint()
    try database.close()
    let (first, second) = (try page(0), try page(1))
    try replacePage(0, of: 1, with: second)
    try replacePage(1, of: 1, with: first)
    #expect(try inspect().differences(limit: 10_000)?.contains { $0.contains("damaged") } == true)
    let opened = try fixture.open { $0.maintenance = .manual }
    var ids = try opened.snapshot().ids()
    let error = #expect(throws: DatabaseError.self) { try ids.collect() }
    #expect(error?.code == .damaged)
    #expect(error?.hint?.contains("remove its checkpoints") == true)
    try opened.close()
    try disk.vanish(path(1))
    let rebuilt = try fixture.open { $0.maintenance = .manual }
    ids = try rebuilt.snapshot().ids()
    #expect(try ids.collect().count == 300)
  }

  /// Regression: a page shorter than its frame was sound if mapped, and damaged if buffered.
  ///
  /// Found by the fuzzer `store`.
  @Test func `a page of the wrong size is damaged, whether mapped or buffered`() throws {
    let database = try store()
    try database.writeCheckpoint()
    try database.close()
    try replacePage(
      0, of: 1, with: try page(0), claimedSize: CheckpointHeader.pageSize - 7)
    for isMapped in [true, false] {
      let file = try CheckpointFile.open(1, in: directory, isMapped: isMapped)
      let error = #expect(throws: LogError.self) { try file.page(0) }
      #expect(error.map { DatabaseError($0).message.contains("the page is not full") } == true)
      let source = CheckpointPages.source(of: file)
      #expect(throws: PageError.self) { try source.page(0) }
      #expect(throws: PageError.self) { try source.filterBlock(page: 0, offset: 0) }
    }
  }

  /// Creates a store whose newest checkpoint builds on another and has a damaged leaf.
  ///
  /// The leaf has the only change of that checkpoint.
  private func storeWithDamagedDelta() throws {
    let database = try store()
    try database.writeCheckpoint()
    try database.write { _ = try $0.replace("doc-1000", with: ["n": 1]) }
    try database.writeCheckpoint()
    try database.close()
    let newest = try Checkpoint.decode(
      CheckpointFile.open(2, in: directory, isMapped: false).directory(), number: 2)
    let leaf = newest.trees[0][0]
    #expect(leaf.checkpoint == 2 && leaf.summary.height == 0)
    try disk.corrupt(
      path(2), atOffset: CheckpointHeader.offset(ofPage: leaf.summary.root) + 99, mask: 1)
  }

  @Test func `a leaf is not rebuilt if the layer below is damaged beyond repair`() throws {
    try storeWithDamagedDelta()
    let (first, second) = (try page(0), try page(1))
    try replacePage(0, of: 1, with: second)
    try replacePage(1, of: 1, with: first)
    let opened = try fixture.open { $0.maintenance = .manual }
    let error = #expect(throws: DatabaseError.self) { try opened.snapshot().document("doc-1000") }
    #expect(error?.code == .damaged)
    #expect(error?.hint?.contains("remove its checkpoints") == true)
  }

  @Test func `a failed read of the layer below is no damage, and the leaf is rebuilt later`() throws
  {
    try storeWithDamagedDelta()
    let opened = try fixture.open {
      $0.maintenance = .manual
      $0.readMode = .buffered
    }
    let (disk, older) = (disk, path(1))
    disk.observeCalls { call in
      if call.verb == .read, call.path == older { disk.fail(.read, with: .inputOutput) }
    }
    let error = #expect(throws: DatabaseError.self) { try opened.snapshot().document("doc-1000") }
    // Regression: this was reported as damage.
    #expect(error?.code == .inputOutput)
    disk.observeCalls(nil)
    disk.stopFailing()
    #expect(try opened.snapshot().document("doc-1000")?["n"] == 1)
    #expect(try opened.check().isSound)
  }

  @Test func `inspection finds an inner page with wrong separators`() throws {
    let database = try store()
    try database.writeCheckpoint()
    try database.close()
    let checkpoint = try Checkpoint.decode(
      CheckpointFile.open(1, in: directory, isMapped: false).directory(), number: 1)
    let summary = checkpoint.trees[0][0].summary
    #expect(summary.height == 1)
    // Each separator is the second key of its leaf, so the search for the first key goes left of
    // it.
    let root = try Page(SharedBytes(copying: page(summary.root)), number: summary.root)
    let buffer = PageBuffer(size: CheckpointHeader.pageSize)
    buffer.clear(level: 1)
    buffer.writer.setFirstChild(root.view.childNumber(0))
    for index in 1...root.view.count {
      let child = root.view.childNumber(index)
      let leaf = try Page(SharedBytes(copying: page(child)), number: child)
      let fits = leaf.view.key(1).array.borrow { buffer.append($0, child: child) }
      #expect(fits)
    }
    try replacePage(summary.root, of: 1, with: buffer.sharedCopy.array)
    #expect(try inspect().differences()?.contains { $0.contains("by a scan only") } == true)
  }

  @Test func `inspection finds each kind of difference between checkpoint pages and log`() throws {
    let database = try store(40)
    let (a, b) = (try database.entry(of: "doc-1000"), try database.entry(of: "doc-1001"))
    database.tamper { state in
      state.documentCount += 1
      state.documents.remove(Array("doc-1002".utf8).span)
      state.set(b, for: Array("doc-1000".utf8))
      state.set(a, for: Array("doc-1000a".utf8))
      state.set(a, for: [0xFF])
      state.documents.set([0xFE as UInt8].span, [0xFF as UInt8].span)
      a.sequence.withBigEndianBytes { state.sequences.remove($0) }
      state.set(a.locator, forSequence: 1 << 40)
      state.set(a.locator, forSequence: 0xFF)
    }
    try database.writeCheckpoint()
    try database.close()
    let inspected = try inspect()
    let differences = try #require(try inspected.differences())
    for expected in [
      "it counts 41 documents, the log 40", "document doc-1000 differs in the log",
      "document doc-1000a is in the pages and not in the log",
      "document doc-1002 is in the log and not in the pages", "document ff is in the pages",
      "sequence 0 0 0 0 0 0 0 ff is in the pages",
    ] {
      #expect(differences.contains { $0.contains(expected) }, "\(expected): \(differences)")
    }
    #expect(try inspected.differences(limit: 2)?.count ?? 0 < differences.count)
    var ids: [String] = []
    try inspected.forEachDocument { id, _, _ in ids.append(id) }
    // Invalid texts and invalid entries are left out.
    #expect(ids.count == 40)
  }

  /// Regression: replaying a damaged log counted below zero, which trapped.
  ///
  /// Found by the fuzzer `checkpoint`.
  @Test func `replaying a damaged log may delete more documents than the checkpoint counts`()
    throws
  {
    let database = try store(3)
    database.tamper { $0.documentCount = 0 }
    try database.writeCheckpoint()
    try database.write { _ = try $0.delete("doc-1000") }
    try database.write { _ = try $0.replace("lost", with: ["text": "a byte of this is flipped"]) }
    try database.write { _ = try $0.delete("doc-1001") }
    try database.close()
    let segment = directory.path(of: .segment(1...1))
    let bytes = try disk.contents(of: segment, limit: 1 << 20).array
    let text = Array("a byte of this".utf8)
    let offset = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
    try disk.corrupt(segment, atOffset: offset, mask: 1)
    let opened = try fixture.open {
      $0.isReadOnly = true
      $0.damage = .salvage
    }
    #expect(opened.openingReport.damage.count == 1)
    let ids = try opened.snapshot().ids()
    #expect(try ids.collect() == ["doc-1002"])
  }

  /// Regression: compaction copied the records that it found by scanning.
  ///
  /// It did not copy the ones that the index led to. Found by an external trial.
  @Test func `compaction refuses an index entry that leads to a record copy inside an attachment`()
    throws
  {
    let database = try store(3)
    _ = try database.write { try $0.replace("b", with: ["n": 1]) }
    let original = try database.entry(of: "b")
    let record = try database.store.view().state.segments[original.locator.fileID]?
      .recordBytes(at: original.locator).array
    try database.write { transaction in
      var document = Document(id: "a")
      document.attachments["r"] = Document.Attachment(contentType: "x/y", try #require(record))
      _ = try transaction.put(document)
      _ = try transaction.replace("doc-1000", with: ["n": 2])
    }
    let name = FileName.segment(1...1)
    let bytes = try disk.contents(of: directory.path(of: name), limit: 1 << 20).array
    let copy = try #require(bytes.indices.last { bytes[$0...].starts(with: record ?? []) })
    #expect(copy > Int(original.locator.offset))
    database.tamper { state in
      var entry = original
      entry.locator.offset = UInt64(copy)
      state.set(entry, for: Array("b".utf8))
      state.set(entry.locator, forSequence: entry.sequence)
    }
    try database.writeCheckpoint()
    try database.close()
    let opened = try fixture.open { $0.maintenance = .manual }
    _ = try opened.write { try $0.replace("doc-1001", with: ["n": 3]) }
    #expect(try opened.check().isSound)
    let error = #expect(throws: DatabaseError.self) { try opened.compact() }
    #expect(error?.code == .damaged && error?.offset == copy)
    #expect(disk.names(in: CrashFixture.path).contains(name.description))
    #expect(try opened.snapshot().document("b")?["n"] == 1)
    try opened.close()
  }

  @Test func `inspection accepts pages without older revisions that the log still has`() throws {
    let database = try fixture.open {
      $0.maintenance = .manual
      $0.history = .unlimited
    }
    for number in 0..<3 as Range<Int64> {
      try database.write { _ = try $0.replace("a", with: ["n": .int(number)]) }
    }
    #expect(try !database.store.view().state.retained.isEmpty)
    database.tamper { $0.retained = LayeredTree() }
    try database.writeCheckpoint()
    try database.close()
    #expect(try inspect().differences() == [])
  }

  @Test func `inspection finds that the checkpoint pages end before the log`() throws {
    let database = try store(40)
    database.tamper { $0.documents.remove(Array("doc-1039".utf8).span) }
    try database.writeCheckpoint()
    try database.close()
    #expect(
      try inspect().differences() == ["document doc-1039 is in the log and not in the pages"])
  }

  @Test func `a leaf of the change order whose entries exceed a page cannot be rebuilt`() throws {
    let database = try store(4000)
    let entry = try database.entry(of: "doc-1000")
    database.tamper { state in
      state.sequences = LayeredTree()
      state.set(entry.locator, forSequence: entry.sequence)
    }
    try database.writeCheckpoint()
    try database.close()
    let checkpoint = try Checkpoint.decode(
      CheckpointFile.open(1, in: directory, isMapped: false).directory(), number: 1)
    let root = checkpoint.trees[1][0].summary.root
    try disk.corrupt(path(1), atOffset: CheckpointHeader.offset(ofPage: root) + 99, mask: 1)
    let opened = try fixture.open { $0.maintenance = .manual }
    var feed = try opened.snapshot().changes()
    let error = #expect(throws: DatabaseError.self) { try feed.next() }
    #expect(error?.code == .damaged)
    #expect(try opened.snapshot().document("doc-2000") != nil)
  }

  @Test func `evicted pages are read again`() throws {
    let database = try store()
    try database.writeCheckpoint()
    try database.close()
    let file = try CheckpointFile.open(1, in: directory, isMapped: false)
    let pages = CheckpointPages(file, budget: 2)
    for _ in 0..<2 {
      for number in 0..<3 as Range<UInt32> {
        let page = try pages.page(number)
        #expect(
          try page.view.key(0).array == Page(file.page(number), number: number).view.key(0).array)
      }
    }
    for offset in [-1, CheckpointHeader.pageSize - 63, .max] {
      #expect(throws: PageError.self) { _ = try pages.filterBlock(page: 0, offset: offset) }
    }
  }
}
