import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// The rules of the log that a crash at random reaches seldom, one by one.
///
/// ``CrashTests`` prove the rules of order: flushes before renames, merges judged by durable commits,
/// checkpoints behind the log, inputs that outlive their merge.
struct RuleTests {
  func bench() -> CrashBench {
    CrashBench(SimulatedFileSystem(), CrashWriter(seed: 1))
  }

  func restarted(_ bench: CrashBench, _ loss: SimulatedDisk.Loss) -> CrashBench {
    CrashBench(bench.fileSystem.restarted(loss), bench.writer, life: 500)
  }

  private func contents(_ disk: SimulatedFileSystem) throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for name in try disk.list(CrashBench.path) where name.hasSuffix(".segment") {
      contents[name] = try disk.contents(of: "\(CrashBench.path)/\(name)", limit: 1 << 24).array
    }
    return contents
  }

  @Test func `rule 2: an index rebuilt from nothing is the running one, after each merge`() throws {
    let bench = bench()
    let database = try bench.open { $0.maintenance = .manual }
    for round in 0..<5 {
      try bench.fill(database, round..<round + 5)
      try bench.commit(database, [.delete("doc-\(round)"), .put("doc-\(round + 1)", size: 1)])
      try database.compact()
      let disk = bench.fileSystem.restarted(.everything)
      for name in try disk.list(CrashBench.path) where name.hasSuffix(".checkpoint") {
        try disk.vanish("\(CrashBench.path)/\(name)")
      }
      let rebuilt = try CrashBench(disk, bench.writer, life: 90).open { $0.maintenance = .manual }
      let oracle = bench.writer.oracle.withLock { $0 }
      #expect(try oracle.identify(rebuilt.snapshot()) == oracle.versions.count - 1)
      #expect(try oracle.identify(database.snapshot()) == oracle.versions.count - 1)
    }
  }

  @Test func `rule 3: after an unclean end numbering resumes past all that was reserved`() throws {
    let bench = bench()
    var database = try bench.open { $0.maintenance = .manual }
    try bench.commit(database, [.put("a", size: 1)])
    // Handed out, seen, and lost with the power.
    try bench.commit(database, [.put("a", size: 2), .put("b", size: 3)], durability: .none)
    let seen = try database.snapshot().sequence
    let after = restarted(bench, .strict)
    database = try after.open { $0.maintenance = .manual }
    #expect(try database.snapshot().get("b") == nil)
    let sequence = try database.write { try $0.overwrite("c", with: [:]).sequence }
    #expect(sequence > seen)
    // Also where everything is merged, and only headers carry the last one.
    try database.close()
    database = try after.open { $0.maintenance = .manual }
    try database.write { try $0.delete(id: "c") }
    let last = try database.snapshot().sequence
    try database.compact()
    try database.close()
    for name in after.fileSystem.names(in: CrashBench.path)
    where name.hasSuffix(".checkpoint") || name == "HEAD" {
      try after.fileSystem.vanish("\(CrashBench.path)/\(name)")
    }
    database = try after.open()
    #expect(try database.write { try $0.overwrite("d", with: [:]).sequence } > last)
  }

  @Test func `rules 7 and 8: no byte of a segment with a successor ever changes`() throws {
    let bench = bench()
    let database = try bench.open { $0.maintenance = .manual }
    try bench.fill(database, 0..<9, size: 3000)
    let before = try contents(bench.fileSystem)
    try bench.fill(database, 5..<14, size: 3000, durability: .none)
    // Every recovery leaves what is there as it is, the newest segment too.
    let disk = bench.fileSystem.restarted(.processEnd)
    let found = try contents(disk)
    for (name, bytes) in before where name != before.keys.max() { #expect(found[name] == bytes) }
    let reopened = try CrashBench(disk, bench.writer, life: 90).open { $0.maintenance = .manual }
    try bench.commit(reopened, [.put("doc-1", size: 7)])
    let afterwards = try contents(disk)
    for (name, bytes) in found { #expect(afterwards[name] == bytes, "\(name)") }
    #expect(afterwards.count > found.count)
  }

  @Test func `rules 9 and 11: no segment can be missing without a word`() throws {
    let bench = bench()
    let database = try bench.open { $0.maintenance = .manual }
    try bench.fill(database, 0..<9, size: 3000)
    let names = bench.fileSystem.names(in: CrashBench.path).filter { $0.hasSuffix(".segment") }
    #expect(names.count >= 4)
    for name in names {
      let disk = bench.fileSystem.restarted(.everything)
      try disk.vanish("\(CrashBench.path)/\(name)")
      let opened = try CrashBench(disk, bench.writer, life: 90).open()
      #expect(!opened.openingReport.damage.isEmpty, "\(name)")
      #expect(throws: DatabaseError.self) { try opened.write { _ in } }
    }
    let disk = bench.fileSystem.restarted(.everything)
    for name in names { try disk.vanish("\(CrashBench.path)/\(name)") }
    #expect(throws: DatabaseError.self) { try CrashBench(disk, bench.writer, life: 90).open() }
  }

  @Test func `rule 10: a merged segment still vouches for the one before it`() throws {
    let bench = bench()
    for session in 0..<4 {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, session..<session + 3, size: 100)
      try database.close()
    }
    let directory = StoreDirectory(CrashBench.path, on: bench.fileSystem)
    let inputs = try [2, 3].map { try SegmentFile($0...$0, in: directory) }
    let last = try SegmentFile(4...4, in: directory).header.predecessor
    let segments = inputs.map { input in
      Segment(
        file: input, mapped: .empty,
        end: input.header.numbers.lowerBound == 3
          ? last
          : inputs[1].header.predecessor)
    }
    let output = try SegmentMerge.run(
      SegmentMerge.Order(
        inputs: segments, fileID: 77, salt: 5, now: 0, judgedAt: 9, releasedThrough: 9,
        isMapped: false),
      in: directory, keep: { _ in true }, flushLog: {})
    #expect(output.header.predecessor == inputs[0].header.predecessor)
    #expect(output.header.merge?.end == last)
    #expect(output.header.lastSequence >= inputs[1].header.lastSequence)
    #expect(output.header.sequenceBound >= inputs[0].header.sequenceBound)
    #expect(output.header.flushedSize == UInt64(try output.file.size()))
    // What the merge did not copy from is still checked against it.
    try bench.fileSystem.truncate(
      "\(CrashBench.path)/0000000001.segment", toSize: Int(inputs[0].header.predecessor.offset) - 8)
    #expect(try !bench.open().openingReport.damage.isEmpty)
  }

  @Test func `rule 13: an end is clean only if HEAD covers it`() throws {
    let bench = bench()
    var database = try bench.open { $0.maintenance = .manual }
    try bench.commit(database, [.put("a", size: 1)])
    try database.close()
    let head = try bench.fileSystem.contents(of: "\(CrashBench.path)/HEAD", limit: 4096).array
    database = try bench.open { $0.maintenance = .manual }
    try bench.commit(database, [.put("a", size: 2)])
    let disk = bench.fileSystem.restarted(.processEnd)
    // The HEAD of the earlier close.
    try disk.overwrite("\(CrashBench.path)/HEAD", atOffset: 0, with: head)
    let after = CrashBench(disk, bench.writer, life: 90)
    database = try after.open { $0.maintenance = .manual }
    #expect(database.openingReport.ending == .interrupted)
    _ = try bench.writer.oracle.withLock { try $0.identify(database.snapshot()) }
    // Compacted and closed without writing, it is closed.
    try database.close()
    database = try after.open { $0.maintenance = .manual }
    try database.compact()
    try database.close()
    #expect(try after.open().openingReport.ending == .closed)
  }

  @Test func `rule 17: a damaged store is opened as it is, and stays so`() throws {
    let bench = bench()
    let database = try bench.open { $0.maintenance = .manual }
    try bench.fill(database, 0..<9, size: 2000)
    try database.close()
    let disk = bench.fileSystem
    try disk.corrupt("\(CrashBench.path)/0000000002.segment", atOffset: 4096 + 900, mask: 8)
    let before = disk.contentHash
    for _ in 0..<2 {
      let opened = try bench.open()
      #expect(opened.openingReport.damage.first?.path?.hasSuffix("0000000002.segment") == true)
      let error = #expect(throws: DatabaseError.self) { try opened.write { _ in } }
      #expect(error?.code == .readOnly)
      #expect(try opened.snapshot().get("doc-8") != nil)
      try opened.close()
    }
    #expect(disk.contentHash == before)
  }

  @Test func `rule 20: a checkpoint is used only with exactly the files it rests on`() throws {
    let bench = bench()
    for session in 0..<3 {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, session..<session + 3, size: 100)
      try database.writeCheckpoint()
      try database.close()
    }
    let disk = bench.fileSystem.restarted(.processEnd)
    let directory = StoreDirectory(CrashBench.path, on: disk)
    // Merged behind the checkpoint's back: with another number, its locators lead nowhere.
    let first = try SegmentFile(1...1, in: directory)
    let end = try SegmentFile(2...2, in: directory).header.predecessor
    _ = try SegmentMerge.run(
      SegmentMerge.Order(
        inputs: [Segment(file: first, mapped: .empty, end: end)], fileID: 77, salt: 5, now: 0,
        judgedAt: 9, releasedThrough: 9, isMapped: false),
      in: directory, keep: { _ in true }, flushLog: {})
    let opened = try CrashBench(disk, bench.writer, life: 90).open { $0.maintenance = .manual }
    #expect(opened.openingReport.damage.isEmpty)
    #expect(opened.openingReport.notes.contains { $0.contains("was not used") })
    _ = try bench.writer.oracle.withLock { try $0.identify(opened.snapshot()) }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a segment with nothing left in it is not merged over and over`() throws {
    let bench = bench()
    let database = try bench.open()
    for _ in 0..<60 { try bench.commit(database, [.put("a", size: 900)]) }
    #expect(
      bench.fileSystem.names(in: CrashBench.path).filter { $0.hasSuffix(".segment") }.count < 12)
  }

  @Test func `a store that is never closed still gets its checkpoints`() throws {
    var bench = bench()
    for session in 0..<8 {
      let database = try bench.open()
      try bench.commit(database, [.put("doc-\(session)", size: 900)])
      bench = CrashBench(
        bench.fileSystem.restarted(.processEnd), bench.writer, life: 20 + 20 * session)
    }
    let names = bench.fileSystem.names(in: CrashBench.path)
    #expect(names.contains { $0.hasSuffix(".checkpoint") })
    let database = try bench.open()
    #expect(database.openingReport.replayedCommits < 8)
  }

  @Test func `a merge that cannot be brought in leaves a store that opens`() throws {
    for call in 1...12 {
      let bench = CrashBench(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: false)
      let database = try bench.open { $0.maintenance = .manual }
      try bench.fill(database, 0..<30, size: 300)
      try bench.fill(database, 0..<12, size: 20)
      try database.writeCheckpoint()
      let disk = bench.fileSystem
      let isArmed = Mutex(false)
      // From when the merged segment has its name until the index refers to it.
      disk.observeChangingCalls { _ in
        guard disk.names(in: CrashBench.path).contains(where: { $0.contains("-") }) else { return }
        guard
          isArmed.withLock({ wasArmed in
            defer { wasArmed = true }; return !wasArmed
          })
        else { return }
        disk.fail(.read, atCall: call, with: .inputOutput)
      }
      _ = try? database.compact()
      disk.observeChangingCalls(nil)
      disk.stopFailing()
      try bench.commit(database, [.put("doc-3", size: 5)])
      try database.writeCheckpoint()
      try database.close()
      let reopened = try bench.open { $0.maintenance = .manual }
      #expect(reopened.openingReport.damage.isEmpty, "\(call): \(reopened.openingReport)")
      _ = try bench.writer.oracle.withLock { try $0.identify(reopened.snapshot()) }
    }
  }
}
