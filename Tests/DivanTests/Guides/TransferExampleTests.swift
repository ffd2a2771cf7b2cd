import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the examples of the types for import and export, and of those for tests.
struct TransferExampleTests {
  // MARK: JSON Lines

  @Test func `lines are imported, and bad ones are reported`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.jsonl"
    try Data("{\"code\":\"m\",\"title\":\"M\"}\n?\n".utf8).write(to: URL(filePath: path))
    let database = try Database.inMemory()
    var printed: [String] = []
    func print(_ line: Int, _ message: String) { printed.append("\(line)") }
    let options = JSONLines.ImportOptions(
      onExisting: .skip, onInvalidLine: .skip, idProperty: "code")
    try database.importJSONLines(from: path, options: options)
    #expect(try database.snapshot().document("m")?["title"] == "M")
    do {
      let report = try database.importJSONLines(from: path, options: options)
      for error in report.errors { print(error.line ?? 0, error.message) }
      #expect(printed == ["2"] && report.storedCount == 0 && report.rejectedCount == 1)
    }
  }

  @Test func `properties alone are exported, with the progress`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Films.jsonl"
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "m", ["title": "M"])) }
    let options = JSONLines.ExportOptions(content: [], order: .bySequence)
    try database.exportJSONLines(to: path, options: options)
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    #expect(text.hasPrefix("{\"_id\":\"m\"") && text.hasSuffix("\"title\":\"M\"}\n"))

    let file = directory.path + "/All.jsonl"
    let total = try database.exportJSONLines(to: file) { progress in
      print(progress.documentCount, "of", progress.totalDocumentCount ?? 0)
    }
    #expect(total.documentCount == 1 && total.byteCount > 0)
  }

  @Test func `an export leaves out a part, or has the order of the changes`() throws {
    let directory = try TemporaryDirectory()
    let (path, file) = (directory.path + "/Films.jsonl", directory.path + "/Changes.jsonl")
    let database = try Database.inMemory()
    for id in ["n", "m"] { try database.write { try $0.put(Document(id: id)) } }
    try database.write { try $0.putLocal("settings", ["sorted": true]) }

    var options = JSONLines.ExportOptions()
    options.content.remove(.localDocuments)
    try database.exportJSONLines(to: path, options: options)
    let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
    #expect(text.hasPrefix("{\"_id\":\"m\"") && !text.contains("settings"))

    let byChange = JSONLines.ExportOptions(order: .bySequence)
    try database.exportJSONLines(to: file, options: byChange)
    let all = try String(contentsOf: URL(filePath: file), encoding: .utf8)
    let lines = all.split(separator: "\n").filter { !$0.contains("settings") }
    #expect(lines.count == 2 && lines[0].hasPrefix("{\"_id\":\"n\""))
    #expect(all.contains("settings"))
  }

  @Test func `an export is sent in pieces`() async throws {
    let database = try Database.inMemory()
    _ = try await database.write { try $0.put(Document(id: "m", ["title": "M"])) }
    var data = Data()
    for try await piece in try database.snapshot().jsonLines() {
      data.append(piece)
    }
    #expect(String(decoding: data, as: UTF8.self).hasPrefix("{\"_id\":\"m\""))

    let all = data
    data = Data()
    var pieces = try database.snapshot().jsonLines().makeAsyncIterator()
    while let piece = try await pieces.next() { data.append(piece) }
    #expect(data == all)
  }

  // MARK: Tests of programs

  @Test func `the documents that a migration changes are listed`() throws {
    let schema = Schema(
      migrations: [
        Migration(id: "nights are numbers") { transaction in
          try transaction.update("elbe") { $0["nights"] = 3 }
        }
      ])
    let lines = "{\"_id\":\"elbe\",\"nights\":\"3\"}\n{\"_id\":\"rome\",\"nights\":2}\n"
    var printed: [String] = []
    func print(_ id: String, _ before: Value, _ after: Value) {
      printed.append("\(id) \(before.json) \(after.json)")
    }
    let trial = try MigrationTrial(jsonLines: lines, schema: schema)
    for change in trial.changes {
      print(change.id, change.before?["nights"] ?? .null, change.after?["nights"] ?? .null)
    }
    #expect(printed == ["elbe \"3\" 3"])
  }

  @Test func `an expected text is recorded`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/trips.txt"
    let database = try Database.inMemory()
    try database.write { try $0.put(Document(id: "elbe", ["nights": 3])) }
    #expect(throws: DocumentTextFailure.recorded(file: path)) {
      try DocumentText(of: database).requireEqual(toFile: path, recording: .ifMissing)
    }
    try DocumentText(of: database).requireEqual(toFile: path)
  }

  @Test func `a seed gives the same numbers in every run`() {
    var generator = SeededGenerator(seed: 7)
    let numbers = (1...10).map { _ in Int.random(in: 1...6, using: &generator) }
    var again = SeededGenerator(seed: 7)
    #expect(numbers == (1...10).map { _ in Int.random(in: 1...6, using: &again) })
  }

  // MARK: Simulated disks

  private func open(_ disk: SimulatedDisk) throws -> Database {
    try Database(at: "/Notes.divan", configuration: disk.configuration())
  }

  @Test func `a committed document outlives any loss`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    try database.write { try $0.put(Document(id: "note", ["text": "Tea"])) }
    for loss in SimulatedDisk.Loss.variety(seed: 7) {
      let after = try open(disk.restarted(loss))
      #expect(try after.snapshot().exists("note"))
    }
    try database.close()
  }

  @Test func `a failing disk makes writing throw`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    let note = Document(id: "note", ["text": "Tea"])
    disk.fail(.write, with: .inputOutput, isLasting: true)
    #expect(throws: DatabaseError.self) { try database.write { _ = try $0.put(note) } }
    disk.stopFailing()
    #expect(try !open(disk.restarted(.strict)).snapshot().exists("note"))
  }

  @Test func `a lying disk leaves changes unflushed`() throws {
    let disk = SimulatedDisk(seed: 1)
    let database = try open(disk)
    let note = Document(id: "note", ["text": "Tea"])
    disk.lie(.ignoredFlush, isLasting: true)
    try database.write { try $0.put(note) }
    let count = disk.unflushedChangeCount  // above 0: the write was not flushed
    #expect(count > 0)
  }

  @Test func `trials say how much was tried`() throws {
    let trials = try SimulatedDisk(seed: 1).forEachCrash { disk in
      try open(disk).write { _ = try $0.put(Document(id: "note")) }
    } check: { disk in
      try #require(open(disk).check().isSound)
    }
    print(trials.runCount, "runs,", trials.checkCount, "checks")
    #expect(trials.runCount > 0 && trials.checkCount >= trials.runCount)
  }
}
