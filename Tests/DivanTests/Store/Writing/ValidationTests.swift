import Divan
import DivanTesting
import ProofKit
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Tests of closures that validate revisions before they are stored.
struct ValidationTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func history(_ letters: String) throws -> [RevisionID] {
    try zip(letters, (1...letters.count).reversed()).map { letter, generation in
      try RevisionID(parsing: "\(generation)-\(String(repeating: letter, count: 32))")
    }
  }

  /// Refuses documents with a property `bad`, and deletions of documents with a property `kept`.
  private func refuseBadOnes() {
    database.setValidation(named: "good") { revision in
      if revision.document["bad"] != nil { try revision.reject("it is bad", keys: ["bad"]) }
      if revision.isDeletion, revision.parent?["kept"] != nil {
        try revision.reject("it is kept")
      }
    }
  }

  private func isRefused(_ error: any Error, _ id: String) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return error.code == .validationFailed && error.documentID == id
      && error.validationFailure != nil
  }

  private func contents() throws -> [String] {
    let snapshot = try database.snapshot()
    let changes = snapshot.changes()
    return try changes.collect().map { "\($0.sequence) \($0.document)" } + ["\(snapshot.count)"]
  }

  /// All ways to store a revision, applied to the existing document `kept` and to others.
  private static let ways:
    [(name: String, id: String, run: @Sendable (WriteTransaction) throws -> Void)] = [
      ("put a new one", "a", { try $0.put(Document(id: "a", ["bad": 1])) }),
      (
        "put a changed one", "kept",
        { transaction in
          var document = try #require(try transaction.document("kept"))
          document["bad"] = true
          try transaction.put(document)
        }
      ),
      (
        "put several", "c",
        { transaction in
          try transaction.put(
            contentsOf: (0..<200).map { Document(id: "many-\($0)") } + [
              Document(id: "b"), Document(id: "c", ["bad": 1]), Document(id: "d"),
            ])
        }
      ),
      ("overwrite", "kept", { try $0.replace("kept", with: ["bad": 1]) }),
      ("update", "kept", { try $0.update("kept") { $0["bad"] = 1 } }),
      ("delete", "kept", { try $0.delete(try #require(try $0.document("kept"))) }),
      ("delete by ID", "kept", { try $0.delete("kept") }),
      (
        "insert a first one", "e",
        {
          _ = try $0.insert(
            Document(id: "e", ["bad": 1]),
            history: [try RevisionID(parsing: "1-\(String(repeating: "e", count: 32))")])
        }
      ),
      (
        "insert a branch", "kept",
        {
          _ = try $0.insert(
            Document(id: "kept", ["bad": 1]),
            history: [try RevisionID(parsing: "1-\(String(repeating: "e", count: 32))")])
        }
      ),
      (
        "allow a conflict", "kept",
        { transaction in
          var document = try #require(try transaction.document("kept"))
          try transaction.update("kept") { $0["n"] = 2 }
          document["bad"] = 1
          do {
            try transaction.put(document, onConflict: .branch)
          } catch {
            // Earlier changes of the transaction stay.
            try transaction.purge("kept")
            throw error
          }
        }
      ),
    ]

  @Test(arguments: ways.map(\.name))
  func `a refused revision throws an error with the refusal, and nothing is stored`(name: String)
    throws
  {
    let way = try #require(ValidationTests.ways.first { $0.name == name })
    try database.write { _ = try $0.put(Document(id: "kept", ["kept": 1])) }
    refuseBadOnes()
    let before = try contents()
    #expect {
      try database.write { try way.run($0) }
    } throws: {
      isRefused($0, way.id)
    }
    #expect(try contents() == before)
    #expect(try database.check().isSound)
  }

  @Test(arguments: ways.map(\.name).filter { $0 != "allow a conflict" })
  func `a transaction continues after a refusal as if the change had not been tried`(name: String)
    throws
  {
    let way = try #require(ValidationTests.ways.first { $0.name == name })
    try database.write { _ = try $0.put(Document(id: "kept", ["kept": 1])) }
    refuseBadOnes()
    let other = try Database.inMemory()
    try other.write { _ = try $0.put(Document(id: "kept", ["kept": 1])) }
    try database.write { transaction in
      try transaction.put(Document(id: "before"))
      do {
        try way.run(transaction)
        Issue.record("the revision was stored")
      } catch {
        #expect(isRefused(error, way.id))
      }
      #expect(try transaction.document("a") == nil)
      try transaction.put(Document(id: "after"))
    }
    try other.write { transaction in
      try transaction.put(Document(id: "before"))
      try transaction.put(Document(id: "after"))
    }
    let expected = try other.snapshot().changes()
    #expect(
      try contents().dropLast() == expected.collect().map { "\($0.sequence) \($0.document)" }[...])
    #expect(try database.check().isSound)
  }

  @Test func `if the deletion of one branch is refused, no branch is deleted`() throws {
    for (letter, kept) in [("a", true), ("b", false)] {
      try database.write {
        _ = try $0.insert(
          Document(id: "x", kept ? ["kept": 1] : [:]), history: try history(letter))
      }
    }
    refuseBadOnes()
    try database.write { transaction in
      do {
        try transaction.delete("x")
        Issue.record("the document was deleted")
      } catch {
        #expect(isRefused(error, "x"))
      }
      try transaction.put(Document(id: "y"))
    }
    #expect(try database.snapshot().branches(of: "x").count == 2)
  }

  @Test func `models are validated, too`() throws {
    refuseBadOnes()
    let context = database.makeContext()
    let model = Bad(in: context)
    model.bad = 1
    #expect {
      try model.save()
    } throws: {
      isRefused($0, model.id)
    }
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a validation receives the changed keys, the parent and the origin of a revision`()
    throws
  {
    let seen = Recorder<ProposedRevision>()
    database.setValidation(named: "recorder") { seen.append($0) }
    let first = try database.write {
      try $0.put(Document(id: "a", ["same": 1, "changed": 1, "removed": 1]))
    }
    let second = try database.write {
      try $0.replace("a", with: ["same": 1, "changed": 1.0, "added": 1])
    }
    let third = try database.write { try $0.delete(second) }
    let fourth = try database.write { try $0.put(Document(id: "a", ["again": 1])) }
    let all = seen.all
    try #require(all.count == 4)
    #expect(all[0].parent == nil)
    #expect(all[0].changedKeys == ["changed", "removed", "same"])
    #expect(all[0].document == first)
    #expect(all[0].origin == nil && !all[0].isDeletion && all[0].id == "a")
    #expect(all[1].parent == first)
    #expect(all[1].changedKeys == ["added", "changed", "removed"])
    #expect(all[1].document == second)
    #expect(all[2].isDeletion && all[2].parent == second && all[2].changedKeys.isEmpty)
    // A document that is stored again follows its tombstone.
    #expect(all[3].parent == third && all[3].parent?.isDeleted == true)
    #expect(all[3].document.revision == fourth.revision)
  }

  @Test func `a validation receives the parent of a replicated revision if it is retained`() throws
  {
    let seen = Recorder<ProposedRevision>()
    database.setValidation(named: "recorder") { seen.append($0) }
    func insert(_ letters: String, _ n: Int) throws -> Bool {
      try database.write {
        try $0.insert(
          Document(id: "a", ["n": .int(Int64(n))]), history: try history(letters), origin: "peer")
      }
    }
    #expect(try insert("ba", 2))
    #expect(try insert("cba", 3))
    // The revision is already known, or its parent is no longer retained.
    #expect(try !insert("cba", 4))
    #expect(try insert("dba", 5))
    #expect(try insert("edba", 6))
    let all = seen.all
    #expect(all.map(\.origin) == Array(repeating: "peer", count: 4))
    #expect(all.map { $0.parent?["n"]?.intValue } == [nil, 2, nil, 5])
    let newest = try ["ba", "cba", "dba", "edba"].map { try history($0)[0] }
    #expect(all.map { $0.document.revision } == newest)
  }

  @Test func `purges, local documents and expiries are not validated`() throws {
    try database.write { _ = try $0.put(Document(id: "a")) }
    database.setValidation(named: "no") { try $0.reject("no") }
    try database.write { transaction in
      try transaction.putLocal("local", ["n": 1])
      try transaction.setExpiry(Date(timeIntervalSince1970: 1), of: "a")
      #expect(try transaction.purge("a"))
    }
    #expect(try database.snapshot().localDocument("local") == ["n": 1])
  }

  @Test func `validations run in the order of their names until one throws`() throws {
    let calls = Recorder<String>()
    for name in ["c", "a", "b", "d"] {
      database.setValidation(named: name) { revision in
        calls.append(name)
        if name == "c" { try revision.reject("no") }
      }
    }
    #expect(database.validationNames == ["a", "b", "c", "d"])
    #expect(throws: DatabaseError.self) { try database.write { try $0.put(Document(id: "x")) } }
    #expect(calls.all == ["a", "b", "c"])
    database.setValidation(named: "c", nil)
    database.setValidation(named: "b") { _ in calls.append("another") }
    try database.write { _ = try $0.put(Document(id: "x")) }
    #expect(calls.all == ["a", "b", "c", "a", "another", "d"])
  }

  @Test func `an error that a validation throws is passed on unchanged`() throws {
    struct Own: Error, Equatable { let number: Int }
    database.setValidation(named: "own") { _ in throw Own(number: 7) }
    #expect(throws: Own(number: 7)) { try database.write { try $0.put(Document(id: "x")) } }
    #expect(throws: Own(number: 7)) {
      try database.write { try $0.put(contentsOf: [Document(id: "x")]) }
    }
    #expect(try database.snapshot().sequence == 0)
  }

  @Test func `the error of a failed validation has the name, message and keys of the validation`()
    throws
  {
    database.setValidation(named: "films") {
      try $0.reject("a film has a title", keys: ["title", "year"])
    }
    #expect {
      try database.write { try $0.put(Document(id: "x")) }
    } throws: { error in
      let error = error as? DatabaseError
      return error?.validationFailure
        == ValidationFailure("a film has a title", keys: ["title", "year"])
        && error?.description
          == #"validationFailed: the validation "films" says: a film has a title (title, year); document x"#
    }
  }

  @Test func `a validation receives attachments, and refused ones leave no data`() throws {
    let lengths = Recorder<[Int?]>()
    database.setValidation(named: "small") { revision in
      let attachments = [revision.document, revision.parent].map { $0?.attachments["a"]?.length }
      lengths.append(attachments)
      if let length = attachments[0], length > 10 { try revision.reject("it is too long") }
    }
    let long = Document.Attachment(contentType: "text/plain", [UInt8](repeating: 7, count: 5000))
    var document = Document(id: "x")
    document.attachments["a"] = Document.Attachment(contentType: "text/plain", [1, 2, 3])
    document = try database.write { try $0.put(document) }
    let size = try database.statistics.liveSize
    document.attachments["a"] = long
    try database.write { transaction in
      for _ in 0..<2 { #expect(throws: DatabaseError.self) { try transaction.put(document) } }
      try transaction.put(Document(id: "y"))
    }
    #expect(try database.statistics.liveSize < size + 1000)
    #expect(lengths.all == [[3, nil], [5000, 3], [5000, 3], [nil, nil]])
    // The refused attachment is stored completely once the validation is removed.
    database.setValidation(named: "small", nil)
    try database.write { transaction in
      try transaction.put(document)
      // The document's record is written again and refers to the same attachment.
      try transaction.setExpiry(Date(timeIntervalSinceNow: 1e6), of: "x")
    }
    #expect(try database.snapshot().document("x")?.attachments["a"]?.length == 5000)
    #expect(try database.check().problems.map(\.message) == [])
    try database.write { _ = try $0.purge("x") }
    #expect(try database.check().problems.map(\.message) == [])
  }

  @Test func `a validation cannot write`() throws {
    database.setValidation(named: "writer") { [weak database] _ in
      try database?.write { _ = try $0.put(Document(id: "inner")) }
    }
    #expect {
      try database.write { try $0.put(Document(id: "x")) }
    } throws: {
      ($0 as? DatabaseError)?.code == .nestedWrite
    }
  }

  @Test func `a transaction uses the validations that were set when it began`() throws {
    try database.write { transaction in
      database.setValidation(named: "no") { try $0.reject("no") }
      try transaction.put(Document(id: "x"))
    }
    #expect(try database.snapshot().count == 1)
  }
}

private final class Bad: Model {
  @Persisted var bad: Int?
  override class var documentType: String? { nil }
}
