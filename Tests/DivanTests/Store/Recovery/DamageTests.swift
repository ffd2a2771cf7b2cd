import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of files with other contents than were written.
///
/// A read returns the stored documents or throws an error. No damage stays unnoticed, traps or
/// hangs.
struct DamageTests {
  @Test(arguments: DamagedStore.all)
  func `a flipped bit anywhere is harmless or reported`(store: DamagedStore) throws {
    let original = try store.make()
    var tried = 0
    for (path, size) in original.files {
      for offset in stride(from: tried % 7, to: size, by: step(size, 260)) {
        tried += 1
        let disk = original.disk.restarted(.processEnd)
        try disk.corrupt(path, atOffset: offset, mask: 1 << UInt8((offset / 3 + tried) % 8))
        try original.examine(disk, "bit flip in \(path) at \(offset)", isMapped: tried % 2 == 0)
      }
    }
    print("\(store.name): \(original.files.count) files, \(tried) flips")
  }

  @Test(arguments: DamagedStore.all)
  func `a file truncated to any length is harmless or reported`(store: DamagedStore) throws {
    let original = try store.make()
    for (path, size) in original.files {
      for length in stride(from: 0, to: size, by: step(size, 60)) {
        let disk = original.disk.restarted(.processEnd)
        try disk.truncate(path, toSize: length)
        try original.examine(disk, "\(path) cut to \(length) of \(size)", isMapped: length % 2 == 0)
      }
    }
  }

  @Test(arguments: DamagedStore.all)
  func `a missing, swapped, zeroed, random or unrelated file is harmless or reported`(
    store: DamagedStore
  ) throws {
    let original = try store.make()
    let contents = try original.files.map { path, size in
      (path, size, Array(try original.disk.contents(of: path, limit: size).array))
    }
    var random = SeededGenerator(seed: 9)
    for (path, size, bytes) in contents {
      let gone = original.disk.restarted(.processEnd)
      try gone.vanish(path)
      // Without HEAD and the newest segment, or the whole store, nothing can be detected.
      try original.examine(gone, "\(path) gone", isMapped: true)
      let others = contents.filter { $0.0 != path }.map(\.2)
      let noise = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let text = Array(String(repeating: "not a store\n", count: size / 12 + 1).utf8.prefix(size))
      for (index, other) in (others + [noise, text, [UInt8](repeating: 0, count: size)])
        .enumerated()
      {
        let disk = original.disk.restarted(.processEnd)
        try disk.truncate(path, toSize: 0)
        try disk.overwrite(path, atOffset: 0, with: other)
        try original.examine(disk, "\(path) has other bytes \(index)", isMapped: index % 2 == 0)
      }
      // Parts of the file are overwritten with zeros, or with data from another part of it.
      for offset in stride(from: 0, to: size, by: step(size, 40)) {
        let disk = original.disk.restarted(.processEnd)
        let count = min(512, size - offset)
        let source = (offset + 4096) % max(1, size - count)
        let patch =
          offset % 2 == 0
          ? [UInt8](repeating: 0, count: count) : Array(bytes[source..<source + count])
        try disk.overwrite(path, atOffset: offset, with: patch)
        try original.examine(disk, "\(path) patched at \(offset)", isMapped: offset % 2 == 0)
      }
    }
  }

  @Test func `files with impossible segment and checkpoint numbers are ignored`() throws {
    let original = try DamagedStore.checkpointed.make()
    for name in [
      "18446744073709551615.segment", "0000000001-18446744073709551615.segment",
      "18446744073709551615.checkpoint", "1.segment", "0000000000.segment", "0000000009.segments",
    ] {
      let disk = original.disk.restarted(.processEnd)
      let file = try disk.open("\(CrashFixture.path)/\(name)", .creating)
      try file.write(SharedBytes(copying: [1, 2, 3]), at: 0)
      try original.examine(disk, name, isMapped: true)
    }
  }

