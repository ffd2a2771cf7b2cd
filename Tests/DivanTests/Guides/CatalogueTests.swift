import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the code examples of the documentation catalogue.
struct CatalogueTests {
  private let disk = SimulatedDisk()

  private func open(_ path: String = "/Main.divan") throws -> Database {
    var configuration = Configuration()
    configuration.history = .unlimited
    return try Database(at: path, configuration: disk.configuration(configuration))
  }

  /// Returns the larger of two numbers of a document.
  private func larger(_ a: Value?, _ b: Value?) -> Value? {
    (a?.intValue ?? 0) < (b?.intValue ?? 0) ? b : a
  }

  // MARK: The pages

  @Test func `a document is put and read`() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let path = directory.path
    defer { try? FileManager.default.removeItem(at: directory) }
    let database = try Database(at: path)
    let metropolis = try database.write { transaction in
      try transaction.put(Document(id: "metropolis", ["title": "Metropolis", "year": 1927]))
    }
    let snapshot = try database.snapshot()
    let year = try snapshot.document("metropolis")?["year"]?.intValue
    #expect(year == 1927 && metropolis.revision?.generation == 1)
    try database.close()
  }

  struct Recipe: DocumentCodable {
    @DocumentID var id: String? = nil
    @DocumentRevision var revision: RevisionID?
    var name: String
    var minutes: Int
    var steps: [Step] = []

    struct Step: Codable {
      var text: String
      var picture: URL?
    }
  }

  @Test func `Codable values are put, read and reported if they do not decode`() throws {
    let database = try open()
    var problems: [String] = []
    var soup = Recipe(name: "Soup", minutes: 30)
    try database.write { try $0.put(&soup) }
    soup.minutes = 40
    try database.write { try $0.put(&soup) }
    let found = try database.snapshot().value(Recipe.self, id: soup.id ?? "")
    #expect(found?.minutes == 40 && found?.revision?.generation == 2)

    try database.write { transaction in
      for id in ["stew", "salad"] { try transaction.put(Recipe(id: id, name: id, minutes: 10)) }
    }
    try database.write { transaction in
      try transaction.update(Recipe.self, id: "stew") { $0.minutes = 90 }
      let salad = try transaction.value(Recipe.self, id: "salad")
      if let salad { try transaction.delete(salad) }
    }
    #expect(try database.snapshot().value(Recipe.self, id: "stew")?.minutes == 90)
    #expect(try database.snapshot().document("salad") == nil)

    try database.write { _ = try $0.replace("bad", with: ["name": "Stew", "minutes": "long"]) }
    do {
      _ = try database.snapshot().value(Recipe.self, id: "bad")
    } catch let error as DatabaseError {
      problems.append(error.propertyPath ?? "")
    }
    #expect(problems == ["minutes"])
  }

  @Test func `conflicts are made, merged and exchanged`() throws {
    let database = try open()
    let other = try open("/Other.divan")
    let base = try database.write { try $0.put(Document(id: "note", ["text": "Tea", "size": 1])) }
    for (text, size) in [("Green tea", 1), ("Tea", 2)] {
      var mine = base
      mine["text"] = .string(text)
      mine["size"] = .int(Int64(size))
      try database.write { try $0.put(mine, onConflict: .branch) }
    }
    let branches = try database.snapshot().branches(of: "note")
    #expect(branches.count == 2)
    let inConflict = try database.snapshot().changes(since: 0)
      .filter { $0.hasConflicts }.map { $0.id }.collect()
    #expect(inConflict == ["note"])

    let merged = try database.write { transaction in
      try transaction.resolve("note") { overlap in
        overlap.path == ["size"] ? .value(larger(overlap.mine, overlap.theirs)) : .mine
      }
    }
    #expect(merged?["text"] == "Green tea" && merged?["size"] == 2)
    try database.update("note") { $0["seen"] = true }

    try other.write { _ = try $0.put(Document(id: "note", ["text": "Coffee"])) }
    let theirs = try other.snapshot()
    let offered = try ["note": theirs.leafRevisions(of: "note").map(\.id)]
    let missing = try database.snapshot().missingRevisions(among: offered)
    var revisions: [IncomingRevision] = []
    for revision in missing["note"]?.missing ?? [] {
      guard let document = try theirs.revision(revision, of: "note") else { continue }
      let history = try theirs.revisions(leadingTo: revision, of: "note")
      revisions.append(IncomingRevision(document, history: history, isDeleted: document.isDeleted))
    }
    let incoming = revisions
    let results = try database.write { try $0.insert(contentsOf: incoming, origin: "other") }
    #expect(try results.map { try $0.get() } == [true])
    #expect(
      try database.snapshot().branches(of: "note").map { $0["text"] } == ["Green tea", "Coffee"])
  }

  @Test func `documents are deleted, created again and purged`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.write { transaction in
      guard var note = try transaction.document("note") else { return }
      note["reason"] = "Told elsewhere"
      try transaction.delete(note)
    }
    let tombstone = try database.snapshot().tombstone("note")
    #expect(tombstone?["reason"] == "Told elsewhere")
    #expect(try database.snapshot().document("note") == nil)

    let again = try database.write { try $0.put(Document(id: "note", ["text": "Cake"])) }
    #expect(again.revision?.generation == 3)
    #expect(try database.snapshot().document("note")?["text"] == "Cake")

    try database.write { try $0.purge("note") }
    #expect(try database.snapshot().revisions(of: "note").isEmpty)
  }

  /// Returns a few pieces, then `nil`.
  private final class Camera {
    private var pieces = 3

    func next() -> [UInt8]? {
      pieces -= 1
      return pieces < 0 ? nil : [UInt8](repeating: UInt8(pieces), count: 50_000)
    }
  }

  @Test func `attachments are stored and read as a whole and in parts`() throws {
    let sound = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(repeating: 5, count: 70_000).write(to: sound)
    defer { try? FileManager.default.removeItem(at: sound) }
    let database = try open()
    let jpeg = Data(repeating: 7, count: 1000)
    let soundPath = sound.path
    let camera = Camera()
    var size = 0
    var note = Document(id: "note")
    note.attachments["photo"] = Document.Attachment(contentType: "image/jpeg", jpeg)
    note.attachments["sound"] = try Document.Attachment(contentType: "audio/wav", file: soundPath)
    try database.write { _ = try $0.put(note) }

    let stored = try database.snapshot().document("note")
    let photo = try stored?.attachments["photo"]?.data()
    let beginning = try stored?.attachments["sound"]?.data(in: 0..<44)
    var pieces = try stored?.attachments["sound"]?.pieces()
    while let piece = try pieces?.next() { size += piece.count }
    #expect(photo == jpeg && beginning == Data(repeating: 5, count: 44) && size == 70_000)

    var listed: [String] = []
    for (name, attachment) in stored?.attachments ?? [:] {
      listed.append("\(name): \(attachment.contentType), \(attachment.length) bytes")
    }
    try database.update("note") { $0.attachments["photo"] = nil }
    #expect(
      listed.sorted() == ["photo: image/jpeg, 1000 bytes", "sound: audio/wav, 70000 bytes"])
    #expect(try database.snapshot().document("note")?.attachments.keys.sorted() == ["sound"])

    let film = try database.storeAttachment(contentType: "video/mp4") { camera.next() }
    try database.update("note") { $0.attachments["film"] = film }
    #expect(try database.snapshot().document("note")?.attachments["film"]?.length == 150_000)
  }

  @Test func `versions are read by name, by sequence number and by time`() throws {
    var configuration = Configuration()
    configuration.history = HistoryRetention(revisions: 10, age: .seconds(7 * 86_400))
    configuration = disk.configuration(configuration)
    let database = try Database(at: "/Main.divan", configuration: configuration)
    try database.write { _ = try $0.replace("a", with: ["n": 1]) }
    let sequence = try database.snapshot().sequence
    let noon = Date(timeIntervalSince1970: Double(disk.clock.nextReading) / 1000)
    disk.clock.advance(by: .seconds(3600))
    try database.saveSnapshot(named: "before the import")
    try database.write { _ = try $0.replace("a", with: ["n": 2]) }
    let before = try database.snapshot(named: "before the import")
    let names = try database.namedSnapshots().map(\.name)
    #expect(try before.document("a")?["n"] == 1 && names == ["before the import"])

    let then = try database.snapshot(at: sequence)
    let atNoon = try database.snapshot(at: noon)
    let past = try database.snapshot().history(of: "a")
    let texts = past.map { $0.document?["n"]?.intValue }
    #expect(try then.document("a")?["n"] == 1 && texts == [2, 1])
    #expect(try atNoon.document("a")?["n"] == 1)
  }

  @Test func `documents are validated, expire and are observed through the change feed`()
    async throws
  {
    let database = try open()
    let tomorrow = Date(timeIntervalSince1970: 4_000_000_000)
    var titles: [String] = []
    database.setValidation(named: "films") { revision in
      if !revision.isDeletion, revision.document["title"]?.stringValue == nil {
        try revision.reject("a film has a title", keys: ["title"])
      }
    }
    for id in ["ticket", "b", "c"] {
      _ = try await database.write { try $0.put(Document(id: id, ["title": .string(id)])) }
    }
    try settle(database, tomorrow)

    var position = ""
    for try await change in database.changeFeed(since: 0) {
      titles.append(change.document["title"]?.stringValue ?? "deleted")
      position = "\(database.feedPosition(after: change))"
      if titles.count == 2 { break }
    }
    _ = try await database.write { try $0.delete("b") }
    var gone: [String] = []
    for try await change in database.changeFeed(where: { $0.isDeleted }) {
      gone.append(change.id)
      break
    }
    #expect(gone == ["b"])
    guard let kept = FeedPosition(position) else { return }
    for try await change in try database.changeFeed(since: kept) {
      titles.append(change.document["title"]?.stringValue ?? "deleted")
      break
    }
    #expect(titles == ["ticket", "b", "c"])
  }

  private func settle(_ database: Database, _ tomorrow: Date) throws {
    try database.write { transaction in
      try transaction.setExpiry(tomorrow, of: "ticket")
      try transaction.putLocal("settings", ["theme": "dark"])
    }
    #expect(try database.snapshot().expiry(of: "ticket") == tomorrow)
  }

  @Test func `documents are found through indexes of their properties`() throws {
    let database = try open()
    var titles: [String] = []
    var taken: String?
    try database.write { transaction in
      try transaction.put(
        Document(
          id: "m", ["title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm", "Alfred Abel"]]))
      try transaction.put(Document(id: "ada", ["name": "Ada", "year": 1815]))
    }
    try database.addIndex(DocumentIndex("by year", on: "year"))
    try database.addIndex(DocumentIndex("by actor", on: "cast", eachElement: true))
    try database.addIndex(DocumentIndex("by place", on: "made.city"))

    let ids = try database.snapshot().ids(by: "by year", 1920..<1930).collect()
    var films = try database.snapshot().documents(by: "by actor", .prefix("Brigitte"))
    while let film = try films.next() { titles.append(film["title"]?.stringValue ?? "none") }
    #expect(ids == ["m"] && titles == ["Metropolis"])

    try database.addIndex(DocumentIndex("names", on: "name", isUnique: true))
    do {
      try database.write { _ = try $0.put(Document(["name": "Ada"])) }
    } catch let error as DatabaseError where error.code == .notUnique {
      taken = error.documentID
    }
    #expect(taken != nil)
  }

  @Test func `documents are found through compound and partial indexes`() throws {
    let database = try open()
    try database.write { transaction in
      try transaction.put(
        Document(id: "gifts", ["list": "home", "due": "2026-12-20", "done": false]))
      try transaction.put(
        Document(id: "cake", ["list": "home", "due": "2026-12-01", "done": true]))
      try transaction.put(Document(id: "party", ["list": "home", "due": "2026-12-31"]))
    }
    try database.addIndex(DocumentIndex("by list and date", on: "list", "due"))
    let snapshot = try database.snapshot()
    var due = try snapshot.ids(
      by: "by list and date", .equal(to: "home").then(..<"2026-12-24"))
    let next = try due.next()
    #expect(next == "cake")
    #expect(try due.collect() == ["gifts"])

    try database.addIndex(
      DocumentIndex("open by date", on: "due") { $0["done"] == false && $0["due"] != .null })
    let count = try database.snapshot().count(by: "open by date")
    #expect(count == 1)
  }

  @Test func `JSON lines are exported and imported`() throws {
    let database = try open()
    let copy = try open("/Copy.divan")
    try database.write { _ = try $0.put(Document(id: "m", ["title": "M"])) }
    try disk.addFile("Films.jsonl", contents: Array("{\"title\":\"Metropolis\"}\n?\n".utf8))
    try database.exportJSONLines(to: "All.jsonl")
    try copy.importJSONLines(from: "All.jsonl")

    let options = JSONLines.ImportOptions(onInvalidLine: .skip, idProperty: "title")
    let report = try copy.importJSONLines(from: "Films.jsonl", options: options)
    let wrong = report.errors.map(\.description)
    #expect(wrong.count == 1)
    let ids = try copy.snapshot().ids()
    #expect(try ids.collect() == ["Metropolis", "m"])
  }

  @Test func `an import adds revisions, or compares documents by their content`() throws {
    let office = try open("/Office.divan")
    let home = try open("/Home.divan")
    try office.write { try $0.put(Document(id: "faust", ["title": "Faust"])) }
    for (database, title) in [(office, "M"), (home, "M, restored")] {
      try database.write { try $0.put(Document(id: "m", ["title": .string(title)])) }
    }
    let content = JSONLines.ExportOptions(content: [.attachments])
    try office.exportJSONLines(to: "Office.jsonl", options: content)
    let options = JSONLines.ImportOptions(onExisting: .skip)
    let report = try home.importJSONLines(from: "Office.jsonl", options: options)
    print("\(report.storedCount) are new, \(report.skippedCount) are different here")
    #expect(report.storedCount == 1 && report.skippedCount == 1 && report.unchangedCount == 0)
    #expect(try home.snapshot().document("m")?["title"] == "M, restored")

    let failure = #expect(throws: DatabaseError.self) {
      try home.importJSONLines(from: "Office.jsonl")
    }
    #expect(failure?.code == .conflict && failure?.documentID == "m")
    let replaced = try home.importJSONLines(
      from: "Office.jsonl", options: JSONLines.ImportOptions(onExisting: .replace))
    #expect(replaced.storedCount == 1 && replaced.unchangedCount == 1)
    let document = try home.snapshot().document("m")
    #expect(document?["title"] == "M" && document?.revision?.generation == 2)

    try office.exportJSONLines(to: "Revisions.jsonl")
    try home.importJSONLines(from: "Revisions.jsonl", options: options)
    #expect(try home.snapshot().hasConflict("m"))
  }

  @Test func `an import reports its progress and can be cancelled`() throws {
    let copy = try open("/Copy.divan")
    let more = String(repeating: " and more", count: 20)
    let text = (0..<10_000).map { "{\"_id\":\"\($0)\",\"text\":\"\($0)\(more)\"}\n" }.joined()
    try disk.addFile("Large.jsonl", contents: Array(text.utf8))
    var stored = 0
    do {
      try copy.importJSONLines(from: "Large.jsonl") { progress in
        stored = progress.storedCount
        if progress.byteCount > 1_000_000 { throw CancellationError() }
      }
    } catch is CancellationError {
      print("\(stored) documents are stored")
    }
    #expect(stored > 0 && stored < 10_000)
    #expect(try copy.snapshot().count == stored)
    #expect(try copy.importJSONLines(from: "Large.jsonl").storedCount == 10_000 - stored)
  }

  class Director: Model {
    @Persisted var name: String
    @Inverse(\Movie.director, onDelete: .nullify) var movies: [Movie]
  }

  class Movie: Model {
    @Persisted var title: String
    @Persisted var year: Int?
    @Persisted var genres: [String]
    @Persisted(key: "running_time") var minutes = 90
    @Persisted var director: Director?
    @Persisted var related: [Movie]
    var isSelected = false

    override class var documentType: String? { "movie" }

    override func validate(_ validation: inout ModelValidation) {
      validation.require(!title.isEmpty, "a movie has a title", property: "title")
    }
  }

  final class Sketch: Model {
    @Persisted var points: [Double]
    var line: [(x: Double, y: Double)] = [] { didSet { markNeedsSave() } }

    override func willSave(_ changedProperties: [String]) {
      points = line.flatMap { [$0.x, $0.y] }
    }
  }

  @Test func `a model's own state is written into properties when it is saved`() throws {
    let context = try open().makeContext()
    let sketch = Sketch(in: context)
    sketch.line.append((x: 1, y: 2))
    try sketch.save()
    let points = try sketch.document?["points"]
    #expect(points == [1.0, 2.0])
  }

  @MainActor final class Library {
    let context: ModelContext
    init(_ database: Database) {
      context = database.makeFollowingContext(autosavingAfter: .seconds(2))
    }
  }

  @Test func `a schema builds the indexes, and contexts know its classes`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Library.divan"
    let schema = Schema(Movie.self, Director.self, indexes: [DocumentIndex("by year", on: "year")])
    let library = try Database(at: path, schema: schema)
    #expect(try library.indexes().contains { $0.name == "by year" })
    #expect(try library.makeContext().count(Query<Movie>()) == 0)
  }

  @Test func `models are created, saved, found, validated, merged and undone`() throws {
    let database = try open()
    var titles: [String] = []
    var problems: [String] = []
    let context = database.makeContext()
    let lang = Director(in: context)
    lang.name = "Fritz Lang"
    let movie = Movie(in: context, id: "metropolis")
    movie.title = "Metropolis"
    movie.genres.append("Science fiction")
    movie.director = lang
    try context.save()

    let same = try context.model(Movie.self, id: "metropolis")
    var all = try context.models(Movie.self)
    while let each = try all.next() { titles.append(each.title) }
    #expect(same === movie && titles == ["Metropolis"])

    movie.title = ""
    do {
      try movie.save()
    } catch let error as DatabaseError where error.code == .invalidModel {
      problems.append(error.message)
    }
    movie.revert()
    #expect(problems.count == 1 && movie.title == "Metropolis")

    context.conflictHandler = { conflict in
      conflict.key == "title" ? .theirs : .mine
    }
    movie.title = "M"
    try change("metropolis", in: database)
    try movie.save()
    #expect(movie.title == "Other" && movie.genres == ["Science fiction"])

    try setMinutes(database)
    #expect(try longest(database) == 153)

    context.undoLimit = 100
    movie.year = 1927
    try movie.save()
    try context.undo()
    try context.redo()
    #expect(movie.year == 1927)

    try database.addIndexes(for: Director.self)
    let directed = lang.movies.map(\.title)
    try lang.delete()
    #expect(directed == ["Other"] && movie.director == nil && !movie.needsSave)
  }

  @Test func `models go to other tasks and actors by their IDs`() async throws {
    let database = try open()
    let movie = Movie(in: database.makeContext(), id: "metropolis")
    movie.title = "Other"
    try await movie.save()
    let name = movie.modelID
    let title = try await Task.detached {
      let elsewhere = database.makeContext()
      return try elsewhere.model(name)?.title
    }.value
    #expect(title == "Other")
    let library = await Library(database)
    #expect(await MainActor.run { library.context.isObservable })
  }

  @Test func `models refer to models of another database`() throws {
    let people = try open("/People.divan").makeContext()
    let films = try open().makeContext()
    films.resolveReferences(to: Director.self, in: people)
    let movie = Movie(in: films)
    movie.director = Director()
    #expect(movie.director?.context === people)
  }

  private func setMinutes(_ database: Database) throws {
    try database.write { transaction in
      let movie = try transaction.models.model(Movie.self, id: "metropolis")
      movie?.minutes = 153
      try movie?.save()
      try transaction.put(Document(id: "log", ["text": "The running time was set"]))
    }
  }

  private func longest(_ database: Database) throws -> Int? {
    let longest = try database.read { snapshot in
      try snapshot.models { context in
        try context.models(Movie.self).map(\.minutes).collect().max()
      }
    }
    return longest
  }

  private func change(_ id: String, in database: Database) throws {
    _ = try database.write { try $0.update(id) { $0["title"] = "Other" } }
  }

  class Chore: Model {
    @Persisted var title: String
    @Persisted var due: Date?
    @Persisted var tags: [String]
    @Persisted var list: ChoreList?

    override class var documentType: String? { "chore" }
  }

  class ChoreList: Model {
    @Persisted var name: String
  }

  private struct Shown: Identifiable, Equatable {
    var id: String
    var title: String
  }

  @Test func `views map documents to keys and reduce them`() throws {
    let database = try open()
    var titles: [String] = []
    try database.write { transaction in
      for (id, title, year) in [
        ("n", "Nosferatu", 1922), ("m", "Metropolis", 1927), ("k", "Citizen Kane", 1941),
      ] as [(String, String, Int64)] {
        try transaction.put(Document(id: id, ["title": .string(title), "year": .int(year)]))
      }
      try transaction.put(
        Document(["type": "role", "actor": "Brigitte Helm", "film": "m"]))
    }
    let byYear = MapReduceView("films by year", version: "1", reduction: .count) { film, emit in
      emit(film["year"], film["title"])
    }
    let twenties = try database.rows(of: byYear, .keys(in: 1920..<1930).unreduced())
    for row in twenties { titles.append(row.value.stringValue ?? "none") }
    #expect(titles == ["Nosferatu", "Metropolis"])

    let lastTwo = try database.rows(of: byYear, .keys(in: ...1930).unreduced().reversed().limit(2))
    let listed = try database.rows(of: byYear, .keys([1927, 1941]).unreduced())
    let byTitle = MapReduceView("by title", version: "1") { film, emit in emit(film["title"]) }
    let beginning = try database.rows(of: byTitle, .beginning(with: "métro"))
    #expect(lastTwo.map(\.documentID) == ["m", "n"] && listed.map(\.documentID) == ["m", "k"])
    #expect(beginning.map(\.key) == ["Metropolis"])

    let count = try database.rows(of: byYear).value
    let perYear = try database.rows(of: byYear, .all.grouped())
    let byDecade = MapReduceView("films by decade", version: "1", reduction: .count) { film, emit in
      guard let year = film["year"]?.intValue else { return }
      emit([.int(Int64(year / 10 * 10)), .int(Int64(year))])
    }
    let perDecade = try database.rows(of: byDecade, .all.grouped(byFirst: 1))
    #expect(count == 3 && perYear.count == 3 && perDecade.map(\.value) == [2, 1])

    let longest = ViewReduction.custom { rows in
      .int(Int64(rows.map { $0.value.stringValue?.count ?? 0 }.max() ?? 0))
    } rereduce: { values in
      .int(Int64(values.compactMap(\.intValue).max() ?? 0))
    }
    let named = MapReduceView("named", version: "1", reduction: longest) { film, emit in
      emit(film["year"], film["title"])
    }
    #expect(try database.rows(of: named).value == 12)

    let byActor = MapReduceView("by actor", version: "1", documentType: "role") { role, emit in
      emit(role["actor"], ["_id": role["film"] ?? .null])
    }
    let films = try database.rows(of: byActor, .key("Brigitte Helm")).documents()
    #expect(films.map { $0?["title"] } == ["Metropolis"])

    let before = [Shown(id: "n", title: "Nosferatu"), Shown(id: "m", title: "Metropolis")]
    let after = [Shown(id: "m", title: "Metropolis"), Shown(id: "k", title: "Citizen Kane")]
    let difference = ListDifference(from: before, to: after)
    print(difference.deletions, difference.insertions, difference.moves, difference.updates)
    #expect(difference.deletions == [0] && difference.insertions == [1])
  }

  @Test func `the rows of a view are observed`() async throws {
    let database = try open()
    var bars: [String] = []
    let byYear = MapReduceView("films by year", version: "1", reduction: .count) { film, emit in
      emit(film["year"], film["title"])
    }
    let writer = Task {
      for year in [1922, 1927, 1931] as [Value] {
        try await database.write { _ = try $0.put(Document(["year": year])) }
      }
    }
    for try await years in database.liveResults(of: byYear, .all.grouped()) {
      bars = years.map { "\($0.key.json) \($0.value.json)" }
      if years.count == 3 { break }
    }
    try await writer.value
    #expect(bars == ["1922 1", "1927 1", "1931 1"])
  }

  @Test func `models, values and documents are queried`() throws {
    let database = try open()
    let context = database.makeContext()
    let list = ChoreList(in: context)
    list.name = "Kitchen"
    let today = Date(timeIntervalSince1970: 1_000_000)
    for number in 0..<10 {
      let chore = Chore(in: context)
      chore.title = "Chore \(number)"
      chore.due = number < 5 ? Date(timeIntervalSince1970: Double(number)) : nil
      chore.list = number > 2 ? list : nil
    }
    try context.save()
    let late = Query<Chore>()
      .filter { $0.title.hasPrefix("Chore") && $0.due < today && $0.list != nil }
      .sorted(by: \.due, .descending).limit(20)
    let chores = try context.find(late)
    #expect(chores.map(\.title) == ["Chore 4", "Chore 3"])
    let open = try Query<Chore>().filter(#Predicate { $0.title.contains("1") && $0.due == nil })
    #expect(try context.count(open) == 0)
    let atHome = Query<Chore>().filter { $0.tags.contains("home") && $0.tags.count < 5 }
    let soon = Query<Chore>().filter { $0.tags.allSatisfy { !$0.hasPrefix("later") } }
    let listed = Query<Chore>().filter { $0.list == list || $0.list.name.hasPrefix("Kit") }
    #expect(try context.count(atHome) == 0 && context.count(listed) == 7)
    let ordered = soon.sorted { $0.list.name }.sorted(by: \.title, .descending)
    let secondPage = try context.find(ordered.offset(20).limit(20))
    let firstOne = try context.first(ordered)
    #expect(secondPage.isEmpty && firstOne?.title == "Chore 2")
    let moved = try context.update(late) { $0.due = today }
    let deleted = try context.delete(listed)
    #expect(moved == 2 && chores[0].due == today && deleted == 7 && chores[0].isDeleted)

    let kitchen = try self.open("/Kitchen.divan")
    var soup = Recipe(name: "Soup", minutes: 20, steps: [.init(text: "Cut"), .init(text: "Boil")])
    try kitchen.write { transaction in
      try transaction.put(&soup)
      for (title, year) in [("Metropolis", 1927), ("Frau im Mond", 1929), ("M", 1931)] {
        _ = try transaction.put(
          Document(
            id: title,
            [
              "title": .string(title), "year": .int(Int64(year)), "cast": ["Brigitte Helm"],
              "minutes": 100,
            ]))
      }
    }
    let snapshot = try kitchen.snapshot()
    let quick = try snapshot.find(Query<Recipe>().filter { $0.minutes < 30 && $0.steps.count > 1 })
    let query = Query<Document>().filter {
      $0["year"].isIn(1920..<1930) && $0["cast"].contains("Brigitte Helm")
    }
    let ids = try snapshot.ids(query.sorted(by: "year"))
    let count = try snapshot.count(query)
    #expect(quick.count == 1 && ids == ["Metropolis", "Frau im Mond"] && count == 2)
    let named = Query<Document>()
      .filter {
        $0["title"].like("*polis")
          || $0["title"].containsText("frau", ignoring: .caseAndDiacritics)
      }
      .filter { !($0["year"] < 1920) && $0["cast"].allSatisfy { $0 != "Unknown" } }
      .sorted(by: "title").sorted(by: "year", .descending, texts: .bytes)
    #expect(try snapshot.ids(named) == ["Frau im Mond", "Metropolis"])
  }

  @Test func `the matches of a query are counted, grouped, changed and explained`() throws {
    let database = try open()
    let films = Query<Document>().filter { $0["kind"] == "film" }
    try database.write { transaction in
      for year in [1927, 1927, 1931] {
        _ = try transaction.put(
          Document([
            "kind": "film", "year": .int(Int64(year)), "minutes": 90, "title": .string("T\(year)"),
          ]))
      }
      _ = try transaction.put(Document(["kind": "film", "title": "A"]))
    }
    let snapshot = try database.snapshot()
    let total = try snapshot.sum(films) { $0["minutes"] }
    let first = try snapshot.minimum(films) { $0["year"] }
    let byYear = try snapshot.groups(films, by: { $0["year"] }, .count, .average { $0["minutes"] })
    let titles = try snapshot.values(films.sorted(by: "title"), { $0["title"] }, { $0["year"] })
    let years = try snapshot.distinct(films) { $0["year"] }
    #expect(total == 270 && first == 1927 && byYear.map(\.1) == [1, 2, 1])
    #expect(byYear.map(\.2) == [nil, 90, 90] && years == [1927, 1931])
    #expect(titles.map(\.0) == ["A", "T1927", "T1927", "T1931"])
    #expect(titles.map(\.1) == [.null, 1927, 1927, 1931])
    try database.write { transaction in
      try transaction.update(films.filter { $0["year"] < 1928 }) { $0["silent"] = true }
      try transaction.delete(films.filter { $0["year"].isMissing })
    }
    try database.addIndex(DocumentIndex("by year", on: "year"))
    let explanation = try database.snapshot().explain(films.filter { $0["year"] == 1927 })
    print(explanation, explanation.indexes, explanation.documentsRead)
    #expect(explanation.indexes == ["by year"] && explanation.results == 2)
    #expect(try database.snapshot().count(films.filter { $0["silent"] == true }) == 2)
  }

  @MainActor final class ChoreBoard {
    let context: ModelContext
    let late: LiveQuery<Chore>
    init(_ database: Database) {
      context = database.mainContext
      late = context.liveQuery(Query<Chore>().filter { $0.due != nil }.sorted(by: \.due))
    }
  }

  @MainActor private func show(_ board: ChoreBoard) {
    let late = board.late
    late.onChange = { change in
      print(change.insertions, change.deletions)
    }
  }

  @Test func `the models of live results are loaded`() async throws {
    let database = try open()
    try await database.write { transaction in
      for title in ["Cook", "Wash"] {
        try transaction.put(Document(["type": "chore", "title": .string(title)]))
      }
    }
    var titles: Set<String> = []
    func print(_ title: String) { titles.insert(title) }
    let context = database.makeContext()
    for try await ids in database.liveResults(of: Query<Chore>().sorted(by: \.due)) {
      try context.refresh()
      for id in ids { print(try context.model(id)?.title ?? "deleted meanwhile") }
      if ids.count == 2 { break }
    }
    #expect(titles == ["Cook", "Wash"])
  }

  @Test func `branches without their ancestor overlap everywhere`() throws {
    for keepsAncestor in [true, false] {
      var configuration = Configuration()
      if keepsAncestor {
        configuration.history = HistoryRetention(age: .seconds(90 * 86_400))
      }
      let database = try Database.inMemory(configuration: configuration)
      let base = try database.write {
        try $0.put(Document(id: "note", ["text": "Tea", "size": 1]))
      }
      for (text, size) in [("Green tea", 1), ("Tea", 2)] {
        var mine = base
        mine["text"] = .string(text)
        mine["size"] = .int(Int64(size))
        try database.write { try $0.put(mine, onConflict: .branch) }
      }
      var overlaps: Set<[String]> = []
      _ = try database.write { transaction in
        try transaction.resolve("note") { overlap in
          overlaps.insert(overlap.path)
          return .mine
        }
      }
      #expect(overlaps == (keepsAncestor ? [] : [["size"], ["text"]]))
    }
  }

  @Test func `the results of queries are observed`() async throws {
    let database = try open()
    var titles: [String] = []
    @Sendable func put(_ title: String, _ year: Int64) throws {
      try database.write { transaction in
        _ = try transaction.put(Document(["title": .string(title), "year": .int(year)]))
      }
    }
    for (title, year) in [("Nosferatu", 1922), ("Metropolis", 1927), ("M", 1931)] {
      try put(title, Int64(year))
    }
    let silent = Query<Document>().filter { $0["year"] < 1930 }.sorted(by: "title")
    for try await films in database.liveResults(of: silent) {
      titles = films.compactMap { $0["title"]?.stringValue }
      if films.count == 2 { break }
    }
    #expect(titles == ["Metropolis", "Nosferatu"])
    let writer = Task {
      try await Task.sleep(for: .milliseconds(20))
      try put("Faust", 1926)
    }
    for try await films in database.liveResults(of: silent) {
      let changes = films.changes
      print(changes.deletions, changes.insertions, changes.moves, changes.updates)
      if films.count > 2 { break }
    }
    try await writer.value

    let board = await ChoreBoard(database)
    await show(board)
    try await MainActor.run {
      let chore = Chore(in: board.context)
      chore.due = Date(timeIntervalSince1970: 0)
      try chore.save()
      #expect(board.late.results == [chore])
    }
  }

  @Test func `a difference changes a list of rows to the new results`() {
    for seed in 0..<100 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      func list() -> [(id: Int, text: Int)] {
        (0..<8).filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
          .map { ($0, Int.random(in: 0..<2, using: &random)) }
      }
      let (old, new) = (list(), list())
      let difference = ListDifference(from: old, to: new, id: \.id) { $0.text == $1.text }
      var rows = old
      difference.apply(to: &rows, new: new)
      #expect(
        rows.map(\.id) == new.map(\.id) && rows.map(\.text) == new.map(\.text), "seed \(seed)")
    }
  }

  class Errand: Model {
    @Persisted(index: .unique) var number: Int?
    @Persisted var done = false
    @Persisted var due: Date?

    override class var documentType: String? { "errand" }
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Errand.self, on: { $0.done }, { $0.due })]
    }
  }

  @Test func `model classes declare indexes`() throws {
    let database = try open()
    try database.addIndexes(for: Errand.self)
    let context = database.makeContext()
    for number in 0..<5 {
      let errand = Errand(in: context, id: "errand \(number)")
      (errand.number, errand.due) = (number, Date(timeIntervalSince1970: Double(number)))
    }
    try context.save()
    let undone = Query<Errand>().filter { $0.done == false && $0.due != nil }
    let next = undone.sorted(by: \.due).limit(3)
    let errands = try context.find(next)
    #expect(errands.map(\.number) == [0, 1, 2])
    #expect(try context.explain(next).indexes == ["model:errand.done+due"])
  }

  @Test func `a damaged store is opened for reading`() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let path = directory.path
    defer { try? FileManager.default.removeItem(at: directory) }
    do {
      let database = try Database(at: path)
      for (id, text) in [("first", "tea"), ("second", "milk"), ("third", "sugar")] {
        try database.write { _ = try $0.replace(id, with: ["text": .string(text)]) }
      }
      try database.close()
    }
    let file = directory.appending(path: "0000000001.segment")
    var bytes = try Data(contentsOf: file)
    let place = try #require(bytes.firstRange(of: Data("milk".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: file)
    var unknown: [String] = []
    var texts: [String] = []

    do {
      let database = try Database(at: path)
      _ = database
      Issue.record("a damaged store was opened for writing")
    } catch let error as DatabaseError where error.code == .damaged {
      print(error)
    }

    var configuration = Configuration()
    configuration.isReadOnly = true
    let database = try Database(at: path, configuration: configuration)
    let known = try database.snapshot()
    for id in ["first", "second", "third"] {
      do {
        texts.append(try known.document(id)?["text"]?.stringValue ?? "none")
      } catch let error as DatabaseError where error.code == .damaged {
        unknown.append(id)
      }
    }
    #expect(texts == ["tea", "sugar"] && unknown == ["second"])
    texts = []

    configuration.damage = .salvage
    let left = try Database(at: path, configuration: configuration)
    print(left.openingReport)
    var documents = try left.snapshot().documents()
    while let document = try documents.next() {
      texts.append(document["text"]?.stringValue ?? "none")
    }
    #expect(texts == ["tea", "sugar"])
  }

  // MARK: Agreement with the pages

  @Test func `the code of the documentation catalogue is the code of these tests`() throws {
    // The code for SwiftUI is type-checked by `Tests/other-systems`, and not run.
    let views = ProjectFolder.url.appending(path: "Tests/systems/SwiftUIGuide/TodoApp.swift")
    let tests = try ExampleSources(in: ProjectFolder.guides, and: [views])
    let catalogue = ProjectFolder.url.appending(path: "Sources/Divan/Divan.docc")
    var count = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: catalogue.path)
    where name.hasSuffix(".md") {
      let page = try String(contentsOf: catalogue.appending(path: name), encoding: .utf8)
      for example in ExampleSources.examples(in: page) {
        #expect(tests.contains(example), "\(name): \(example.first ?? "")")
        count += 1
      }
    }
    #expect(count == 274)
  }
}

extension ListDifference {
  func apply<Row>(to rows: inout [Row], new: [Row]) {
    let moved = moves.map { $0.from }
    for index in (deletions + moved).sorted(by: >) { rows.remove(at: index) }
    for index in (insertions + moves.map { $0.to }).sorted() { rows.insert(new[index], at: index) }
    for update in updates { rows[update.to] = new[update.to] }
  }
}
