import Dispatch
import Divan
import DivanTesting
import Synchronization
import Testing

/// Maintenance within the commits of several threads, as on a disk that is simulated.
struct InlineMaintenanceTests {
  // Each thread began a checkpoint of its own, and the second memtable was frozen twice.
  @Test func `threads that write to a simulated disk do not run maintenance at the same time`()
    throws
  {
    let disk = SimulatedDisk(seed: 3)
    let database = try Database(at: "/notes.divan", configuration: disk.configuration())
    let failures = Mutex<[String]>([])
    let threadCount = 4
    let documentCount = 400
    DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
      for number in 0..<documentCount {
        do {
          _ = try database.write { transaction in
            try transaction.replace(
              "\(thread)-\(number % 40)", with: ["text": .string(String(repeating: "a", count: 60))]
            )
          }
          if number % 100 == 0 { try database.compact() }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try database.statistics.documentCount == threadCount * 40)
    #expect(try database.check().isSound)
  }

  @Test func `a copy that is being made does not wait for the maintenance of a commit`() throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try Database(at: "/notes.divan", configuration: disk.configuration())
    func write(_ number: Int) throws {
      _ = try database.write { transaction in
        try transaction.replace(
          "\(number)", with: ["text": .string(String(repeating: "b", count: 100))])
      }
    }
    for number in 0..<40 { try write(number) }
    var written = 0
    // Each step of the copy commits more than an interval of checkpoints.
    try database.backup(to: "/copy.divan") { _ in
      for number in 0..<60 { try? write(number) }
      written += 60
    }
    #expect(written > 0)
    #expect(try database.statistics.documentCount == 60)
    #expect(try database.check().isSound)
  }
}
