import DivanLog
import TestSupport
import Testing

@testable import Divan

/// Tests of invalid or contradictory histories in revisions that a peer inserts.
struct RevisionHistoryTests {
  private let disk = MemoryFileSystem()
  private let database: Database

  init() throws {
    database = try RevisionHistoryTests.open(on: disk)
    try database.write {
      _ = try $0.insert(Document(id: "known", ["n": 3]), history: revisions(["3-c", "2-b", "1-a"]))
      _ = try $0.insert(Document(id: "known", ["n": 2]), history: revisions(["2-y", "1-a"]))
    }
  }

  private static func open(on disk: MemoryFileSystem) throws -> Database {
    var configuration = Configuration.small(on: disk)
    configuration.maintenance = .manual
    return try Database(at: "/s", configuration: configuration)
  }

  private func revisions(_ texts: [String]) throws -> [RevisionID] {
    try texts.map { try RevisionID(parsing: $0) }
  }

  /// Histories that are never valid.
  private static let impossible = [
    [], ["3-c", "1-a"], ["2-b", "3-c"], ["2-b", "2-a"], ["2-b", "2-b"], ["3-c", "2-b", "3-c"],
    ["4-d", "3-c", "2-b", "1-a", "1-a"],
  ]
  /// Histories that contradict a document with 3-c after 2-b, and both 2-b and 2-y after 1-a.
  private static let contradicting = [
    ["3-c", "2-x"], ["3-c", "2-y", "1-a"], ["4-d", "3-c", "2-x", "1-x"],
    ["4-d", "3-c", "2-b", "1-x"],
    ["3-z", "2-y", "1-x"],
  ]

  @Test(arguments: impossible)
  func `an invalid history creates no document`(history: [String]) throws {
    try refuse(history, of: "new")
    #expect(try database.snapshot().leaves(of: "new").isEmpty)
    #expect(try database.snapshot().count == 2)
  }

  @Test(arguments: impossible + contradicting)
  func `a history that contradicts itself or known revisions changes nothing`(
    history: [String]
  ) throws {
    let leaves = try database.snapshot().leaves(of: "known")
    try refuse(history, of: "known")
    let database = try reopened()
    let after = try database.snapshot()
    #expect(try after.leaves(of: "known") == leaves)
    #expect(try after.revisions(of: "known") == revisions(["3-c", "2-b", "1-a"]))
    let loser = try revisions(["2-y", "1-a"])
    #expect(try after.revisions(leadingTo: loser[0], of: "known") == loser)
    #expect(try database.check().problems.map(\.description) == [])
  }

  /// Tries to insert a revision in a transaction that stores its other documents nevertheless.
  private func refuse(_ texts: [String], of id: String) throws {
    let history = try revisions(texts)
    var document = Document(id: id, ["n": "wrong"])
    document.attachments["file"] = Document.Attachment(
      contentType: "x/y", [UInt8](repeating: 5, count: 100_000))
    let refused = document
    try database.write { transaction in
      try transaction.put(Document(id: "beside"))
      for isDeleted in [false, true] {
        let error = #expect(throws: DatabaseError.self) {
          try transaction.insert(refused, history: history, isDeleted: isDeleted)
        }
        #expect(error?.code == .invalidRevisionID)
        #expect(error?.message.isEmpty == false)
      }
      try transaction.update("beside") { $0["n"] = 1 }
    }
    #expect(try database.snapshot().document("beside")?["n"] == 1)
    try database.compact()
    #expect(try database.statistics.attachmentFileCount == 0)
  }

  private func reopened() throws -> Database {
    try database.close()
    return try RevisionHistoryTests.open(on: disk)
  }

  @Test func `the error of a contradictory history names the revision and both parents`() throws {
    let history = try revisions(["4-d", "3-c", "2-x"])
    let error = #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.insert(Document(id: "known"), history: history) }
    }
    for part in ["3-c", "2-b", "2-x"] { #expect(error?.message.contains(part) == true) }
    #expect(error?.documentID == "known")
  }

  @Test func `a history that is shorter or longer than the known one is no contradiction`() throws {
    try database.write { transaction in
      for history in [["4-d", "3-c"], ["5-e", "4-d"], ["3-z", "2-y"]] {
        #expect(
          try transaction.insert(Document(id: "known"), history: revisions(history)), "\(history)")
      }
      _ = try transaction.insert(Document(id: "short"), history: revisions(["3-c"]))
      _ = try transaction.insert(Document(id: "short"), history: revisions(["3-c", "2-x", "1-x"]))
    }
    let snapshot = try database.snapshot()
    #expect(
      try snapshot.revisions(of: "known") == revisions(["5-e", "4-d", "3-c", "2-b", "1-a"]))
    #expect(try snapshot.revisions(of: "short") == revisions(["3-c", "2-x", "1-x"]))
    #expect(try database.check().problems.map(\.description) == [])
  }

  @Test func `the history determines the revision, whatever revision the document has`() throws {
    try database.write {
      _ = try $0.insert(
        Document(id: "a", revision: RevisionID(parsing: "2-x"), .emptyObject),
        history: revisions(["3-q", "2-y"]))
    }
    #expect(try database.snapshot().revisions(of: "a") == revisions(["3-q", "2-y"]))
  }

  @Test func `a revision of the highest generation cannot be changed, and stays`() throws {
    let last = try RevisionID(parsing: "9223372036854775807-z")
    #expect(throws: DatabaseError.self) { try RevisionID(parsing: "9223372036854775808-z") }
    try database.write { _ = try $0.insert(Document(id: "a", ["n": 1]), history: [last]) }
    for change: (WriteTransaction) throws -> Void in [
      { _ = try $0.update("a") { $0["n"] = 2 } }, { _ = try $0.delete("a") },
      { _ = try $0.replace("a", with: [:]) },
    ] {
      let error = #expect(throws: DatabaseError.self) { try database.write { try change($0) } }
      #expect(error?.code == .invalidRevisionID)
    }
    #expect(try database.snapshot().document("a")?["n"] == 1)
    #expect(try database.snapshot().revisions(of: "a") == [last])
    #expect(try reopened().check().isSound)
  }
}
