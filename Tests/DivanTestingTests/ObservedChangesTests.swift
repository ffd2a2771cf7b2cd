import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of observing which documents a body changes.
struct ObservedChangesTests {
  private final class Note: Model {
    @Persisted var text: String
  }

  private let database: Database

  init() throws {
    database = try Database.inMemory(
      fixtures: .documents(
        Document(id: "a", ["n": 1]), Document(id: "b", ["n": 1]), Document(id: "c", ["n": 1])))
  }

  @Test func `changes of a body are inserted, updated and deleted documents`() throws {
    let changes = try observeChanges(in: database) {
      try database.update("b") { $0["n"] = 2 }
      try database.write { transaction in
        _ = try transaction.put(Document(id: "z", ["n": 1]))
        _ = try transaction.put(Document(id: "d", ["n": 1]))
        _ = try transaction.delete("c")
      }
      // The effect of all commits together.
      try database.write { _ = try $0.put(Document(id: "short", [:])) }
      try database.write { _ = try $0.delete("short") }
    }
    #expect(changes == ObservedChanges(inserted: ["z", "d"], updated: ["b"], deleted: ["c"]))
    #expect(changes.inserted == ["d", "z"])
    #expect("\(changes)" == #"inserted "d", "z"; updated "b"; deleted "c""#)
    #expect(try observeChanges(in: database) {}.isEmpty)
    #expect("\(ObservedChanges())" == "no changes")
  }

  @Test func `purged and expired documents count as deleted, and a new revision as an update`()
    throws
  {
    let changes = try observeChanges(in: database) {
      try database.write { _ = try $0.purge("a") }
      // The same document, deleted and made again.
      try database.write { _ = try $0.delete("b") }
      try database.write { _ = try $0.put(Document(id: "b", ["n": 1])) }
      try database.write { try $0.setExpiry(Date(timeIntervalSince1970: 1), of: "c") }
      try database.purgeExpiredDocuments()
    }
    #expect(changes == ObservedChanges(updated: ["b"], deleted: ["a", "c"]))
  }

  @Test func `IDs that differ only in their bytes are different`() throws {
    let changes = try observeChanges(in: database) {
      try database.write { transaction in
        _ = try transaction.put(Document(id: "caf\u{e9}"))
        _ = try transaction.put(Document(id: "cafe\u{301}"))
      }
    }
    #expect(changes.inserted.count == 2)
  }

  @Test func `random commits have the changes that a plain comparison finds`() throws {
    var random = SeededGenerator(seed: 5)
    let ids = (0..<12).map { "id \($0)" }
    var plain: [String: UInt64] = ["a": 0, "b": 0, "c": 0]
    var edits: UInt64 = 0
    for round in 0..<60 {
      let before = plain
      let changes = try observeChanges(in: database) {
        for _ in 0..<Int(random.next() % 6) {
          let id = ids[Int(random.next() % 12)]
          edits += 1
          if random.next() % 3 == 0, plain.removeValue(forKey: id) != nil {
            try database.write { _ = try $0.delete(id) }
          } else {
            plain[id] = edits
            try database.write { _ = try $0.replace(id, with: ["edit": .int(Int64(edits))]) }
          }
        }
      }
      let after = plain
      let expected = ObservedChanges(
        inserted: after.keys.filter { before[$0] == nil },
        updated: after.keys.filter { before[$0] != nil && before[$0] != after[$0] },
        deleted: before.keys.filter { after[$0] == nil })
      #expect(changes == expected, "seed 5, round \(round)")
    }
  }

  @Test func `expected changes are waited for`() async throws {
    let database = database
    try await expectChanges(.init(inserted: ["late"]), in: database, within: .seconds(120)) {
      Task.detached {
        try await Task.sleep(for: .milliseconds(20))
        try await database.write { _ = try $0.put(Document(id: "late")) }
      }
    }
    let changes = try await expectChanges(in: database, within: .seconds(120)) {
      Task.detached {
        try await Task.sleep(for: .milliseconds(20))
        try await database.update("a") { $0["n"] = 5 }
      }
    }
    #expect(changes == ObservedChanges(updated: ["a"]))
  }

  @MainActor @Test func `changes of an autosaving context are expected on its actor`() async throws
  {
    let context = database.makeFollowingContext(autosavingAfter: .milliseconds(5))
    let changes = try await expectChanges(in: database, within: .seconds(120)) {
      Note(in: context, id: "note").text = "Tickets"
    }
    #expect(changes == ObservedChanges(inserted: ["note"]))
    try await database.close()
  }

  @Test func `other changes than the expected ones are an error that shows both`() async throws {
    let expected = ObservedChanges(inserted: ["x"], deleted: ["a"])
    let database = database
    let error = await #expect(throws: ChangesNotObserved.self) {
      try await expectChanges(expected, in: database, within: .milliseconds(20)) {
        try await database.write { _ = try $0.put(Document(id: "y")) }
      }
    }
    #expect(error?.expected == expected && error?.observed == ObservedChanges(inserted: ["y"]))
    let text = try #require(error?.description)
    #expect(
      text.contains(#"inserted "x"; deleted "a""#) && text.contains(#"observed: inserted "y""#))
    let none = await #expect(throws: ChangesNotObserved.self) {
      try await expectChanges(in: database, within: .milliseconds(20)) {}
    }
    #expect(none?.description.hasPrefix("no document has changed") == true)
  }

  @Test func `the error of a body is passed on`() async throws {
    struct Failure: Error {}
    let database = database
    #expect(throws: Failure.self) { try observeChanges(in: database) { throw Failure() } }
    await #expect(throws: Failure.self) {
      try await expectChanges(in: database) { throw Failure() }
    }
  }
}
