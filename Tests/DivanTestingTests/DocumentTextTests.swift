import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of documents as text, and of comparing it.
struct DocumentTextTests {
  private func makeDatabase() throws -> Database {
    try Database.inMemory(
      fixtures: .jsonLines(
        """
        {"_id": "lisbon", "title": "Lisbon", "nights": 4, "tags": []}
        {"_id": "elbe", "title": "Along the Elbe", "stops": [{"place": "Dresden", "nights": 2}, 7], "tags": ["rail", "two\\nlines"], "empty": {}, "paid": null, "price": 12.5, "odd name": true}
        """))
  }

  @Test func `a text has a line for each property, and is sorted`() throws {
    let text = try DocumentText(of: makeDatabase())
    #expect(
      text == #"""
        elbe
          empty: {}
          "odd name": true
          paid: null
          price: 12.5
          stops:
            -
              nights: 2
              place: "Dresden"
            - 7
          tags:
            - "rail"
            - "two\nlines"
          title: "Along the Elbe"

        lisbon
          nights: 4
          tags: []
          title: "Lisbon"
        """#)
    #expect("\(text)" == text.text)
  }

  @Test func `the history of the documents makes no difference, unless revisions are shown`() throws
  {
    let (first, second) = (try makeDatabase(), try makeDatabase())
    try second.update("elbe") { $0["nights"] = 9 }
    #expect(try DocumentText(of: first) != DocumentText(of: second))
    try second.update("elbe") { $0["nights"] = nil }
    #expect(try DocumentText(of: first) == DocumentText(of: second))
    let shown = try DocumentText(of: second, showsRevisions: true)
    #expect(try shown != DocumentText(of: first, showsRevisions: true))
    #expect(shown.text.contains("\n  _rev: 3-"))
  }

  @Test func `properties are left out, and a query chooses the documents`() throws {
    let snapshot = try makeDatabase().snapshot()
    let short = Query<Document>().filter { $0["nights"] > 3 }.sorted(by: "title")
    let text = try DocumentText(of: short, in: snapshot, leavingOut: ["tags", "title"])
    #expect(text == "lisbon\n  nights: 4\n")
    let both = try DocumentText(snapshot.find(Query<Document>()).reversed())
    #expect(try both == DocumentText(of: snapshot))
    #expect(DocumentText([]).text.isEmpty)
  }

  @Test func `attachments are shown by type, size and digest, and odd IDs as JSON`() throws {
    var document = Document(id: "a b\n", ["n": 1])
    document.attachments["photo.jpg"] = Document.Attachment(
      contentType: "image/jpeg", Data([1, 2]))
    let database = try Database.inMemory(fixtures: .documents(document))
    let digest = try #require(document.attachments["photo.jpg"]?.digest)
    #expect(
      try DocumentText(of: database).text == #"""
        "a b\n"
          n: 1
          _attachments:
            photo.jpg: image/jpeg, 2 bytes, \#(digest)
        """#)
  }

  @Test func `a difference shows the lines, with their document`() throws {
    let database = try makeDatabase()
    let expected = try DocumentText(of: database)
    try database.update("elbe") { $0["title"] = "Elbe" }
    try database.write { _ = try $0.put(Document(id: "rome", ["nights": 1])) }
    let actual = try DocumentText(of: database)
    let difference = try #require(actual.difference(from: expected))
    #expect(difference.missingCount == 1 && difference.unexpectedCount == 4)
    #expect(
      difference.description == #"""
        - expected, + actual
          elbe
          …
              - "rail"
              - "two\nlines"
        -   title: "Along the Elbe"
        +   title: "Elbe"

          lisbon
          …
            tags: []
            title: "Lisbon"
        +
        + rome
        +   nights: 1
        """#)
    #expect(expected.difference(from: expected) == nil)
    let error = #expect(throws: DocumentTextFailure.self) { try actual.requireEqual(to: expected) }
    #expect(error == .differs(difference, file: nil))
    #expect(error?.description.hasSuffix(difference.description) == true)
    try actual.requireEqual(to: actual)
  }

  @Test func `random texts differ in the lines that a difference shows`() {
    var random = SeededGenerator(seed: 3)
    for round in 0..<200 {
      func text() -> [String] { (0..<Int(random.next() % 7)).map { _ in "\(random.next() % 4)" } }
      let (old, new) = (text(), text())
      let (a, b) = (old.joined(separator: "\n"), new.joined(separator: "\n"))
      let difference = LineDifference(from: a, to: b)
      #expect((difference == nil) == (old == new), "seed 3, round \(round)")
      // All lines are headings here, so those around a difference are shown, and no others.
      let rows = difference?.description.split(separator: "\n").dropFirst() ?? []
      let missing = rows.filter { $0.hasPrefix("-") }.map { String($0.dropFirst(2)) }
      let unexpected = rows.filter { $0.hasPrefix("+") }.map { String($0.dropFirst(2)) }
      var left = old
      for line in missing { left.remove(at: left.firstIndex(of: line) ?? 0) }
      #expect((left + unexpected).sorted() == new.sorted(), "seed 3, round \(round)")
      #expect(difference?.missingCount ?? 0 == missing.count)
      #expect(difference?.unexpectedCount ?? 0 == unexpected.count)
    }
  }

  @Test func `a long difference is cut`() throws {
    let long = (0..<5000).map { "line \($0)" }.joined(separator: "\n")
    let difference = try #require(LineDifference(from: "", to: long))
    #expect(difference.unexpectedCount == 5000)
    #expect(difference.description.split(separator: "\n").count == 401)
    #expect(difference.description.hasSuffix("… and 4601 more lines"))
  }

  @Test func `a text is compared with a file, and recorded only on request`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.path + "/Tests/TripTests.swift"
    let file = folder.path + "/Tests/Expected/trips.txt"
    let database = try makeDatabase()
    func compare(_ recording: TextRecording = .never) throws {
      try DocumentText(of: database)
        .requireEqual(toFile: "Expected/trips.txt", recording: recording, source: source)
    }
    let missing = #expect(throws: DocumentTextFailure.self) { try compare() }
    #expect(missing == .missing(file: file) && !FileManager.default.fileExists(atPath: file))
    let recorded = #expect(throws: DocumentTextFailure.self) { try compare(.ifMissing) }
    #expect(recorded == .recorded(file: file))
    try compare()
    try compare(.ifMissing)
    try compare(.always)
    let first = try String(contentsOfFile: file, encoding: .utf8)
    #expect(first.hasSuffix("\"Lisbon\"\n"))

    try database.update("lisbon") { $0["nights"] = 5 }
    for recording in [TextRecording.never, .ifMissing] {
      let error = #expect(throws: DocumentTextFailure.self) { try compare(recording) }
      guard case .differs(let difference, file)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(difference.description.contains("-   nights: 4\n+   nights: 5"))
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == first)
    #expect(throws: DocumentTextFailure.recorded(file: file)) { try compare(.always) }
    try compare()
    // The ends of lines of another system make no difference.
    let converted = try String(contentsOfFile: file, encoding: .utf8)
      .replacing("\n", with: "\r\n")
    try Data(converted.utf8).write(to: URL(filePath: file))
    try compare()
  }
}
