import DivanLog
import DivanTesting
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of openings without a usable checkpoint.
struct OpeningWithoutCheckpointTests {
  /// Returns a store of `count` documents in commits of ten, without checkpoints.
  private func fixture(_ count: Int) throws -> CrashFixture {
    let fixture = CrashFixture(SimulatedFileSystem(), CrashWriter(seed: 1), isMapped: false)
    let database = try fixture.open { $0.segmentSizeGoal = 1 << 20 }
    for start in stride(from: 0, to: count, by: 10) {
      try database.write { transaction in
        for number in start..<start + 10 {
          try transaction.replace(
            "doc-\(number)", with: ["text": .string(String(repeating: "x", count: 1000))])
        }
      }
    }
    try database.close()
    for name in fixture.fileSystem.names(in: CrashFixture.path) where name.hasSuffix(".checkpoint")
    {
      try fixture.fileSystem.vanish("\(CrashFixture.path)/\(name)")
    }
    return fixture
  }

  /// Returns the number of reads from segments during an opening, and its report.
  private func opening(_ fixture: CrashFixture) throws -> (readCount: Int, report: OpeningReport) {
    let readCount = Counter()
    fixture.fileSystem.observeCalls { call in
      if call.verb == .read, call.path.hasSuffix(".segment") { readCount.increment() }
    }
    let database = try fixture.open { $0.segmentSizeGoal = 1 << 20 }
    fixture.fileSystem.observeCalls(nil)
    #expect(try database.snapshot().count > 0)
    let report = database.openingReport
    try database.close()
    return (readCount.value, report)
  }

  private final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func increment() { count.add(1, ordering: .relaxed) }
  }

  // Found by an external trial: five million documents took 11.8 s at each opening without a
  // checkpoint.
  @Test func `a replay of the whole log leaves a checkpoint for the next opening`() throws {
    // More than one MiB, from which on closing writes a checkpoint.
    let fixture = try fixture(1500)
    let first = try opening(fixture)
    #expect(first.report.replayedCommits == 150 && first.report.damage.isEmpty)
    let second = try opening(fixture)
    #expect(second.report.replayedCommits == 0)
    #expect(second.readCount < first.readCount / 4)
  }

  @Test func `the reads of a whole replay grow linearly with the log`() throws {
    let single = try opening(fixture(500)).readCount
    let double = try opening(fixture(1000)).readCount
    #expect(double <= single * 9 / 4, "\(single), then \(double) reads")
  }
}
