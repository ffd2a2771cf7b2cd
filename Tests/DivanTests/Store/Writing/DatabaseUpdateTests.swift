import Divan
import DivanTesting
import ProofKit
import Testing

/// Tests of updates of a document that other transactions change, too.
struct DatabaseUpdateTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `an update changes a document and stores it`() throws {
    let stored = try database.write { try $0.put(Document(id: "a", ["n": 1])) }
    let updated = try database.update("a") { $0["n"] = 2 }
    #expect(updated?.parentRevision == stored.revision)
    #expect(try database.snapshot().document("a") == updated)
    #expect(try database.snapshot().document("a")?["n"] == 2)
  }

  @Test func `an update of a missing or deleted document does nothing`() throws {
    #expect(try database.update("a") { _ in Issue.record("called") } == nil)
    try database.write { transaction in
      try transaction.put(Document(id: "a"))
      try transaction.delete("a")
    }
    #expect(try database.update("a") { _ in Issue.record("called") } == nil)
  }

  @Test func `an update retries with the newest revision after another change`() throws {
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
  func `an update returns nil if the document is deleted or purged meanwhile`(isPurged: Bool) throws
  {
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    var count = 0
    let updated = try database.update("a") { document in
      count += 1
      document["n"] = 2
      try database.write { transaction in
        if isPurged { try transaction.purge("a") } else { try transaction.delete("a") }
      }
    }
    #expect(updated == nil && count == 1)
    #expect(try database.snapshot().count == 0)
  }

  @Test func `an error of the closure or of a validation ends an update without retries`() throws {
    struct Own: Error {}
    try database.write { _ = try $0.put(Document(id: "a", ["n": 1])) }
    #expect(throws: Own.self) {
      try database.update("a") { document in
        document["n"] = 2
        throw Own()
      }
    }
    database.setValidation(named: "no") { try $0.reject("no") }
    #expect {
      try database.update("a") { $0["n"] = 2 }
    } throws: {
      ($0 as? DatabaseError)?.code == .validationFailed
    }
    #expect(try database.snapshot().document("a")?["n"] == 1)
  }

  @Test func `replacing the document by one with another ID is a conflict without retries`()
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

  @Test(.timeLimit(.minutes(20)))
  func `no increment is lost when many tasks count at the same time`() async throws {
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
    #expect(try database.snapshot().document("a")?["n"] == 200)
    print(calls.all.count, "calls for 200 updates")
  }

  @Test func `an update in a cancelled task changes nothing`() async throws {
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
    #expect(try database.snapshot().document("a")?["n"] == 0)
  }
}
