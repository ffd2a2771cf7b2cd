import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the code examples of the guides about practice.
///
/// These are the pages on modelling, testing, maintenance, speed, servers and troubleshooting.
struct PracticeGuideTests {
  // MARK: Modelling data

  class Trip: Model {
    struct Stop: Codable {
      var place: String
      var nights = 1
    }

    @Persisted var title: String
    @Persisted var start: Date?
    @Persisted var stops: [Stop]
    @Persisted var owner: Traveller?
    @Persisted(index: .eachElement) var tags: [String]
  }

  class Traveller: Model {
    @Persisted var name: String
    @Inverse(\Trip.owner, onDelete: .deny) var trips: [Trip]

    override class func makeDocumentID() -> String? { "traveller:\(UUID().uuidString)" }
  }

  struct Expense: DocumentCodable {
    static let documentType = "expense"
    @DocumentID var id: String? = nil
    var tripID: String
    var cents: Int
    var paid: Date
  }

  @Test func `models, structures and local documents share one database`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Trips.divan"
    let expensesByTrip = DocumentIndex("expenses by trip", on: "tripID", "paid") {
      $0["type"] == "expense"
    }
    let schema = Schema(
      Trip.self, Traveller.self, documents: [Expense.self], indexes: [expensesByTrip])
    let database = try Database(at: path, schema: schema)
    #expect(try database.indexes().contains(expensesByTrip))

