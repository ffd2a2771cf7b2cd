import Divan
import DivanLog
import DivanTesting
import ProofKit
import TestSupport
import Testing

/// Tests that compare the store with a sorted map under random operations.
///
/// With small files, rotation, checkpoints, compactions and reopening happen as in large stores.
struct RandomOperationTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64], [ReadMode.mapped, .buffered])
  func `random operations match a plain map, also in snapshots that stay open`(
    seed: UInt64, reads: ReadMode
  ) throws {
    print("seed \(seed)")
    var configuration = Configuration.small(on: MemoryFileSystem())
    configuration.readMode = reads
    try agree(seed: seed, at: "/store.divan", configuration, rounds: 300)
  }

  @Test(arguments: [11, 12] as [UInt64], [ReadMode.mapped, .buffered])
  func `random operations match a plain map on the machine's file system`(
    seed: UInt64, reads: ReadMode
  ) throws {
    print("seed \(seed)")
    let directory = try TemporaryDirectory()
    var configuration = Configuration.small(on: POSIXFileSystem())
    configuration.readMode = reads
    try agree(seed: seed, at: directory.path + "/store.divan", configuration, rounds: 120)
  }

  /// Runs a part of `Proofs ci random`.
  @Test(.partOfProof)
  func `the store matches the model after random operations, faults and crashes`() throws {
    let run = ProofRun(RandomProof.name, budget: .test)
    try RandomProof().gather(run)
    #expect(run.failures.isEmpty, "\(run.failures.prefix(1))")
  }

  private func agree(
    seed: UInt64, at path: String, _ configuration: Configuration, rounds: Int
  ) throws {
    var random = SeededGenerator(seed: seed)
    var model = PlainStore()
    var database = try Database(at: path, configuration: configuration)
    var snapshots: [(snapshot: Snapshot, model: PlainStore)] = []
    for round in 0..<rounds {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<80:
        let changed = try database.write { transaction in
          try model.changed(by: transaction, &random)
        }
        model = changed
      case 80..<85:
        // The closure throws, so nothing changes.
        struct Stop: Error {}
        #expect(throws: Stop.self) {
          try database.write { transaction in
            _ = try model.changed(by: transaction, &random)
            throw Stop()
          }
        }
      case 85..<92:
        snapshots.append((try database.snapshot(), model))
        if snapshots.count > 5 { snapshots.removeFirst() }
      case 92..<95:
        try database.compact()
      default:
        snapshots = []
        try database.close()
        database = try Database(at: path, configuration: configuration)
        #expect(database.openingReport.ending == .closed)
      }
      if round % 20 == 0 {
        try model.compare(with: database.snapshot())
        for (snapshot, model) in snapshots { try model.compare(with: snapshot) }
      }
    }
    try model.compare(with: database.snapshot())
    try database.close()
    let reopened = try Database(at: path, configuration: configuration)
    try model.compare(with: reopened.snapshot())
  }
}
