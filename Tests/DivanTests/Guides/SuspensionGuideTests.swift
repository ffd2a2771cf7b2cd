import Divan
import DivanTesting
import Foundation
import ProofKit
import TestSupport
import Testing

/// Tests that run the code examples of the page about suspension and sharing.
@Suite(.timeLimit(.minutes(30)))
struct SuspensionGuideTests {
  final class Note: Model {
    override class var documentType: String? { "note" }
    @Persisted var text = ""
  }

  /// The part of an app that is told when it goes to the background.
  struct App {
    let database: Database

    func sceneDidChange(isActive: Bool) throws {
      if isActive {
        try database.resume()
      } else {
        try database.suspend()
      }
    }
  }

  @Test func `an app suspends its database in the background, and an extension writes`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let database = try Database(at: path)
    let app = App(database: database)
    let context = database.makeContext()
    let note = Note(in: context, id: "note:1")
    note.text = "Buy milk"
    try note.save()
    try app.sceneDidChange(isActive: false)
    note.text = "Buy milk and bread"
    do {
      try note.save()
    } catch DatabaseError.Code.suspended {
      // The note stays unsaved. Save it after `resume`.
    }
    #expect(note.needsSave && database.isSuspended)
    let inExtension = try Database(at: path)
    try inExtension.write {
      try _ = $0.replace("note:2", with: ["type": "note", "text": "Call Ada"])
    }
    try inExtension.close()
    try app.sceneDidChange(isActive: true)
    try note.save()
    #expect(try database.snapshot().count == 2)
    #expect(try database.snapshot().document("note:1")?["text"] == "Buy milk and bread")
  }

  @Test func `a reader is refreshed`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let writer = try Database(at: path)
    try writer.write { try _ = $0.replace("note:1", with: ["type": "note"]) }
    var texts: [String] = []
    func print(_ text: String) { texts.append(text) }

    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    let before = try reader.snapshot()
    try writer.write { try _ = $0.replace("note:2", with: ["type": "note"]) }
    if try reader.refresh() {
      let count = try reader.snapshot().count
      print("\(count) documents, and \(try before.count) before")
    }
    #expect(texts == ["2 documents, and 1 before"])
  }

  @Test func `a reader follows by itself`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let writer = try Database(at: path)
    try await writer.write { try _ = $0.replace("note:1", with: ["type": "note"]) }
    let query = Query<Document>().filter { $0["type"] == "note" }
    var configuration = Configuration()
    configuration.isReadOnly = true
    let shown = Recorder<Int>()
    func show(_ notes: [Document]) throws {
      shown.append(notes.count)
      guard notes.count < 3 else { throw CancellationError() }
      try writer.write { try _ = $0.replace("note:\(notes.count + 1)", with: ["type": "note"]) }
    }

    await #expect(throws: CancellationError.self) {
      configuration.followsWriter = .automatically(every: .milliseconds(500))
      let follower = try Database(at: path, configuration: configuration)
      for try await notes in follower.liveResults(of: query) { try show(Array(notes)) }
    }
    #expect(shown.all == [1, 2, 3])
  }
}