    let context = database.makeContext()
    let elbe = try context.insert(Trip.self, id: "trip:elbe")
    elbe.title = "Along the Elbe"
    elbe.stops = [Trip.Stop(place: "Dresden", nights: 2), Trip.Stop(place: "Meissen")]
    elbe.tags = ["rail", "summer"]
    try context.save()
    let taken = #expect(throws: DatabaseError.self) {
      try context.insert(Trip.self, id: "trip:elbe")
    }
    #expect(taken?.code == .alreadyExists)

    let ada = Traveller(in: context)
    ada.name = "Ada"
    elbe.owner = ada
    try context.save()
    #expect(ada.id.hasPrefix("traveller:") && ada.trips == [elbe])
    let denied = #expect(throws: DatabaseError.self) { try ada.delete() }
    #expect(denied?.code == .deleteDenied)
    let toDresden = Query<Trip>().filter { $0.stops.contains { $0.place == "Dresden" } }
    #expect(try context.find(toDresden) == [elbe])
    #expect(try context.count(Query<Trip>().filter { $0.tags.contains("rail") }) == 1)
    let trips = try database.snapshot().documents(.prefix("trip:"))
    #expect(try trips.collect().map(\.id) == ["trip:elbe"])

    for cents in [4250, 1800] {
      try database.write { transaction in
        let paid = Date(timeIntervalSince1970: Double(cents))
        _ = try transaction.put(Expense(tripID: "trip:elbe", cents: cents, paid: paid))
      }
    }
    let expenses = Query<Expense>().filter { $0.tripID == "trip:elbe" }.sorted(by: \.paid)
    #expect(try database.snapshot().find(expenses).map(\.cents) == [1800, 4250])
    let total = try database.snapshot().sum(expenses) { $0.cents }
    #expect(total == 6050)
  }

  @Test func `settings are local documents, and drafts expire`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.putLocal("settings", ["units": "metric", "theme": "dark"])
      let draft = try transaction.put(Document(id: "draft", ["text": "Packing list"]))
      try transaction.setExpiry(Date(timeIntervalSinceNow: 7 * 86_400), of: draft.id)
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.localDocument("settings")?["theme"] == "dark")
    #expect(try snapshot.count == 1)
    let expiry = try #require(try snapshot.expiry(of: "draft"))
    #expect(expiry.timeIntervalSinceNow > 6 * 86_400)
  }

  @Test func `a model's attachment comes from a file, and goes to another`() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path
    try Data(repeating: 7, count: 100_000).write(to: URL(filePath: folder + "/map.jpg"))
    let database = try Database.inMemory(schema: Schema(Trip.self, Traveller.self))
    let context = database.makeContext()
    let trip = Trip(in: context, id: "elbe")
    trip.attachments["map"] = try await database.storeAttachment(
      contentType: "image/jpeg", file: folder + "/map.jpg")
    try await context.save()
    try await trip.attachments["map"]?.write(to: folder + "/copy.jpg")
    let map = try #require(trip.attachments["map"])
    var response = Response()
    for try await piece in map.asyncPieces() { try await response.write(piece) }
    #expect(response.data.count == 100_000)
    #expect(
      FileManager.default.contentsEqual(
        atPath: folder + "/map.jpg", andPath: folder + "/copy.jpg"))
    let error = await #expect(throws: DatabaseError.self) {
      try await trip.attachments["map"]?.write(to: folder + "/copy.jpg")
    }
    #expect(error?.code == .alreadyExists)
  }

  private struct Response {
    var data = Data()
    mutating func write(_ piece: Data) async throws { data.append(piece) }
  }

  // MARK: Testing and previews

  @Test func `a test has a database in memory`() throws {
    let database = try Database.inMemory(schema: Schema(Trip.self, Traveller.self))
    let context = database.makeContext()
    Trip(in: context).title = "Along the Elbe"
    try context.save()
    #expect(try context.find(Query<Trip>()).map(\.title) == ["Along the Elbe"])
  }

  @Test func `a test decides the IDs and the time`() throws {
    let clock = SimulatedClock()
    var configuration = Configuration()
    configuration.documentIDs = .sequential(prefix: "note-")
    configuration.now = clock.read
    let database = try Database.inMemory(configuration: configuration)
    let note = try database.write { try $0.put(Document(["text": "Tickets"])) }
    #expect(note.id == "note-000001")

    let inAnHour = Date(timeIntervalSince1970: Double(clock.nextReading) / 1000 + 3600)
    try database.write { try $0.setExpiry(inAnHour, of: note.id) }
    clock.advance(by: .seconds(3601))
    try database.purgeExpiredDocuments()
    #expect(try database.snapshot().count == 0)
  }

  @Test func `a crash at any call loses no saved note`() throws {
    var saved = 0
    let trials = try SimulatedDisk(seed: 1).forEachCrash { disk in
      saved = 0
      let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
      for number in 1...10 {
        try database.write { try $0.put(Document(id: "\(number)", ["text": "Note"])) }
        saved = number
      }
    } check: { disk in
      let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
      let count = try database.snapshot().count
      #expect(count == saved || count == saved + 1, "\(disk)")
    }
    #expect(trials.checkCount > 100, "\(trials)")
  }

  @Test func `a full disk refuses a note, and stores it once there is space`() throws {
    let disk = SimulatedDisk(seed: 2)
    let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
    disk.capacityBytes = disk.usedBytes
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(Document(["text": "Tickets"])) }
    }
    #expect(error?.code == .diskFull)
    disk.capacityBytes = nil
    try database.write { try $0.put(Document(["text": "Tickets"])) }
    #expect(try database.snapshot().count == 1)
  }

  @Test func `a disk of any size that is too small keeps the saved notes`() throws {
    var saved = 0
    let trials = try SimulatedDisk(seed: 3).forEachCapacity(stepBytes: 1024) { disk in
      saved = 0
      let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
      for number in 1...5 {
        try database.write { try $0.put(Document(id: "\(number)", ["text": "Note"])) }
        saved = number
      }
    } check: { disk in
      let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
      #expect(try database.snapshot().count == saved, "\(disk)")
    }
    #expect(trials.runCount > 10, "\(trials)")
    #expect(trials.checkCount == 2 * trials.runCount)
  }

  @Test(arguments: [true, false])
  func `a deletion on a full disk needs the reserve of a program's store`(hasSmallFiles: Bool)
    throws
  {
    let disk = SimulatedDisk(seed: 4)
    let configuration = disk.configuration(hasSmallFiles: hasSmallFiles)
    let database = try Database(at: "/Notes.divan", configuration: configuration)
    try database.write { try $0.put(Document(id: "note", ["text": "Tickets"])) }
    disk.capacityBytes = disk.usedBytes
    let error = #expect(throws: DatabaseError.self) { try database.write { try $0.delete("note") } }
    #expect(error?.code == .diskFull)
    let isDeleted = try? database.write { try $0.delete("note") }
    #expect(isDeleted == (hasSmallFiles ? nil : true))
    disk.capacityBytes = nil
    try database.write { try $0.put(Document(id: "next")) }
    #expect(try database.snapshot().count == (hasSmallFiles ? 2 : 1))
  }

  @MainActor @Test func `a test begins with fixtures, and expects changes and documents`()
    async throws
  {
    let database = try Database.inMemory(
      schema: Schema(Trip.self, Traveller.self),
      fixtures: .jsonLines(
        """
        {"_id": "elbe", "type": "Trip", "title": "Along the Elbe", "tags": ["rail"]}
        {"_id": "lisbon", "type": "Trip", "title": "Lisbon"}
        """),
      .models { context in Trip(in: context, id: "rome").title = "Rome" })
    let context = database.makeFollowingContext(autosavingAfter: .milliseconds(5))
    let changes = try observeChanges(in: database) {
      try context.model(Trip.self, id: "lisbon")?.delete()
    }
    #expect(changes == ObservedChanges(deleted: ["lisbon"]))
    try await expectChanges(.init(updated: ["elbe"]), in: database, within: .seconds(10)) {
      try context.model(Trip.self, id: "elbe")?.title = "Down the Elbe"
    }
    try DocumentText(of: Query<Trip>(), in: database.snapshot(), leavingOut: ["stops", "tags"])
      .requireEqual(
        to: """
          elbe
            title: "Down the Elbe"
            type: "Trip"

          rome
            title: "Rome"
            type: "Trip"
          """)
    try await database.close()
  }

  @Test func `migrations are tried on a stored database`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Trips.divan"
    let stored = try Database(at: path)
    try stored.write { transaction in
      for (id, nights) in [("old", "3"), ("odd", "some")] as [(String, Value)] {
        try transaction.put(Document(id: id, ["type": "Trip", "nights": nights]))
      }
    }
    try stored.close()
    let schema = Schema(
      Trip.self,
      migrations: [
        Migration(id: "2026-03 nights are numbers") { transaction in
          for var trip in try transaction.find(Query<Document>().filter { $0["type"] == "Trip" }) {
            guard let text = trip["nights"]?.stringValue, let nights = Int64(text) else { continue }
            trip["nights"] = .int(nights)
            try transaction.put(trip)
          }
        }
      ])
    let trial = try MigrationTrial(storeAt: path, schema: schema)
    #expect(trial.migrationIDs == ["2026-03 nights are numbers"])
    #expect(trial.changes.map(\.id) == ["old"])
    #expect(trial["old"]?.before?["nights"] == "3" && trial["old"]?.after?["nights"] == 3)
    #expect(try trial.database.snapshot().document("odd")?["nights"] == "some")

    let fromLines = try MigrationTrial(
      jsonLines: """
        {"_id": "elbe", "type": "Trip", "nights": "3"}
        {"_id": "rome", "type": "Trip", "nights": 2}
        """,
      schema: schema)
    #expect(fromLines.changes.map(\.id) == ["elbe"])
    #expect(fromLines["elbe"]?.after?["nights"] == 3)
  }

  @MainActor @Test func `a preview has sample data`() throws {
    let sample = PreviewStore.preview(Schema(Trip.self, Traveller.self)) { context in
      for title in ["Along the Elbe", "Lisbon"] { Trip(in: context).title = title }
    }
    let shown = try sample.open()
    #expect(try shown.mainContext.count(Query<Trip>()) == 2)
    let trips = shown.mainContext.liveQuery(Query<Trip>().sorted(by: \.title))
    #expect(trips.results.map(\.title) == ["Along the Elbe", "Lisbon"])
    try shown.close()
  }

  // MARK: Disk space and maintenance

  /// Returns a store with dead bytes, and a named snapshot that retains one revision.
  private func makeChangedStore(at path: String) throws -> Database {
    let database = try Database(at: path)
    for round in 0..<20 {
      try database.write { _ = try $0.replace("note", with: ["round": .int(Int64(round))]) }
    }
    try database.saveSnapshot(named: "before the import")
    try database.write { _ = try $0.replace("note", with: ["round": 99]) }
    return database
  }

  @Test func `a store reports its sizes, and is compacted and checked`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    try makeChangedStore(at: path).close()

    let again = try Database(at: path)
    let opening = again.openingReport
    print(opening)
    print(opening.duration, opening.replayedCommits)
    #expect(opening.ending == .closed && opening.damage.isEmpty)

    let database = again
    let statistics = try database.statistics
    print("\(statistics.documentCount) documents, \(statistics.directorySize) bytes on disk")
    print("log: \(statistics.liveSize) bytes are live, \(statistics.deadSize) are dead")
    print("history: \(statistics.pinnedSize) bytes are retained")
    print("attachments: \(statistics.attachmentFileSize + statistics.attachmentLogSize) bytes")
    #expect(statistics.documentCount == 1 && statistics.pinnedSize > 0)
    #expect(statistics.deadSize > 0 && statistics.directorySize > statistics.liveSize)

    try database.compact()
    let report = try database.check { share in print("\(Int(share * 100)) %") }
    for problem in report.problems { print(problem) }
    #expect(report.isSound && report.documentCount == 1)
    #expect(try database.statistics.deadSize < statistics.deadSize)

    for named in try database.namedSnapshots() {
      print("\(named.name) of \(named.date): \(named.pinnedSize) bytes")
    }
    try database.deleteSnapshot(named: "before the import")
    #expect(try database.namedSnapshots().isEmpty)
  }

  @Test func `a backup with history is restored`() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path
    let database = try makeChangedStore(at: folder + "/Notes.divan")
    try database.backup(to: folder + "/Backup.divan", keepingHistory: true)
    try Database.restore(from: folder + "/Backup.divan", to: folder + "/Restored.divan")
    let restored = try Database(at: folder + "/Restored.divan")
    #expect(restored.storeID != database.storeID)
    #expect(try restored.snapshot().document("note")?["round"] == 99)
    let before = try restored.snapshot(named: "before the import")
    #expect(try before.document("note")?["round"] == 19)
  }

  private let schema = Schema(Trip.self, Traveller.self)

  func replaceStore(of database: Database, at path: String, by backup: String) throws -> Database {
    // Checks the backup, while the store in use is as it was.
    try Database.restore(from: backup, to: path + ".restored")
    try database.close()
    try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
    try FileManager.default.moveItem(atPath: path + ".restored", toPath: path)
    let restored = try Database(at: path, schema: schema)
    try Database.delete(at: path + ".old")
    return restored
  }

  @Test func `a store is replaced by its backup`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let backup = directory.path + "/Backup.divan"
    let database = try makeChangedStore(at: path)
    try database.backup(to: backup)
    try database.write { _ = try $0.replace("note", with: ["round": 100]) }
    let replaced = try replaceStore(of: database, at: path, by: backup)
    #expect(try replaced.snapshot().document("note")?["round"] == 99)
    #expect(replaced.storeID != database.storeID && replaced.openingReport.damage.isEmpty)
    try replaced.write { _ = try $0.replace("note", with: ["round": 101]) }
    let error = #expect(throws: DatabaseError.self) { try database.snapshot() }
    #expect(error?.code == .closed)
    try replaced.close()

    // A file of the user's in the store's folder is left where it was moved.
    try Data("mine".utf8).write(to: URL(filePath: path + "/letter.txt"))
    let again = try replaceStore(of: replaced, at: path, by: backup)
    #expect(try again.snapshot().document("note")?["round"] == 99)
    #expect(try Data(contentsOf: URL(filePath: path + ".old/letter.txt")) == Data("mine".utf8))
    try FileManager.default.removeItem(atPath: path + ".old")
    try again.close()

    // Without a backup, the store in use stays as it was.
    try Database.delete(at: backup)
    let inUse = try Database(at: path)
    #expect(throws: DatabaseError.self) {
      try replaceStore(of: inUse, at: path, by: backup)
    }
    #expect(try inUse.snapshot().document("note")?["round"] == 99)
  }

  // MARK: Performance

  @Test func `batches are stored, and an index answers a query`() throws {
    let database = try Database.inMemory()
    let batches = (0..<5).map { batch in
      (0..<100).map { number in
        Document(id: "\(batch)-\(number)", ["kind": "stop", "trip": .int(Int64(number % 50))])
      }
    }
    for batch in batches {
      try database.write { try $0.put(contentsOf: batch) }
    }
    #expect(try database.snapshot().count == 500)

    try database.write(durability: .relaxed(maxDelay: .seconds(1))) { transaction in
      try transaction.replace("position", with: ["page": 12])
    }
    try database.flush()
    #expect(try database.snapshot().document("position")?["page"] == 12)

    try database.addIndex(
      DocumentIndex("stops by trip", on: "trip") { $0["kind"] == "stop" })
    let stops = Query<Document>().filter { $0["kind"] == "stop" && $0["trip"] == 7 }
    let plan = try database.snapshot().explain(stops)
    print(plan)
    // As the page shows it, except for the estimate.
    #expect("\(plan.plan)" == #"index scan "stops by trip" = 7: 10 rows"#)
    #expect(
      "\(plan)".hasSuffix(
        "10 candidates, 10 index entries read, 0 documents read, 10 results"), "\(plan)")
    #expect(plan.indexes == ["stops by trip"] && plan.results == 10)
    #expect(plan.residual == nil && plan.documentsRead == 0)
  }

  @Test func `many models are saved in parts, and counted without being made`() throws {
    let database = try Database.inMemory(schema: Schema(Trip.self, Traveller.self))
    do {
      let context = database.makeContext()
      context.isObservable = false
      for number in 0..<2500 {
        Trip(in: context).title = "Trip \(number)"
        if number % 1000 == 999 { try context.save() }
      }
      try context.save()
    }
    let context = database.makeContext()
    #expect(try context.count(Query<Trip>()) == 2500)
    let titled = Query<Trip>().filter { $0.title.hasPrefix("Trip 1") }
    let count = try context.count(titled)
    let titles = try context.values(titled.sorted(by: \.title), { $0.title })
    #expect(count == 1111 && titles.count == 1111 && titles.first == "Trip 1")
  }

  // MARK: Use on servers

  struct Message: DocumentCodable {
    @DocumentID var id: String? = nil
    var room: String
    var text: String
    var sent: Date
  }

  struct MessageStore {
    let database: Database

    func add(_ message: Message) async throws -> String {
      try await database.write(timeout: .seconds(5)) { try $0.put(message).id }
    }

    func latest(in room: String) async throws -> [Message] {
      let query = Query<Message>().filter { $0.room == room }.sorted(by: \.sent, .descending)
      return try await database.read { try $0.find(query.limit(50)) }
    }

    func backUp(to path: String) async throws {
      try await database.backup(to: path)
    }

    func report() throws -> [String: Int] {
      let statistics = try database.statistics
      return [
        "documents": statistics.documentCount, "bytes": statistics.directorySize,
        "dead": statistics.deadSize, "pinned": statistics.pinnedSize,
        "problems": statistics.maintenanceProblem == nil ? 0 : 1,
      ]
    }

    func shutDown() throws { try database.close() }
  }

  @Test func `a server shares one database among tasks, copies it and closes it`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Messages.divan"
    let schema = Schema(
      documents: [Message.self],
      indexes: [
        DocumentIndex("messages by room", on: "room", "sent") { $0["type"] == "Message" }
      ])
    let database = try await Database.open(at: path, schema: schema)
    let store = MessageStore(database: database)
    let ids = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<60 {
        let sent = Date(timeIntervalSince1970: Double(number))
        let message = Message(room: "hall", text: "\(number)", sent: sent)
        group.addTask { try await store.add(message) }
      }
      var added: Set<String> = []
      for try await id in group { added.insert(id) }
      return added
    }
    let latest = try await store.latest(in: "hall")
    #expect(ids.count == 60 && latest.map(\.text) == (10..<60).reversed().map { "\($0)" })
    let report = try store.report()
    #expect(report["documents"] == 60 && report["problems"] == 0)

    let copy = directory.path + "/Backup.divan"
    try await store.backUp(to: copy)
    #expect(Database.exists(at: copy))
    #expect(try readCount(at: path) == 60)
    try store.shutDown()
    let error = #expect(throws: DatabaseError.self) { try database.snapshot() }
    #expect(error?.code == .closed)
  }

  private func readCount(at path: String) throws -> Int {
    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    return try reader.snapshot().count
  }

  // MARK: Troubleshooting

  @Test func `an error says why a store does not open`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Trips.divan"
    let open = try Database(at: path)
    var codes: [DatabaseError.Code] = []
    func start(with database: Database) throws { try database.close() }

    do {
      try start(with: Database(at: path))
    } catch let error as DatabaseError {
      print(error.message, error.path ?? "", error.hint ?? "")
      codes.append(error.code)
    }
    #expect(codes == [.storeInUse])
    try open.close()
    try start(with: Database(at: path))
    let other = #expect(throws: DatabaseError.self) { try Database(at: path + "/LOCK") }
    #expect(other?.code == .notAStore)
  }

  @Test func `documents without a type are found once they have one`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (id, properties) in [
        ("elbe", ["title": "Along the Elbe"]), ("lisbon", ["title": "Lisbon", "type": "Trip"]),
      ] as [(String, Value.Object)] {
        try transaction.put(Document(id: id, properties))
      }
    }
    let types = try database.snapshot().groups(Query<Document>(), by: { $0["type"] }, .count)
    for (type, count) in types { print(type.json, count) }
    #expect(types.map(\.key) == [.null, "Trip"] && types.map(\.1) == [1, 1])
    #expect(try database.makeContext().count(Query<Trip>()) == 1)

    let migration = Migration(id: "2026-04 trips have a type") { transaction in
      try transaction.update(Query<Document>().filter { $0["type"].isMissing }) {
        $0["type"] = "Trip"
      }
    }
    try database.migrate([migration])
    #expect(try database.makeContext().count(Query<Trip>()) == 2)
  }

  @Test func `a value of another type is reported, and stays`() throws {
    let database = try Database.inMemory()
    try database.write { _ = try $0.replace("elbe", with: ["type": "Trip", "title": 7]) }
    let context = database.makeContext()
    var problems: [String] = []
    context.mismatchHandler = { error in
      problems.append("\(error.documentID ?? ""), \(error.propertyPath ?? ""): \(error.message)")
    }
    let trip = try context.model(Trip.self, id: "elbe")
    print(trip?.title ?? "no trip")
    #expect(problems.count == 1 && problems.first?.hasPrefix("elbe, title: ") == true)
    #expect(trip?.title == "")
    #expect(try trip?.document?["title"] == 7)
  }

  @Test func `a refresh lets unsaved changes win`() throws {
    let database = try Database.inMemory()
    let context = database.makeContext()
    let trip = Trip(in: context, id: "elbe")
    try context.save()
    trip.title = "Along the Elbe"
    _ = try database.write { try $0.update("elbe") { $0["title"] = "Elbe" } }
    var conflicts = 0
    do {
      try trip.save()
      Issue.record("a conflict was not noticed")
    } catch let error as DatabaseError where error.code == .conflict {
      conflicts += 1
    }
    do {
      try trip.save()
    } catch let error as DatabaseError where error.code == .conflict {
      try context.refresh()
      try trip.save()
    }
    #expect(
      try conflicts == 1 && database.snapshot().document("elbe")?["title"] == "Along the Elbe")
  }

  // MARK: FAQ

  @Test func `all documents are exported as lines of JSON`() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path
    let database = try makeChangedStore(at: folder + "/Notes.divan")
    try database.exportJSONLines(to: folder + "/Trips.jsonl")
    let text = try String(contentsOfFile: folder + "/Trips.jsonl", encoding: .utf8)
    #expect(text.hasPrefix("{\"_id\":\"note\",") && text.contains("\"round\":99"))
  }
}
