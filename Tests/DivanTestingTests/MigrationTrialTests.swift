import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of trying migrations on stored fixtures.
struct MigrationTrialTests {
  private class Trip: Model {
    @Persisted(index: .value) var nights: Int
  }

  private let schema = Schema(
    Trip.self,
    migrations: [
      Migration(id: "no drafts") { transaction in
        _ = try transaction.delete("draft")
      },
      Migration(id: "nights are numbers") { transaction in
        for var trip in try transaction.find(Query<Document>()) {
          guard let nights = trip["nights"]?.stringValue.flatMap({ Int64($0) }) else { continue }
          trip["nights"] = .int(nights)
          try transaction.put(trip)
        }
        _ = try transaction.put(Document(id: "settings", ["version": 2]))
      },
    ])

  private let fixture = """
    {"_id": "elbe", "type": "Trip", "nights": "3"}
    {"_id": "lisbon", "type": "Trip", "nights": 4}
    {"_id": "draft", "type": "Trip", "nights": "1"}
    """

  private func check(_ trial: MigrationTrial) throws {
    #expect(trial.changes.map(\.id) == ["draft", "elbe", "settings"])
    #expect(trial["elbe"]?.before?["nights"] == "3" && trial["elbe"]?.after?["nights"] == 3)
    #expect(trial["draft"]?.after == nil && trial["settings"]?.before == nil)
    #expect(trial["lisbon"] == nil)
    #expect(
      trial["elbe"]?.description == """
        - expected, + actual
          elbe
        -   nights: "3"
        +   nights: 3
            type: "Trip"
        """)
    #expect(try trial.before.count == 3 && trial.before.document("draft")?["nights"] == "1")
    let trips = try trial.database.makeContext().find(Query<Trip>().sorted(by: \.nights))
    #expect(trips.map(\.nights) == [3, 4])
    #expect(try trial.database.indexes().count == 1)
  }

  /// All files of a directory, with their bytes and the times of their last change.
  private func files(in folder: URL) throws -> [String: String] {
    var files: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let path = folder.appending(path: name).path
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      let time = attributes[.modificationDate] as? Date
      let bytes = FileManager.default.contents(atPath: path)?.base64EncodedString() ?? "directory"
      files[name] = "\(time?.timeIntervalSince1970 ?? 0) \(bytes)"
    }
    return files
  }

  @Test func `the migrations are tried on JSON Lines, as text and as a file`() throws {
    let trial = try MigrationTrial(jsonLines: fixture, schema: schema)
    #expect(trial.migrationIDs == ["no drafts", "nights are numbers"])
    try check(trial)
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(fixture.utf8).write(to: file)
    try check(try MigrationTrial(jsonLinesFile: file.path, schema: schema))
  }

  @Test func `the migrations are tried on a copy of a store, which stays as it is`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/Trips.divan"
    var document = Document(id: "elbe", ["type": "Trip", "nights": "3"])
    document.attachments["map"] = Document.Attachment(
      contentType: "image/png", Data(repeating: 9, count: 200_000))
    do {
      let database = try Database(at: path)
      try database.migrate([Migration(id: "no drafts") { _ in }])
      try database.load(
        .documents(
          document, Document(id: "lisbon", ["type": "Trip", "nights": 4]),
          Document(id: "draft", ["type": "Trip", "nights": "1"])))
      try database.close()
    }
    let before = try files(in: folder)
    #expect(before.count > 3)
    let trial = try MigrationTrial(storeAt: path, schema: schema)
    // A migration that was run already is not run again.
    #expect(trial.migrationIDs == ["nights are numbers"])
    #expect(trial.changes.map(\.id) == ["draft", "elbe", "settings"])
    #expect(try trial["elbe"]?.after?.attachments["map"]?.data().count == 200_000)
    #expect(try trial["elbe"]?.before?.attachments["map"]?.data().count == 200_000)
    try trial.database.write { _ = try $0.delete("lisbon") }
    #expect(try trial.before.count == 3)
    try trial.database.close()
    #expect(try files(in: folder) == before)
    #expect(try MigrationTrial(storeAt: path, schema: schema).changes.count == 3)
  }

  @Test func `a store on a simulated disk is tried, even after a loss of power`() throws {
    let disk = SimulatedDisk(seed: 4)
    let database = try Database(at: "/trips.divan", configuration: disk.configuration())
    try database.load(.jsonLines(fixture))
    let left = disk.restarted(.random(seed: 2))
    let trial = try MigrationTrial(
      storeAt: "/trips.divan", schema: schema, configuration: left.configuration())
    try check(trial)
  }

  @Test func `a migration that fails, and a store that is missing, are errors`() throws {
    struct Failure: Error {}
    let failing = Schema(migrations: [Migration(id: "fails") { _ in throw Failure() }])
    #expect(throws: Failure.self) { try MigrationTrial(jsonLines: fixture, schema: failing) }
    let missing = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    let error = #expect(throws: DatabaseError.self) {
      try MigrationTrial(storeAt: missing, schema: schema)
    }
    #expect(error?.code == .notFound && error?.path == missing)
    #expect(!FileManager.default.fileExists(atPath: missing))
  }

  @Test func `a migration that changes nothing has no changes, although it stores revisions`()
    throws
  {
    let schema = Schema(
      migrations: [
        Migration(id: "again") { transaction in
          for document in try transaction.find(Query<Document>()) { try transaction.put(document) }
        }
      ])
    let trial = try MigrationTrial(jsonLines: fixture, schema: schema)
    #expect(trial.migrationIDs == ["again"] && trial.changes.isEmpty)
    #expect(
      try ObservedChanges(from: trial.before, to: trial.database.snapshot()).updated.count == 3)
  }
}
