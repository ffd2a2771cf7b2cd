import DivanLog
import DivanTesting
import Synchronization
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Rules that say what must be durable before something else is done or said.
extension RuleTests {
  @Test(arguments: [1, 2])
  func `rule 4: the commits by which a merge judges are durable before it takes its name`(
    inputCount: Int
  ) throws {
    // Files so large that nothing but the merge has a reason to flush.
    let bench = bench()
    for session in 0..<inputCount {
      let database = try bench.open {
        $0.maintenance = .manual
        $0.segmentSizeGoal = 1 << 20
      }
      try bench.fill(database, session * 4..<session * 4 + 4)
      if session == inputCount - 1 { try database.writeCheckpoint() }
      try database.close()
    }
    let database = try bench.open {
      $0.maintenance = .manual
      $0.segmentSizeGoal = 1 << 20
    }
    try bench.commit(
      database, (0..<8).map { .put("doc-\($0)", size: 20) }, durability: .none)
    let disk = bench.fileSystem
    let oracle = bench.writer.oracle.withLock { $0 }
    #expect(oracle.secured == oracle.versions.count - 2)
    let problems = Recorder<String>()
    disk.observeChangingCalls { call in
      do {
        let left = disk.restarted(.strict)
        // A checkpoint may rot: then what was merged stands in for its inputs.
        for name in left.names(in: CrashBench.path) where name.hasSuffix(".checkpoint") {
          try left.vanish("\(CrashBench.path)/\(name)")
        }
        let opened = try CrashBench(left, bench.writer, life: 500 + call).open {
          $0.maintenance = .manual
        }
        if let damage = opened.openingReport.damage.first { throw damage }
        _ = try oracle.identify(opened.snapshot())
      } catch {
        problems.append("call \(call): \(error)")
      }
    }
    try database.mergeWhatPays()
    disk.observeChangingCalls(nil)
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
    let numbers = 1...UInt64(inputCount)
    let merged = try SegmentFile(numbers, in: StoreDirectory(CrashBench.path, on: disk))
    #expect(merged.header.merge != nil)
  }

  @Test func `rule 14: what an opening serves is durable, with its name`() throws {
    let bench = bench()
    do {
      let database = try bench.open { $0.maintenance = .manual }
      try bench.commit(database, [.put("a", size: 1)])
      try bench.commit(database, [.put("a", size: 2)], durability: .none)
      bench.fileSystem.losePower(atCall: 0)
    }
    let oracle = bench.writer.oracle.withLock { $0 }
    let problems = Recorder<String>()
    let disk = bench.fileSystem.restarted(.processEnd)
    // The process that logs again ends at any call, perhaps with a name taken and not flushed. The
    // next one finds that name and serves what it stands for; then the power goes.
    disk.observeChangingCalls { call in
      do {
        let left = disk.restarted(.processEnd)
        let database = try CrashBench(left, bench.writer, life: 500 + call).open {
          $0.maintenance = .manual
        }
        var served = oracle
        served.secured = try oracle.identify(database.snapshot())
        let later = try CrashBench(left.restarted(.strict), bench.writer, life: 900 + call).open()
        if let damage = later.openingReport.damage.first { throw damage }
        _ = try served.identify(later.snapshot())
      } catch {
        problems.append("call \(call): \(error)")
      }
    }
    let database = try CrashBench(disk, bench.writer, life: 90).open { $0.maintenance = .manual }
    #expect(database.openingReport.securedCommits > 0)
    disk.observeChangingCalls(nil)
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
  }

  @Test func `rule 14: a store is durable in a directory that another process made`() throws {
    let bench = bench()
    let disk = bench.fileSystem
    let problems = Recorder<String>()
    disk.observeChangingCalls { call in
      do {
        let left = disk.restarted(.processEnd)
        let again = CrashBench(left, CrashWriter(seed: 2), life: 500 + call)
        let database = try again.open { $0.maintenance = .manual }
        try again.commit(database, [.put("a", size: 1)])
        let later = try CrashBench(left.restarted(.strict), again.writer, life: 900 + call).open()
        _ = try again.writer.oracle.withLock { $0 }.identify(later.snapshot())
      } catch {
        problems.append("call \(call): \(error)")
      }
    }
    _ = try bench.open { $0.maintenance = .manual }
    disk.observeChangingCalls(nil)
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
  }

  @Test func `rule 13: a HEAD that says closed at another place than the end is not believed`()
    throws
  {
    let bench = bench()
    let database = try bench.open { $0.maintenance = .manual }
    try bench.commit(database, [.put("a", size: 1)])
    try bench.commit(database, [.put("a", size: 2)], durability: .none)
    let disk = bench.fileSystem.restarted(.processEnd)
    // It is of the last segment, and its floor is where that segment began.
    var head = try #require(try StoreDirectory(CrashBench.path, on: disk).head().head)
    #expect(!head.isClosed && head.segmentNumber == 1 && head.floor.commit == 0)
    head.isClosed = true
    try disk.overwrite("\(CrashBench.path)/HEAD", atOffset: 0, with: head.encode().array)
    let opened = try CrashBench(disk, bench.writer, life: 90).open { $0.maintenance = .manual }
    #expect(opened.openingReport.ending == .interrupted)
    var oracle = bench.writer.oracle.withLock { $0 }
    oracle.secured = try oracle.identify(opened.snapshot())
    #expect(oracle.secured == 2)
    // So what is served was made durable, and numbering goes on past all that was reserved.
    let later = try CrashBench(disk.restarted(.strict), bench.writer, life: 190).open()
    _ = try oracle.identify(later.snapshot())
    let sequence = try opened.write { try $0.overwrite("b", with: [:]).sequence }
    #expect(sequence > head.sequenceBound)
  }

  @Test(arguments: [1, 3, 20])
  func `rule 3: no number is handed out twice that one transaction took beyond the reserve`(
    count: Int
  ) throws {
    let bench = bench()
    let database = try bench.open {
      $0.maintenance = .manual
      $0.sequenceReserve = 4
      // No segment is ended, which would flush.
      $0.segmentSizeGoal = 1 << 20
    }
    try bench.commit(database, [.put("a", size: 1)])
    for round in 0..<4 {
      try bench.commit(
        database, (0..<count).map { .put("doc-\($0)", size: round) }, durability: .none)
      let seen = try database.snapshot().sequence
      // What was seen is lost with the power, and its numbers must not come again.
      let later = try restarted(bench, .strict).open {
        $0.maintenance = .manual
        $0.sequenceReserve = 4
      }
      #expect(try later.snapshot().get("doc-0") == nil)
      let sequence = try later.write { try $0.overwrite("next", with: [:]).sequence }
      #expect(sequence > seen, "round \(round)")
    }
  }
}
