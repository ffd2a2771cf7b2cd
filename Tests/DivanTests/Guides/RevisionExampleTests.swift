import Divan
import DivanTesting
import Foundation
import Testing

/// Tests that run the examples of the types for revisions, conflicts, validations and migrations.
struct RevisionExampleTests {
  private let disk = SimulatedDisk()

  private func open(_ path: String = "/Main.divan") throws -> Database {
    var configuration = Configuration()
    configuration.history = .unlimited
    return try Database(at: path, configuration: disk.configuration(configuration))
  }

  @Test func `a revision ID is parsed`() {
    let revision = RevisionID("2-9b72b0117fa1058c3b8485ca2583dea3")
    let generation = revision?.generation  // 2
    #expect(generation == 2)
  }

  @Test func `earlier revisions are read`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Green tea" }
    var printed: [String] = []
    func print(_ id: RevisionID, _ text: String) { printed.append("\(id.generation) \(text)") }
    for revision in try database.snapshot().history(of: "note") {
      print(revision.id, revision.document?["text"]?.stringValue ?? "not retained")
    }
    #expect(printed == ["2 Green tea", "1 Tea"])
  }

  @Test func `a conflict is kept as branches`() throws {
    let database = try open()
    var note = try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Coffee" }
    note["text"] = "Green tea"
    try database.write { try $0.put(note, onConflict: .branch) }
    let branches = try database.snapshot().branches(of: "note")
    #expect(Set(branches.map { $0["text"] }) == ["Coffee", "Green tea"])

    let leaves = try database.snapshot().leafRevisions(of: "note")
    let hasConflict = leaves.count { !$0.isDeleted } > 1
    #expect(leaves.count == 2 && hasConflict)
  }

  @Test func `an overlap is resolved with a value`() {
    let (base, mine, theirs): (Value.Object, Value.Object, Value.Object) =
      (["stars": 4], ["stars": 5], ["stars": 2])
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { overlap in
      overlap.path == ["stars"] ? .value(3) : .mine
    }
    #expect(merge.properties == ["stars": 3] && merge.overlaps.isEmpty)
  }

  @Test func `unresolved overlaps are listed`() {
    var printed: [String] = []
    func print(_ path: [String], _ mine: String, _ theirs: String) {
      printed.append("\(path[0]): \(mine) or \(theirs)")
    }
    let merge = ThreeWayMerge(base: ["stars": 4], mine: ["stars": 5], theirs: [:])
    for overlap in merge.overlaps {
      print(overlap.path, overlap.mine?.json ?? "removed", overlap.theirs?.json ?? "removed")
    }
    #expect(printed == ["stars: 5 or removed"])
  }

  @Test func `revisions are sent from one store to another`() throws {
    let database = try open()
    let other = try open("/Other.divan")
    try other.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try other.update("note") { $0["text"] = "Green tea" }
    var printed: [RevisionID] = []
    func print(_ revision: RevisionID) { printed.append(revision) }
    let offered = try other.snapshot().leafRevisions(of: "note").map(\.id)
    let missing = try database.snapshot().missingRevisions(among: ["note": offered])
    for revision in missing["note"]?.missing ?? [] { print(revision) }
    let theirs = try other.snapshot()
    let revision = try #require(printed.first)
    #expect(printed.count == 1 && revision.generation == 2)
    let document = try #require(try theirs.revision(revision, of: "note"))

    let history = try theirs.revisions(leadingTo: revision, of: "note")
    let incoming = IncomingRevision(document, history: history, isDeleted: document.isDeleted)
    try database.write { try $0.insert(contentsOf: [incoming], origin: "other") }
    #expect(try database.snapshot().document("note")?["text"] == "Green tea")
    #expect(try database.snapshot().revision(of: "note") == revision)

    let third = try open("/Third.divan")
    try third.write { transaction in
      try transaction.insert(document, history: history, contradictions: .keepingKnown)
    }
    #expect(try third.snapshot().revision(of: "note") == revision)
  }

  @Test func `a validation rejects a revision`() throws {
    let database = try open()
    database.setValidation(named: "films have titles") { revision in
      if !revision.isDeletion, revision.document["title"] == nil {
        try revision.reject("a film has a title", keys: ["title"])
      }
    }
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    do {
      try database.write { try $0.put(Document(id: "film", ["year": 1927])) }
    } catch let error as DatabaseError where error.code == .validationFailed {
      print(error.validationFailure?.reason ?? error.message)
    }
    #expect(printed == ["a film has a title"])
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a migration is tried without a change of the database`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "film", ["year": "1927"])) }
    let migration = Migration(id: "years are numbers") { transaction in
      try transaction.update("film") { $0["year"] = 1927 }
    }
    var printed: [String] = []
    func print(_ id: String, _ text: String) { printed.append("\(id) \(text)") }
    let run = try database.dryRun(migration)
    for change in run.changes { print(change.id, change.document.json) }
    #expect(printed.count == 1 && printed[0].hasPrefix("film ") && printed[0].contains("1927"))
    #expect(run.countBefore == 1 && run.countAfter == 1)
    #expect(try database.snapshot().document("film")?["year"] == "1927")
  }
}
