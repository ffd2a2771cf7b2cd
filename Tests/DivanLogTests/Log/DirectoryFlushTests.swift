import Dispatch
import DivanTesting
import Synchronization
import Testing

@testable import DivanLog

/// Tests of flushes of a store's directory by several threads.
struct DirectoryFlushTests {
  private let disk = SimulatedFileSystem()
  private let directory: StoreDirectory

  init() throws {
    try disk.makeDirectory("/s")
    directory = StoreDirectory("/s", on: disk)
  }

  /// What another thread found.
  private final class Outcome: Sendable {
    let hasFailed = Atomic(false)
  }

  @Test func `a flush does not count before one that began earlier has ended`() throws {
    let (disk, directory) = (disk, directory)
    let count = directory.failureCount
    let isFirst = Atomic(true)
    let outcome = Outcome()
    let group = DispatchGroup()
    disk.observeCalls { call in
      guard call.verb == .flushDirectory else { return }
      guard isFirst.exchange(false, ordering: .relaxed) else { return }
      DispatchQueue.global().async(group: group) {
        let hasFailed = (try? directory.flush(since: count)) == nil
        outcome.hasFailed.store(hasFailed, ordering: .relaxed)
      }
      // The other thread has to wait, and is given the time to be wrong.
      _ = group.wait(timeout: .now() + .milliseconds(50))
      disk.fail(.flushDirectory, with: .inputOutput)
    }
    #expect(throws: LogError.self) { try directory.flush(since: count) }
    group.wait()
    disk.observeCalls(nil)
    let hasFailed = outcome.hasFailed.load(ordering: .relaxed)
    #expect(hasFailed)
    // What is named from now on depends on later flushes only.
    try directory.flush(since: directory.failureCount)
  }

  @Test func `a file system that calls back during a flush can flush`() throws {
    let (disk, directory) = (disk, directory)
    let isFirst = Atomic(true)
    disk.observeCalls { call in
      guard call.verb == .flushDirectory else { return }
      guard isFirst.exchange(false, ordering: .relaxed) else { return }
      #expect((try? directory.flush()) != nil)
    }
    try directory.flush()
    disk.observeCalls(nil)
    #expect(directory.failureCount == 0)
  }
}
