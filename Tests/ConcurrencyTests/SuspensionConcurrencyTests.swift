import DivanLog
import DivanTesting
import Foundation
import ProofKit
import Synchronization
import TestSupport
import Testing

@testable import Divan

/// Tests of databases that are suspended and resumed while other threads use them.
@Suite(.timeLimit(.minutes(30)))
struct SuspensionConcurrencyTests {
  private let fileSystem = MemoryFileSystem()

  private func open(
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Database {
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    configuration.setFilesSmallForTests()
    change(&configuration)
    return try Database(at: "/s.divan", configuration: configuration)
  }

  /// Runs `body`, and again while it throws that the database is suspended; returns false once it
  /// is closed.
  private static func retrying(_ body: () throws -> Void) throws -> Bool {
    while true {
      do {
        try body()
        return true
      } catch DatabaseError.Code.suspended {
        usleep(50)
      } catch DatabaseError.Code.closed {
        return false
      }
    }
  }

  private static func count(_ id: String, in snapshot: Snapshot) throws -> Int {
    try snapshot.document(id)?["n"]?.intValue ?? 0
  }

  @Test func `suspending races with writers, readers and observers, and no commit is lost`()
    async throws
  {
    let database = try open()
    let writerCount = 3
    let acknowledged = Guarded([Int](repeating: 0, count: writerCount + 1))
    let problems = Recorder<String>()
    let isDone = Atomic(false)
    let shown = Recorder<String>()
    let observer = Task.detached {
      for try await documents in database.liveResults(of: Query<Document>().sorted(by: "n")) {
        shown.append("\(documents.map { $0["n"]?.intValue ?? 0 }.reduce(0, +))")
      }
    }
    onOwnThreads(writerCount + 3) { thread in
      do {
        switch thread {
        case 0..<writerCount:
          try write(database, thread, acknowledged, isDone)
        case writerCount, writerCount + 1:
          while !isDone.load(ordering: .relaxed) {
            let least = acknowledged.withLock { $0 }
            _ = try Self.retrying {
              let snapshot = try database.snapshot()
              for (writer, count) in least.enumerated() {
                let found = try Self.count("w\(writer)", in: snapshot)
                if found < count { problems.append("\(found) of \(count) by \(writer)") }
              }
            }
          }
        default:
          defer { isDone.store(true, ordering: .relaxed) }
          for round in 1...60 {
            try database.suspend()
            if round % 3 == 0 {
              let other = try open()
              try other.write {
                try _ = $0.replace("w\(writerCount)", with: ["n": .int(Int64(round))])
              }
              try other.close()
              acknowledged.withLock { $0[writerCount] = round }
            }
            try database.resume()
            usleep(500)
          }
        }
      } catch {
        problems.append("\(thread): \(error)")
        isDone.store(true, ordering: .relaxed)
      }
    }
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
    let snapshot = try database.snapshot()
    let counts = acknowledged.withLock { $0 }
    var sum = 0
    for (writer, count) in counts.enumerated() {
      let found = try Self.count("w\(writer)", in: snapshot)
      #expect(found >= count && found <= count + 1, "\(found) of \(count) by \(writer)")
      sum += found
    }
    while shown.all.last != "\(sum)" { try await Task.sleep(for: .milliseconds(5)) }
    observer.cancel()
    if let problem = try await database.check().problems.first { throw problem }
    try await database.close()
  }

  private func write(
    _ database: Database, _ thread: Int, _ acknowledged: borrowing Guarded<[Int]>,
    _ isDone: borrowing Atomic<Bool>
  ) throws {
    var round = 0
    while !isDone.load(ordering: .relaxed) {
      round += 1
      let durability: Durability = [.full, .none, .relaxed(maxDelay: .milliseconds(1))][round % 3]
      _ = try Self.retrying {
        try database.write(durability: durability) { transaction in
          let text = Value.string(String(repeating: "x", count: 400))
          try _ = transaction.replace("w\(thread)", with: ["n": .int(Int64(round)), "text": text])
        }
      }
      acknowledged.withLock { $0[thread] = round }
    }
  }

  @Test func `suspending, resuming, refreshing and closing race, and the lock is free at the end`()
    throws
  {
    for round in 0..<30 {
      let database = try open()
      try database.write { try _ = $0.replace("a", with: ["n": .int(Int64(round))]) }
      let reader = try open { $0.isReadOnly = true }
      let problems = Recorder<String>()
      onOwnThreads(5) { thread in
        do {
          switch thread {
          case 0: for _ in 0..<5 { try database.suspend() }
          case 1: for _ in 0..<5 { try database.resume() }
          case 2:
            usleep(UInt32(round * 20))
            try database.close()
          case 3:
            for _ in 0..<5 { try reader.refresh() }
            try reader.suspend()
            try reader.resume()
          default:
            _ = try Self.retrying { try database.compact() }
          }
        } catch DatabaseError.Code.closed {
        } catch {
          problems.append("\(thread): \(error)")
        }
      }
      #expect(problems.all.isEmpty, "\(problems.all)")
      try reader.close()
    }
    let database = try open()
    #expect(try database.snapshot().document("a")?["n"] == 29)
  }

  @Test func `a follower beside a writer never goes back`() throws {
    let database = try open()
    let rounds = effort(1500, underThreadSanitizer: 500)
    let acknowledged = Atomic(0)
    let isDone = Atomic(false)
    let problems = Recorder<String>()
    try database.write { try _ = $0.replace("a", with: ["n": 0]) }
    let reader = try open { $0.isReadOnly = true }
    onOwnThreads(3) { thread in
      do {
        switch thread {
        case 0:
          defer { isDone.store(true, ordering: .relaxed) }
          for round in 1...rounds {
            try database.write(durability: round % 2 == 0 ? .full : .none) { transaction in
              for id in ["a", "b"] {
                let text = Value.string(String(repeating: "x", count: 500))
                try _ = transaction.replace(id, with: ["n": .int(Int64(round)), "text": text])
              }
            }
            acknowledged.store(round, ordering: .releasing)
            if round % 500 == 0 { try database.compact() }
          }
        case 1:
          var last = 0
          while !isDone.load(ordering: .relaxed) {
            let least = acknowledged.load(ordering: .acquiring)
            try reader.refresh()
            let snapshot = try reader.snapshot()
            let found = try Self.count("a", in: snapshot)
            let other = try Self.count("b", in: snapshot)
            if found < max(least, last) || (found > 0 && other != found) {
              problems.append("\(found) and \(other) after \(last), \(least) acknowledged")
            }
            last = found
          }
        default:
          var last = 0
          while !isDone.load(ordering: .relaxed) {
            let found = try Self.count("a", in: try reader.snapshot())
            if found < last { problems.append("\(found) after \(last)") }
            last = found
          }
        }
      } catch {
        problems.append("\(thread): \(error)")
        isDone.store(true, ordering: .relaxed)
      }
    }
    #expect(problems.all.isEmpty, "\(problems.all.prefix(3))")
    try reader.refresh()
    #expect(try Self.count("a", in: reader.snapshot()) == rounds)
  }
}
