import Dispatch
import Divan
import DivanTesting
import Foundation
import Testing

/// Tests that run the examples of the guide to transactions and durability.
struct TransactionsGuideTests {
  struct Account: DocumentCodable {
    @DocumentID var id: String? = nil
    var balance: Int
  }

  struct InsufficientFunds: Error {}

  func move(_ amount: Int, from payer: String, to payee: String, in database: Database) throws {
    try database.write { transaction in
      guard var from = try transaction.value(Account.self, id: payer),
        var to = try transaction.value(Account.self, id: payee)
      else { throw DatabaseError(.notFound, "an account is missing") }
      from.balance -= amount
      to.balance += amount
      try transaction.put(from)
      try transaction.put(to)
      if from.balance < 0 { throw InsufficientFunds() }
    }
  }

  @Test func `a transaction that throws changes nothing`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(Account(balance: 100), id: "ann")
      try transaction.put(Account(balance: 0), id: "bob")
    }
    try move(30, from: "ann", to: "bob", in: database)
    #expect(throws: InsufficientFunds.self) {
      try move(500, from: "ann", to: "bob", in: database)
    }
    let accounts = try database.snapshot().values(Account.self, ids: ["ann", "bob"])
    #expect(accounts.map { $0?.balance } == [70, 30])
  }

  @Test func `a write waits for other transactions no longer than its timeout`() throws {
    let database = try Database.inMemory()
    let begun = DispatchSemaphore(value: 0)
    let end = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    DispatchQueue(label: "writer").async {
      try? database.write { _ in
        begun.signal()
        end.wait()
      }
      ended.signal()
    }
    begun.wait()

    var isBusy = false
    do {
      try database.write(timeout: .milliseconds(200)) { transaction in
        try transaction.put(Document(id: "note", ["text": "Tea"]))
      }
    } catch let error as DatabaseError where error.code == .timedOut {
      isBusy = true
    }
    end.signal()
    ended.wait()
    #expect(isBusy)
    #expect(try !database.snapshot().exists("note"))
  }

  @Test func `a savepoint rolls back a part of a transaction`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "b", ["text": "taken"])) }
    let documents = ["a", "b", "c"].map { Document(id: $0, ["text": "new"]) }
    let skipped = try database.write { transaction in
      var ids: [String] = []
      for document in documents {
        do {
          try transaction.savepoint {
            try transaction.put(document)
            try transaction.put(Document(id: "log:" + document.id, ["text": "added"]))
          }
        } catch let error as DatabaseError where error.code == .conflict {
          ids.append(document.id)
        }
      }
      return ids
    }
    let ids = try database.snapshot().ids()
    #expect(skipped == ["b"])
    #expect(try ids.collect() == ["a", "b", "c", "log:a", "log:c"])
  }

  @Test func `a document that was changed since it was read is not replaced`() throws {
    let database = try Database.inMemory()
    var problem = ""
    var note = try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Coffee" }
    note["text"] = "Green tea"
    do {
      try database.write { try $0.put(note) }
    } catch let error as DatabaseError where error.code == .conflict {
      problem = error.localizedDescription
    }
    #expect(problem.contains("note"))
    #expect(try database.snapshot().document("note")?["text"] == "Coffee")
  }

  @Test func `a crash of the machine loses only commits that were not flushed`() throws {
    let disk = SimulatedDisk(seed: 1)
    let path = "/Orders.divan"
    var configuration = disk.configuration(hasSmallFiles: false)
    configuration.durability = .relaxed(maxDelay: .seconds(1))
    let database = try Database(at: path, configuration: configuration)
    try database.write(durability: .full) { transaction in
      try transaction.put(Document(id: "order", ["total": 12]))
    }
    try database.write { try $0.put(Document(id: "draft", ["text": "Dear Ann"])) }
    try database.flush()
    try database.write { try $0.put(Document(id: "later")) }

    let after = disk.restarted(.strict)
    let reopened = try Database(
      at: path, configuration: after.configuration(hasSmallFiles: false))
    let ids = try reopened.snapshot().ids()
    #expect(try ids.collect() == ["draft", "order"], "\(after)")
    #expect(reopened.openingReport.ending == .interrupted)
  }

  @Test func `a commit with an unknown outcome is repeated if it was not stored`() throws {
    let disk = SimulatedDisk(seed: 1)
    let path = "/Orders.divan"
    let configuration = disk.configuration(hasSmallFiles: false)
    var database = try Database(at: path, configuration: configuration)
    try database.write { try $0.put(Document(id: "first")) }
    let order = Document(id: "order-17", ["total": 12])
    disk.failFlush(.keepsNewBytes)

    do {
      try database.write { try $0.put(order) }
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      try? database.close()
      database = try Database(at: path, configuration: configuration)
      if try !database.snapshot().exists(order.id) {
        try database.write { try $0.put(order) }
      }
    }
    #expect(database.openingReport.ending != .created, "the write succeeded at once")
    #expect(try database.snapshot().document("order-17")?["total"] == 12)
    #expect(try database.snapshot().count == 2)
  }
}
