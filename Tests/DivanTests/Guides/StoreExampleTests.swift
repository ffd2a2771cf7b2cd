import Divan
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

/// Tests that run the examples of the types that open, read, write and watch a database.
struct StoreExampleTests {
  private let disk = SimulatedDisk()

  private func open(_ path: String = "/Main.divan") throws -> Database {
    var configuration = Configuration()
    configuration.history = .unlimited
    return try Database(at: path, configuration: disk.configuration(configuration))
  }

  // MARK: Opening

  @Test func `a configuration says how commits are made and what is kept`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.divan"
    var configuration = Configuration()
    configuration.durability = .relaxed(maxDelay: .seconds(1))
    configuration.history = HistoryRetention(revisions: 10)
    let database = try Database(at: path, configuration: configuration)
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Coffee" }
    let history = try database.snapshot().history(of: "note")
    #expect(history.map { $0.document?["text"] } == ["Coffee", "Tea"])
    try database.close()
  }

  @Test func `past revisions are kept for a time`() throws {
    var configuration = disk.configuration()
    let path = "/Notes.divan"
    configuration.history = HistoryRetention(revisions: 10, age: .seconds(30 * 86_400))
    let database = try Database(at: path, configuration: configuration)
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    let sequence = try database.snapshot().sequence
    try database.update("note") { $0["text"] = "Coffee" }
    #expect(try database.snapshot(at: sequence).document("note")?["text"] == "Tea")
  }

  @Test func `one commit is not flushed at once`() throws {
    let database = try open()
    let draft = Document(id: "draft", ["text": "Dear Ann"])
    try database.write(durability: .none) { try $0.put(draft) }
    try database.flush()  // Now a crash of the machine does not lose the draft.
    let after = disk.restarted(.strict)
    let reopened = try Database(at: "/Main.divan", configuration: after.configuration())
    #expect(try reopened.snapshot().document("draft")?["text"] == "Dear Ann")
  }

  @Test func `a store is read without memory maps`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.divan"
    var configuration = Configuration()
    configuration.readMode = .buffered
    let database = try Database(at: path, configuration: configuration)
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    #expect(try database.snapshot().document("note")?["text"] == "Tea")
    try database.close()
  }

  @Test func `a reader is set to follow the writer`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let writer = try Database(at: path)
    try writer.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    var configuration = Configuration()
    configuration.isReadOnly = true
    configuration.followsWriter = .automatically(every: .milliseconds(200))
    let reader = try Database(at: path, configuration: configuration)
    #expect(try reader.snapshot().document("note")?["text"] == "Tea")
    try reader.close()
    try writer.close()
  }

  @Test func `what is left of a damaged store is read`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    do {
      let database = try Database(at: path)
      for (id, text) in [("first", "tea"), ("second", "milk"), ("third", "sugar")] {
        try database.write { _ = try $0.replace(id, with: ["text": .string(text)]) }
      }
      try database.close()
    }
    let file = URL(filePath: path).appending(path: "0000000001.segment")
    var bytes = try Data(contentsOf: file)
    let range = try #require(bytes.firstRange(of: Data("milk".utf8)))
    bytes[range.lowerBound] ^= 1
    try bytes.write(to: file)
    var printed: [String] = []
    func print(_ error: DatabaseError) { printed.append("\(error.code)") }
    var configuration = Configuration()
    configuration.isReadOnly = true
    configuration.damage = .salvage
    let salvaged = try Database(at: path, configuration: configuration)
    for error in salvaged.openingReport.damage { print(error) }
    #expect(!printed.isEmpty && printed.allSatisfy { $0 == "damaged" })
    #expect(try salvaged.snapshot().document("third")?["text"] == "sugar")
  }

  @Test func `the report of opening says how the store was left`() throws {
    let database = try open()
    let report = database.openingReport
    if report.ending == .interrupted { print("The store was not closed:", report) }
    #expect(report.ending == .created && report.damage.isEmpty)
  }

  @Test func `a store that was not closed is checked`() throws {
    let before = try open()
    try before.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    let after = disk.restarted(.processEnd)
    let database = try Database(at: "/Main.divan", configuration: after.configuration())
    var printed: [String] = []
    func print(_ text: String, _ isSound: Bool) { printed.append("\(text) \(isSound)") }
    if database.openingReport.ending == .interrupted {
      print("Sound after the crash:", try database.check().isSound)
    }
    #expect(printed == ["Sound after the crash: true"])
    try before.close()
  }

  // MARK: Reading and writing

  @Test func `a snapshot does not change`() throws {
    let database = try open()
    let before = try database.snapshot()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    let wasThere = try before.exists("note")  // false
    let isThere = try database.snapshot().exists("note")  // true
    #expect(!wasThere && isThere)
  }

  @Test func `a transaction stores two documents or none`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.write { transaction in
      guard var note = try transaction.document("note") else { return }
      note["text"] = "Green tea"
      try transaction.put(note)
      try transaction.put(Document(id: "log", ["text": "The note was changed"]))
    }
    let documents = try database.snapshot().documents(["note", "log"])
    #expect(documents.map { $0?["text"] } == ["Green tea", "The note was changed"])
  }

  @Test func `a version is kept under a name`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    var printed: [String] = []
    func print(_ name: String, _ count: Int) { printed.append("\(name) \(count)") }
    try database.saveSnapshot(named: "before the import")
    for named in try database.namedSnapshots() { print(named.name, named.documentCount) }
    let before = try database.snapshot(named: "before the import")
    try database.write { try $0.delete("note") }
    #expect(printed == ["before the import 1"])
    #expect(try before.exists("note"))
  }

  @Test func `an error is caught by its code`() throws {
    let database = try open()
    var note = try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Coffee" }
    note["text"] = "Green tea"
    var printed: [String] = []
    func print(_ message: String, _ id: String) { printed.append(id) }
    do {
      try database.write { try $0.put(note) }
    } catch let error as DatabaseError where error.code == .conflict {
      print(error.message, error.documentID ?? "")
    }
    #expect(printed == ["note"])
    #expect(try database.snapshot().document("note")?["text"] == "Coffee")

    do {
      try database.write { try $0.put(note) }
    } catch DatabaseError.Code.conflict {
      try database.write { try $0.put(note, onConflict: .overwrite) }
    }
    #expect(try database.snapshot().document("note")?["text"] == "Green tea")
  }

  @Test func `new documents get IDs of the program's own`() throws {
    var configuration = disk.configuration()
    configuration.documentIDs = DocumentIDGenerator { "film:" + UUID().uuidString }
    let database = try Database(at: "/Films.divan", configuration: configuration)
    let film = try database.write { try $0.put(Document(["title": "Metropolis"])) }
    #expect(film.id.hasPrefix("film:") && film.id.count == 41)
  }

  // MARK: Maintenance

  @Test func `a store is measured and checked`() throws {
    let database = try open()
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    let statistics = try database.statistics
    print(statistics.documentCount, statistics.directorySize)
    if statistics.deadSize > statistics.liveSize { try database.compact() }
    #expect(statistics.documentCount == 1 && statistics.directorySize > 0)

    let report = try database.check()
    print(report.documentCount, report.isSound)
    for problem in report.problems { print(problem) }
    #expect(report.documentCount == 1 && report.isSound)
  }

  @Test func `the segments with dead bytes are listed`() throws {
    let database = try Database(at: "/Notes.divan", configuration: disk.configuration())
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    try database.update("note") { $0["text"] = "Coffee" }
    var printed: [String] = []
    func print(_ name: String, _: String, _ deadSize: Int, _: String, _ size: Int) {
      if deadSize < size { printed.append(name) }
    }
    for segment in try database.statistics.segments where segment.deadSize > 0 {
      print(segment.name, "has", segment.deadSize, "dead bytes of", segment.size)
    }
    #expect(printed.count == 1 && printed.allSatisfy { $0.hasSuffix(".segment") })
  }

  @Test func `events are written to a log, and metrics are exported`() throws {
    let log = Recorder<String>()
    var configuration = disk.configuration()
    configuration.eventHandler = DatabaseEvent.Handler { event in log.append(event.logLine) }
    let database = try Database(at: "/Notes.divan", configuration: configuration)
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    var lines: [String] = []
    for sample in database.metrics.samples {
      lines.append("divan_\(sample.name) \(sample.text)")
    }
    #expect(lines.contains("divan_documents 1"))
    try database.close()
    waitUntil { log.all.contains { $0.contains("opened") } }
  }
}
