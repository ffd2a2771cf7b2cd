import Divan
import DivanTesting
import Testing

/// Tests of the application of docs/TESTING.md on disks that lose power, fill up and fail.
struct LedgerTests {
  /// Opens the store, checks its contents, and makes another transfer.
  private func check(_ disk: SimulatedDisk, acknowledged: Int, attempted: Int) throws {
    let ledger = try Ledger(configuration: disk.configuration())
    let count = try ledger.countTransfers()
    #expect((acknowledged...attempted).contains(count), "\(disk)")
    #expect(try ledger.sum() == 300, "\(disk)")
    try ledger.move(1, from: "ann", to: "cy")
    #expect(try ledger.countTransfers() == count + 1, "\(disk)")
  }

  @Test func `a crash at any call loses no acknowledged transfer`() throws {
    var (acknowledged, attempted) = (0, 0)
    let trials = try SimulatedDisk(seed: 1).forEachCrash { disk in
      (acknowledged, attempted) = (0, 0)
      let ledger = try Ledger(configuration: disk.configuration())
      for amount in 1...12 {
        attempted += 1
        try ledger.move(amount, from: "ann", to: "bob")
        acknowledged += 1
      }
    } check: { disk in
      try check(disk, acknowledged: acknowledged, attempted: attempted)
    }
    #expect(trials.failurePointCount > 50 && trials.checkCount > 400, "\(trials)")
  }

  @Test func `a full disk refuses whole transfers, and work continues with more space`() throws {
    var (acknowledged, refused) = (0, 0)
    let trials = try SimulatedDisk(seed: 2).forEachCapacity(stepBytes: 512) { disk in
      (acknowledged, refused) = (0, 0)
      let ledger = try Ledger(configuration: disk.configuration())
      for amount in 1...12 {
        do {
          try ledger.move(amount, from: "ann", to: "bob")
          acknowledged += 1
        } catch let error as DatabaseError where error.code == .diskFull {
          refused += 1
        }
        // The ledger stays readable and consistent at any time.
        #expect(try ledger.sum() == 300 && ledger.countTransfers() == acknowledged, "\(disk)")
      }
      disk.capacityBytes = nil
      try ledger.move(7, from: "bob", to: "cy")
      acknowledged += 1
    } check: { disk in
      try check(disk, acknowledged: acknowledged, attempted: acknowledged + refused)
    }
    #expect(trials.runCount > 10, "\(trials)")
  }

  @Test func `a fault at any call leaves the ledger consistent`() throws {
    var (acknowledged, attempted) = (0, 0)
    try SimulatedDisk(seed: 3).forEachFault([.inputOutput, .noSpace]) { disk in
      (acknowledged, attempted) = (0, 0)
      var ledger = try Ledger(configuration: disk.configuration())
      for amount in 1...4 {
        attempted += 1
        do {
          try ledger.move(amount, from: "ann", to: "bob")
          acknowledged += 1
        } catch let error as DatabaseError where error.code == .writerStopped {
          // Whether the last commit is durable is unknown until the store is opened again.
          try? ledger.database.close()
          ledger = try Ledger(configuration: disk.configuration())
        } catch is DatabaseError {
          continue
        }
      }
    } check: { disk in
      try check(disk, acknowledged: acknowledged, attempted: attempted)
    }
  }

  @Test func `the same seed repeats every call and every byte`() throws {
    func run(seed: UInt64) throws -> (UInt64, UInt64) {
      let disk = SimulatedDisk(seed: seed)
      let ledger = try Ledger(configuration: disk.configuration())
      for amount in 1...30 { try ledger.move(amount, from: "bob", to: "cy") }
      try ledger.database.close()
      return (disk.traceHash, disk.contentHash)
    }
    #expect(try run(seed: 4) == run(seed: 4))
    #expect(try run(seed: 4).1 != run(seed: 5).1)
  }
}
