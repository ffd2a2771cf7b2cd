import Divan
import DivanLog
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of a store whose directory is moved while it is open.
struct MovedStoreTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func configuration() -> Configuration {
    var configuration = Configuration()
    configuration.setFilesSmallForTests()
    configuration.maintenance = .manual
    return configuration
  }

  /// Writes until the store must create a file.
  ///
  /// Returns the number of acknowledged documents, and the error.
  private func fill(_ database: Database) -> (count: Int, error: DatabaseError?) {
    let text = Value.string(String(repeating: "x", count: 4000))
    for number in 0..<100 {
      do {
        try database.write { try $0.replace("doc-\(number)", with: ["text": text]) }
      } catch {
        return (number, error as? DatabaseError)
      }
    }
    return (100, nil)
  }

  /// Regression test: the writer used paths, so it wrote into another store.
  ///
  /// A store was renamed while it was open, and another one was created in its place. The writer
  /// put its next segment, its checkpoint and its `HEAD` among the files of the other store. Both
  /// lost acknowledged commits. Found by the proof `processes`.
  @Test func `a renamed store writes nothing into a new store at its old path`() throws {
    let (path, moved) = (directory.path + "/a.divan", directory.path + "/b.divan")
    let first = try Database(at: path, configuration: configuration())
    try first.write { try $0.replace("first", with: [:]) }
    try FileManager.default.moveItem(atPath: path, toPath: moved)
    let second = try Database(at: path, configuration: configuration())
    try second.write { try $0.replace("second", with: [:]) }
    let files = try FileManager.default.contentsOfDirectory(atPath: path).sorted()

    let (count, error) = fill(first)
    #expect(count == 0 && error?.code == .outcomeUnknown, "\(count), \(error as Any)")
    // The writer has stopped, so these calls do nothing or fail; they write nothing.
    try? first.writeCheckpoint()
    try? first.compact()
    try? first.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == files)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp").isEmpty)

    #expect(fill(second).error == nil)
    try second.close()
    // The moved store contains the bytes of the one commit whose outcome is unknown.
    for (path, own, count) in [(path, "second", 101), (moved, "first", 2)] {
      let database = try Database(at: path, configuration: configuration())
      #expect(database.openingReport.damage.isEmpty)
      #expect(try database.snapshot().exists(own))
      #expect(try database.snapshot().count == count)
      #expect(try database.check().isSound)
      try database.close()
    }
  }

  @Test func `a lock reports that its file was removed or replaced`() throws {
    let path = directory.path + "/LOCK"
    let files = POSIXFileSystem()
    guard case .acquired(let lock) = try files.lock(path, note: "one") else {
      Issue.record("not acquired")
      return
    }
    try lock.checkPath()
    try files.remove(path)
    #expect(throws: SystemError.self) { try lock.checkPath() }
    guard case .acquired(let next) = try files.lock(path, note: "two") else {
      Issue.record("not acquired")
      return
    }
    try next.checkPath()
    #expect(throws: SystemError.self) { try lock.checkPath() }
    guard case .held(let note) = try files.lock(path, note: "three") else {
      Issue.record("the lock was acquired twice")
      return
    }
    #expect(note == "two")
  }

  /// Regression test: a lock on a file that its last holder had just removed was not exclusive.
  ///
  /// The next process created the file again and acquired its lock, too.
  @Test func `at most one thread has a lock, even if threads remove its file`() throws {
    let path = directory.path + "/LOCK"
    let holders = Atomic(0)
    let mostHolders = Atomic(0)
    let turns = Atomic(0)
    onOwnThreads(4) { _ in
      for _ in 0..<300 {
        // A file that is removed between two calls is not a reason to fail either.
        guard case .acquired(let lock)? = try? POSIXFileSystem().lock(path, note: "x") else {
          continue
        }
        let count = holders.add(1, ordering: .sequentiallyConsistent).newValue
        mostHolders.max(count, ordering: .sequentiallyConsistent)
        turns.add(1, ordering: .sequentiallyConsistent)
        sched_yield()
        holders.subtract(1, ordering: .sequentiallyConsistent)
        // From here on, another thread may acquire the lock.
        try? POSIXFileSystem().remove(path)
        lock.release()
      }
    }
    #expect(mostHolders.load(ordering: .relaxed) == 1)
    #expect(turns.load(ordering: .relaxed) > 100)
  }
}