  @Test(arguments: [ReadMode.mapped, .buffered])
  func `a damaged leaf of the index is rebuilt from the log when it is read`(reads: ReadMode)
    throws
  {
    let original = try DamagedStore.checkpointed.make()
    let checkpoint = try #require(original.files.first { $0.path.hasSuffix(".checkpoint") })
    var repaired = 0
    for page in 0..<(checkpoint.size / 4096 - 1) {
      let disk = original.disk.restarted(.processEnd)
      try disk.corrupt(checkpoint.path, atOffset: 4096 * (page + 1) + 1000, mask: 4)
      let fixture = CrashFixture(disk, CrashWriter(seed: 0), isMapped: reads == .mapped, life: 70)
      let database = try fixture.open { $0.maintenance = .manual }
      #expect(try original.oracle.identify(database) == original.version)
      if database.openingReport.notes.isEmpty { repaired += 1 }
    }
    #expect(repaired >= 2)
  }

  @Test func `damage before the checkpoint is reported only when the document is read`()
    throws
  {
    let original = try DamagedStore.checkpointed.make()
    let segment = try #require(original.files.first { $0.path.hasSuffix("01.segment") })
    let disk = original.disk.restarted(.processEnd)
    // Inside the text of the first document.
    try disk.corrupt(segment.path, atOffset: 4096 + 300, mask: 1)
    let database = try CrashFixture(disk, CrashWriter(seed: 0), life: 70).open {
      $0.maintenance = .manual
    }
    #expect(database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    var damaged: [DatabaseError] = []
    for id in original.oracle.versions[original.version].documents.keys {
      do { _ = try snapshot.document(id) } catch let error as DatabaseError {
        damaged.append(error)
      }
    }
    #expect(damaged.count == 1)
    #expect(damaged.first?.code == .damaged)
    #expect(damaged.first?.documentID == "doc-0")
    #expect(damaged.first?.path == segment.path)
    #expect(damaged.first?.offset != nil)
    // Writing continues, and compaction preserves the evidence.
    try database.write { try $0.replace("new", with: [:]) }
    #expect(throws: DatabaseError.self) { try database.compact() }
    #expect(throws: DatabaseError.self) { try snapshot.document("doc-0") }
    #expect(try database.snapshot().document("doc-1") != nil)
  }

  // Found by the fuzzers of checkpoints and stores: the check failed with the error.
  @Test func `a check reports an index leaf that cannot be rebuilt, and continues`() throws {
    let original = try DamagedStore.checkpointed.make()
    let checkpoint = try #require(original.files.first { $0.path.hasSuffix(".checkpoint") })
    let segment = try #require(original.files.first { $0.path.hasSuffix("01.segment") })
    try original.disk.corrupt(checkpoint.path, atOffset: 4096 + 1000, mask: 4)
    try original.disk.corrupt(segment.path, atOffset: 4096 + 300, mask: 1)
    let database = try CrashFixture(original.disk, CrashWriter(seed: 0), life: 70).open {
      $0.maintenance = .manual
    }
    let report = try database.check()
    #expect(report.problems.count >= 2)
    #expect(report.problems.allSatisfy { $0.code == .damaged })
  }

