import Divan
import DivanTesting
import Foundation
import TestSupport
import Testing

/// Tests that run the code examples of the page about suspension and sharing.
@Suite(.timeLimit(.minutes(5)))
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
    var isUnsaved = false
    do {
      try note.save()
    } catch DatabaseError.Code.suspended {
      // The note stays unsaved. Save it after `resume`.
      isUnsaved = true
    }
    #expect(isUnsaved && database.isSuspended)
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

  @Test func `a reader is refreshed, or follows by itself`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/Notes.divan"
    let writer = try Database(at: path)
    try await writer.write { try _ = $0.replace("note:1", with: ["type": "note"]) }
    var configuration = Configuration()
    configuration.isReadOnly = true
    let reader = try Database(at: path, configuration: configuration)
    let before = try reader.snapshot()
    try await writer.write { try _ = $0.replace("note:2", with: ["type": "note"]) }
    var text = ""
    if try await reader.refresh() {
      let count = try reader.snapshot().count
      text = "\(count) documents, and \(try before.count) before"
    }
    #expect(text == "2 documents, and 1 before")

    configuration.followsWriter = .automatically(every: .milliseconds(5))
    let follower = try Database(at: path, configuration: configuration)
    let query = Query<Document>().filter { $0["type"] == "note" }
    var shown: [Int] = []
    for try await notes in follower.liveResults(of: query) {
      shown.append(notes.count)
      if notes.count == 3 { break }
      try await writer.write { try _ = $0.replace("note:3", with: ["type": "note"]) }
    }
    #expect(shown == [2, 3])
  }
}
