import DivanTesting
import Dispatch
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of metrics, which are compared with plain counts and with the files.
struct DatabaseMetricsTests {
  private static let path = "/Notes.divan"

  private func open(_ disk: SimulatedDisk, _ recorder: EventRecorder? = nil) throws -> Database {
    var configuration = disk.configuration()
    configuration.maintenance = .manual
    configuration.eventHandler = recorder?.handler
    configuration.slowQueryThreshold = nil
    configuration.slowCommitThreshold = nil
    return try Database(at: DatabaseMetricsTests.path, configuration: configuration)
  }

  /// The numbers and the total size of files with an extension.
  private func files(_ suffix: String, on disk: SimulatedDisk) throws -> (count: Int, size: Int) {
    let paths = disk.filePaths.filter { $0.hasSuffix(suffix) }
    return (paths.count, try paths.reduce(0) { $0 + (try disk.contents(of: $1).count) })
  }

  /// What a random run has done, counted outside of the database.
  private struct PlainCounts {
    var commits = 0, revisions = 0
    var queries = 0, results = 0
    var live: [String: Int64] = [:]
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `metrics agree with a plain count and with the sizes of files over a random run`(
    seed: UInt64
  ) throws {
    print("seed \(seed)")
    let disk = SimulatedDisk(seed: seed)
    let recorder = EventRecorder()
    let database = try open(disk, recorder)
    let flushes = Atomic(0)
    let checkpoints = Atomic(0)
    (disk.fileSystem as? SimulatedFileSystem)?.observeCalls { call in
      if call.verb == .rename, call.path.contains("checkpoint") {
        checkpoints.add(1, ordering: .relaxed)
      }
      if call.verb == .flush { flushes.add(1, ordering: .relaxed) }
    }
    var random = SeededGenerator(seed: seed)
    var plain = PlainCounts()
    var earlier = database.metrics
    for step in 0..<400 {
      let committed = plain.commits
      switch Int.random(in: 0..<10, using: &random) {
      case 0...4:
        let count = Int.random(in: 1...8, using: &random)
        let isFull = Bool.random(using: &random)
        let ids = (0..<count).map { _ in "note-\(Int.random(in: 0..<60, using: &random))" }
        try database.write(durability: isFull ? .full : .none) { transaction in
          for id in ids { _ = try transaction.replace(id, with: ["n": .int(Int64(step))]) }
        }
        for id in ids { plain.live[id] = Int64(step) }
        plain.commits += 1
        plain.revisions += count
      case 5:
        guard let id = plain.live.keys.sorted().randomElement(using: &random) else { continue }
        try database.write { _ = try $0.delete(id) }
        plain.live[id] = nil
        plain.commits += 1
        plain.revisions += 1
      case 6:
        _ = try? database.write { transaction in
          _ = try transaction.replace("failed", with: [:])
          throw CancellationError()
        }
      case 7, 8:
        let limit = Int64.random(in: 0..<400, using: &random)
        let expected = plain.live.values.filter { $0 < limit }.count
        let query = Query<Document>().filter { $0["n"] < .int(limit) }
        #expect(try database.snapshot().find(query).count == expected)
        plain.queries += 1
        plain.results += expected
      default:
        if Bool.random(using: &random) {
          try database.writeCheckpoint()
        } else {
          try database.compactWhatPays()
        }
      }
      let metrics = database.metrics
      let segments = try files(".segment", on: disk)
      // Files that a compaction has replaced may still wait for a checkpoint. A transaction that
      // failed may have begun a segment, which shows with the next commit.
      if metrics.compactions == 0, plain.commits > committed {
        // Zeros may follow the end of each segment, of which `logBytes` has none.
        let zeros = segments.size - metrics.logBytes
        #expect((0...segments.count * (2 << 10)).contains(zeros), "step \(step)")
      }
      #expect(metrics.documents == plain.live.count)
      for (old, new) in zip(earlier.samples, metrics.samples) where new.isCounter {
        #expect(old.value <= new.value, "step \(step): \(new.name)")
      }
      earlier = metrics
    }
    try database.compact()
    let metrics = database.metrics
    #expect(metrics.commits == plain.commits)
    #expect(metrics.storedRevisions == plain.revisions)
    #expect(metrics.queries == plain.queries && metrics.queryResults == plain.results)
    #expect(metrics.queryCandidates >= plain.results)
    #expect(metrics.groupedCommits <= metrics.commits && metrics.commitGroups > 0)
    #expect(metrics.commitGroups <= flushes.load(ordering: .relaxed))
    #expect(metrics.checkpoints == checkpoints.load(ordering: .relaxed))
    // Every byte of the segments up to their ends: headers, appended commits, less what compactions
    // reclaimed. Zeros may follow the end of each.
    let segments = try files(".segment", on: disk)
    let compactions = recorder.of(.compacted, from: database).compactMap(\.compaction)
    #expect(compactions.count == metrics.compactions && metrics.compactions > 0)
    let begun = segments.count + compactions.reduce(0) { $0 + $1.segmentCount - 1 }
    #expect((0...segments.count * (2 << 10)).contains(segments.size - metrics.logBytes))
    #expect(
      metrics.logBytes == 4096 * begun + metrics.appendedBytes - metrics.reclaimedBytes)
    let statistics = try database.statistics
    #expect(metrics.deadBytes == statistics.deadSize)
    #expect(metrics.pendingIndexEntries == statistics.pendingIndexEntries)
    print(metrics)
  }

