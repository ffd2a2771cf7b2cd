import Divan
import DivanTesting
import ProofKit
import Testing

/// Updates of a document that others change, too.
struct DatabaseUpdateTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `a document is changed and stored`() throws {
    let stored = try database.write { try $0.put(Document(id: "a", ["n": 1])) }
    let updated = try database.update("a") { $0["n"] = 2 }
    #expect(updated?.parentRevision == stored.revision)
    #expect(try database.snapshot().get("a") == updated)
    #expect(try database.snapshot().get("a")?["n"] == 2)
  }

  @Test func `where there is no document nothing is done`() throws {
    #expect(try database.update("a") { _ in Issue.record("called") } == nil)
    try database.write { transaction in
      try transaction.put(Document(id: "a"))
      try transaction.delete(id: "a")
    }
    #expect(try database.update("a") { _ in Issue.record("called") } == nil)
  }

  @Test func `when others were faster it begins anew, with what they made`() throws {
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    var seen: [Value?] = []
    let updated = try database.update("a") { document in
      seen.append(document["n"])
      if seen.count < 4 {
        // The closure runs outside of any transaction.
        try database.write { try $0.update("a") { $0["n"] = .int(Int64(seen.count * 10)) } }
      }
      document["mine"] = true
    }
    #expect(seen == [1, 10, 20, 30])
    #expect(updated?.properties == ["n": 30, "mine": true])
  }

  @Test(arguments: [false, true])
  func `when others took it away meanwhile nothing is done`(isPurged: Bool) throws {
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    var count = 0
    let updated = try database.update("a") { document in
      count += 1
      document["n"] = 2
      try database.write { transaction in
        if isPurged { try transaction.purge("a") } else { try transaction.delete(id: "a") }
      }
    }
    #expect(updated == nil && count == 1)
    #expect(try database.snapshot().count == 0)
  }

  @Test func `an error of the closure's gives up, as one of a validation's does`() throws {
    struct Own: Error {}
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    #expect(throws: Own.self) {
      try database.update("a") { document in
        document["n"] = 2
        throw Own()
      }
    }
    database.setValidation(named: "no") { try $0.refuse("no") }
    #expect {
      try database.update("a") { $0["n"] = 2 }
    } throws: {
      ($0 as? DatabaseError)?.code == .refused
    }
    #expect(try database.snapshot().get("a")?["n"] == 1)
  }

  @Test func `another document than the one that was read is a conflict, not tried for ever`()
    throws
  {
    try database.write { transaction in
      for id in ["a", "b"] { try transaction.put(Document(id: id)) }
    }
    #expect {
      try database.update("a") { $0 = Document(id: "b") }
    } throws: {
      ($0 as? DatabaseError)?.code == .conflict
    }
  }

  @Test(.timeLimit(.minutes(20))) func `of many tasks that count, none is lost`() async throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try Database(
      at: "/count.divan", configuration: disk.configuration(hasSmallFiles: false))
    try await database.write { _ = try $0.put(Document(id: "a", ["n": 0])) }
    let calls = Recorder<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for _ in 0..<25 {
            try await database.update("a", durability: task % 2 == 0 ? .full : nil) { document in
              calls.append(task)
              document["n"] = .int(Int64((document["n"]?.intValue ?? 0) + 1))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try database.snapshot().get("a")?["n"] == 200)
    print(calls.all.count, "calls for 200 updates")
  }

  @Test func `a task that was cancelled changes nothing`() async throws {
    try await database.write { _ = try $0.put(Document(id: "a", ["n": 0])) }
    let database = database
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await database.update("a") { $0["n"] = 1 }
    }
    task.cancel()
    let result = await task.result
    #expect {
      try result.get()
    } throws: {
      ($0 as? DatabaseError)?.code == .cancelled
    }
    #expect(try database.snapshot().get("a")?["n"] == 0)
  }
}
