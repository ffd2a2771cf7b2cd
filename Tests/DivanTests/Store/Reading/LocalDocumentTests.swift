import Divan
import DivanLog
import TestSupport
import Testing

/// Tests of local documents, which have no revisions and belong to their store alone.
struct LocalDocumentTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `a local document has its last stored properties`() throws {
    try database.write { transaction in
      #expect(try transaction.localDocument("a") == nil)
      try transaction.putLocal("a", ["n": 1])
      #expect(try transaction.localDocument("a") == ["n": 1])
      try transaction.putLocal("a", ["n": 2])
    }
    let before = try database.snapshot()
    #expect(try before.localDocument("a") == ["n": 2])
    try database.write { transaction in
      let removed = try ["a", "a", "b"].map { try transaction.removeLocal($0) }
      #expect(removed == [true, false, false])
      #expect(try transaction.localDocument("a") == nil)
    }
    #expect(try before.localDocument("a") == ["n": 2])
    #expect(try database.snapshot().localDocument("a") == nil)
    #expect(try database.check().isSound)
  }

  @Test func `local documents are separate from documents with the same ID`() throws {
    try database.write { transaction in
      try transaction.putLocal("a", ["n": 1])
      try transaction.putLocal("b", ["n": 1])
      try transaction.put(Document(id: "a", ["n": 2]))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.count == 1 && snapshot.sequence == 1)
    #expect(try snapshot.document("b") == nil)
    let changes = snapshot.changes()
    #expect(try changes.collect().map(\.id) == ["a"])
    try database.write { _ = try $0.purge("a") }
    #expect(try database.snapshot().localDocument("a") == ["n": 1])
  }

  @Test func `past versions have no local documents`() throws {
    try database.write { transaction in
      try transaction.put(Document(id: "a"))
      try transaction.putLocal("a", ["n": 1])
    }
    try database.saveSnapshot(named: "then")
    try database.write { _ = try $0.replace("a", with: ["n": 2]) }
    let then = try database.snapshot(named: "then")
    #expect(try then.document("a")?.properties == [:])
    #expect(try then.localDocument("a") == nil)
    #expect(try then.localDocumentIDs().isEmpty)
  }

  @Test func `local documents are listed in the byte order of their IDs`() throws {
    let ids = ["a", "a\u{0}", "ab", "b", "é", "z"]
    try database.write { transaction in
      for id in ids.shuffled() { try transaction.putLocal(id, [:]) }
      // A document whose key begins like those of the local documents.
      try transaction.put(Document(id: "l"))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.localDocumentIDs() == ["a", "a\u{0}", "ab", "b", "z", "é"])
    #expect(try snapshot.localDocumentIDs(.prefix("a")) == ["a", "a\u{0}", "ab"])
    #expect(try snapshot.localDocumentIDs(.after("b")) == ["z", "é"])
    #expect(try snapshot.localDocumentIDs(..<"ab") == ["a", "a\u{0}"])
  }

  private static let refused: [(String, Value.Object, DatabaseError.Code)] = [
    ("", [:], .invalidDocumentID),
    ("_a", [:], .invalidDocumentID),
    (String(repeating: "x", count: 241), [:], .invalidDocumentID),
    ("a", ["_b": 1], .invalidValue),
    ("a", ["b": .double(.nan)], .invalidValue),
  ]

  @Test(arguments: refused)
  func `invalid IDs and properties of local documents are refused`(
    id: String, properties: Value.Object, code: DatabaseError.Code
  ) throws {
    #expect {
      try database.write { transaction in
        try transaction.putLocal("kept", [:])
        try transaction.putLocal(id, properties)
      }
    } throws: {
      ($0 as? DatabaseError)?.code == code
    }
    #expect(try database.snapshot().localDocumentIDs() == [])
  }

  @Test func `a failed nested transaction rolls back changes of local documents`() throws {
    try database.write { transaction in
      try transaction.putLocal("a", ["n": 1])
      try? transaction.savepoint {
        try transaction.putLocal("a", ["n": 2])
        try transaction.removeLocal("a")
        try transaction.putLocal("b", [:])
        throw CancellationError()
      }
    }
    #expect(try database.snapshot().localDocument("a") == ["n": 1])
    #expect(try database.snapshot().localDocumentIDs() == ["a"])
  }
}