  @Test(.partOfProof)
  func `a part of the proof that damages every byte finds no failures`() throws {
    let run = ProofRun(ByteProof.name, budget: .test)
    try ByteProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(3))")
  }

  @Test func `transactions after a damaged one are read`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 200)
      try database.close()
    }
    // The payload of the second transaction; its header is whole.
    let path = "\(CrashFixture.path)/0000000001.segment"
    let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20).array
    let text = Array("doc-1".utf8)
    let offset = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
    try fixture.fileSystem.corrupt(path, atOffset: offset + 40, mask: 1)
    let database = try fixture.open()
    #expect(!database.openingReport.damage.isEmpty)
    let snapshot = try database.snapshot()
    for number in [0, 2, 3] {
      #expect(try snapshot.document("doc-\(number)") != nil, "doc-\(number)")
    }
    #expect(throws: DatabaseError.self) { try database.write { _ in } }
  }

  @Test func `bit rot before a later commit is damage, even if the log was not closed`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 200)
    let path = "\(CrashFixture.path)/0000000001.segment"
    let bytes = try fixture.fileSystem.contents(of: path, limit: 1 << 20).array
    for number in 0..<4 {
      let text = Array("doc-\(number)".utf8)
      let offset = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
      let disk = fixture.fileSystem.restarted(.processEnd)
      try disk.corrupt(path, atOffset: offset + 40, mask: 1)
      try disk.vanish("\(CrashFixture.path)/FLUSHED")
      let opened = try CrashFixture(disk, fixture.writer, life: 9).open { $0.maintenance = .manual }
      // Without FLUSHED, the last commit cannot be distinguished from a torn one.
      #expect(opened.openingReport.damage.isEmpty == (number == 3), "\(number)")
      #expect(opened.openingReport.damage.allSatisfy { $0.path == path && $0.offset != nil })
    }
  }

  @Test func `commits that recovery reappended count as durable, so their loss is damage`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.fill(database, 0..<4, size: 200, durability: .none)
      fixture.fileSystem.losePower(atCall: 0)
    }
    let disk = fixture.fileSystem.restarted(.processEnd)
    let again = CrashFixture(disk, fixture.writer, life: 9)
    let database = try again.open { $0.maintenance = .manual }
    #expect(database.openingReport.securedCommits == 4)
    let left = disk.restarted(.strict)
    let path = "\(CrashFixture.path)/0000000002.segment"
    // Only the segment's own header shows it.
    try left.vanish("\(CrashFixture.path)/HEAD")
    try left.truncate(path, toSize: try left.status(path).size - 8)
    let opened = try CrashFixture(left, fixture.writer, life: 19).open { $0.maintenance = .manual }
    #expect(opened.openingReport.damage.first?.path == path)
  }

  @Test func `a log that ends before the checkpoint's position is damaged on opening`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    let database = try fixture.open { $0.maintenance = .manual }
    try fixture.fill(database, 0..<4, size: 200)
    try database.writeCheckpoint()
    let disk = fixture.fileSystem.restarted(.strict)
    let path = "\(CrashFixture.path)/0000000001.segment"
    try disk.truncate(path, toSize: try disk.status(path).size - 100)
    let opened = try CrashFixture(disk, fixture.writer, life: 19).open { $0.maintenance = .manual }
    #expect(opened.openingReport.damage.first?.path == path)
    // Otherwise new commits would follow the damage, and the next opening would not read them.
    #expect(throws: DatabaseError.self) { try opened.write { _ in } }
    #expect(try opened.snapshot().document("doc-0") != nil)
  }

  @Test func `forged frames do not slow down the search for later commits`() throws {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1))
    do {
      let database = try fixture.open { $0.maintenance = .manual }
      try fixture.commit(database, [.put("a", size: 10)])
      fixture.fileSystem.losePower(atCall: 0)
    }
    let disk = fixture.fileSystem.restarted(.processEnd)
    let path = "\(CrashFixture.path)/0000000001.segment"
    let header = try SegmentFile(1...1, in: StoreDirectory(CrashFixture.path, on: disk)).header
    let size = 768 << 10
    let start = try disk.contents(of: path, limit: 1 << 20).count + 8
    var writer = ByteWriter(capacity: size)
    // Every frame claims all bytes up to the end.
    for offset in stride(from: 0, to: size - 64, by: 32) {
      let frame = FrameHeader(
        kind: .transaction, flags: [.last], payloadSize: max(0, size - offset - 256),
        payloadChecksum: 1,
        commit: 9, chain: 7)
      writer.appendZeros(32)
      _ = frame.encode(
        into: &writer, at: writer.count - 32, offset: (start + 7) / 8 * 8 + offset,
        salt: header.preamble.salt)
    }
    try disk.truncate(path, toSize: (start + 7) / 8 * 8)
    try disk.overwrite(path, atOffset: (start + 7) / 8 * 8, with: writer.array + [0, 0])
    let clock = ContinuousClock()
    let duration = try clock.measure {
      _ = try CrashFixture(disk, fixture.writer, life: 9).open { $0.isReadOnly = true }
    }
    // Twenty-four thousand frames of 384 KiB each would take minutes.
    #expect(duration < .seconds(60))
  }

  private func step(_ size: Int, _ count: Int) -> Int {
    max(1, Int(Double(size) / (Double(count) * testBudget))) | 1
  }
}

extension DamagedStore.Original {
  /// Records an issue for damage that is neither harmless nor reported.
  func examine(_ disk: SimulatedFileSystem, _ what: String, isMapped: Bool) throws {
    let clock = ContinuousClock()
    let start = clock.now
    defer { #expect(clock.now - start < .seconds(60), "\(what)") }
    do {
      try check(disk, isMapped: isMapped)
    } catch {
      Issue.record("\(what): \(error)")
    }
  }
}