  @Test func `each flush that commits wait for is one group`() throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try open(disk)
    for number in 0..<5 { try database.write { _ = try $0.replace("\(number)", with: [:]) } }
    #expect(database.metrics.commitGroups == 5 && database.metrics.groupedCommits == 5)
    for number in 0..<5 {
      try database.write(durability: .none) { _ = try $0.replace("\(number)", with: [:]) }
    }
    #expect(database.metrics.commitGroups == 5 && database.metrics.groupedCommits == 5)
    try database.flush()
    #expect(database.metrics.commitGroups == 6 && database.metrics.groupedCommits == 10)
    #expect(database.metrics.flushSeconds > 0)
  }

  @Test func `outdated versions that snapshots hold are counted until they are released`() throws {
    let database = try open(SimulatedDisk(seed: 6))
    let start = database.metrics
    func commit() throws { try database.write { _ = try $0.replace("a", with: [:]) } }
    try commit()
    #expect(database.metrics.heldVersions == 0)
    var snapshots = [try database.snapshot()]
    #expect(database.metrics.heldVersions == 0, "the newest version is not outdated")
    for number in 1...40 {
      try commit()
      #expect(database.metrics.heldVersions == number)
      snapshots.append(try database.snapshot())
    }
    let age = database.metrics.oldestHeldVersionSeconds
    #expect(age > 0 && database.metrics.oldestHeldVersionSeconds >= age)
    snapshots.removeFirst(30)
    #expect(database.metrics.heldVersions == 10)
    snapshots = []
    #expect(database.metrics.heldVersions == 0)
    #expect(database.metrics.oldestHeldVersionSeconds == 0)
    #expect(database.metrics.delta(since: start).snapshots == 41)
  }

  @Test func `a filter that is repeated hits the predicate cache`() throws {
    let database = try open(SimulatedDisk(seed: 7))
    try database.write { transaction in
      for number in 0..<500 {
        _ = try transaction.replace("\(number)", with: ["n": .int(Int64(number % 100))])
      }
    }
    let query = Query<Document>().filter { $0["n"] < 50 }
    let start = database.metrics
    #expect(try database.snapshot().count(query) == 250)
    let first = database.metrics.delta(since: start)
    #expect(first.predicateCacheHits == 0 && first.predicateCacheMisses == 500)
    let middle = database.metrics
    #expect(try database.snapshot().count(query) == 250)
    let second = database.metrics.delta(since: middle)
    #expect(second.predicateCacheHits == 500 && second.predicateCacheMisses == 0)
    #expect(second.queries == 1 && second.commits == 0)
  }

  @Test func `metrics are read while a transaction runs, and after closing`() throws {
    let database = try open(SimulatedDisk(seed: 8))
    try database.write { transaction in
      _ = try transaction.replace("a", with: [:])
      let isRead = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        _ = database.metrics
        isRead.signal()
      }
      #expect(isRead.wait(timeout: .now() + 10) == .success)
    }
    try database.close()
    #expect(database.metrics.commits == 1 && database.metrics.documents == 1)
  }

  @Test func `each metric has a sample of its name, and survives encoding`() throws {
    let database = try open(SimulatedDisk(seed: 9))
    try database.write { _ = try $0.replace("a", with: [:]) }
    let metrics = database.metrics
    let names = Mirror(reflecting: metrics).children.compactMap(\.label)
    #expect(metrics.samples.map(\.name) == names)
    let data = try JSONEncoder().encode(metrics)
    #expect(try JSONDecoder().decode(DatabaseMetrics.self, from: data) == metrics)
    let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(Set(object.keys) == Set(names))
    for sample in metrics.samples {
      let value = try #require(object[sample.name] as? Double, "\(sample.name)")
      #expect(value == sample.value && Double(sample.text) == value)
    }
    #expect(metrics.description.contains("commits=1 storedRevisions=1 "))
  }

  @Test func `a difference has the counters of the time between, and the gauges of the end`() throws
  {
    let database = try open(SimulatedDisk(seed: 10))
    try database.write { _ = try $0.replace("a", with: [:]) }
    let earlier = database.metrics
    try database.write { for id in ["b", "c"] { _ = try $0.replace(id, with: [:]) } }
    let later = database.metrics
    let delta = later.delta(since: earlier)
    #expect(delta.commits == 1 && delta.storedRevisions == 2 && delta.documents == 3)
    #expect(delta.logBytes == later.logBytes)
    #expect(delta.openSeconds == later.openSeconds - earlier.openSeconds)
    for (sample, (old, new)) in zip(delta.samples, zip(earlier.samples, later.samples))
    where sample.isCounter {
      #expect(sample.value == new.value - old.value, "\(sample.name)")
    }
  }
}
