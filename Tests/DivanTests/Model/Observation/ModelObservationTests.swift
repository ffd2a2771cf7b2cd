import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that observers of a model are notified of exactly the changes.
@MainActor
struct ModelObservationTests {
  private class Note: Model {
    @Persisted var text: String
    @Persisted var count: Int
    @Persisted var tags: [String]
    @Persisted var other: Note?
    @Persisted var others: [Note]
    var summary: String { "\(text) \(count)" }
    override class var documentType: String? { nil }
  }

  /// A subclass that is observable only through its superclass.
  private final class SubNote: Note {
    @Persisted var extra: Int
  }

  private final class Plain: Model {
    @Persisted var text: String
    override class var isObservable: Bool { false }
    override class var documentType: String? { nil }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  /// Returns whether an observer of `reading` is notified during `work`.
  private func isNotified(reading: () -> Void, by work: () throws -> Void) rethrows -> Bool {
    // The closure must be sendable, so it cannot capture a variable of this function.
    let notifications = Recorder<Int>()
    withObservationTracking(reading) { notifications.append(1) }
    try work()
    return !notifications.all.isEmpty
  }

  private func saved<M: Model>(_ type: M.Type) throws -> M {
    let model = M()
    try context.insert(model)
    try model.save()
    return model
  }

  @Test func `only observers of the changed property are notified`() throws {
    let note = try saved(Note.self)
    #expect(isNotified(reading: { _ = note.text }, by: { note.text = "x" }))
    #expect(!isNotified(reading: { _ = note.text }, by: { note.count = 1 }))
    #expect(isNotified(reading: { _ = note.summary }, by: { note.count = 2 }))
    #expect(isNotified(reading: { _ = note.tags }, by: { note.tags.append("x") }))
    #expect(!isNotified(reading: { _ = note.text }, by: { note.tags.append("y") }))
    #expect(isNotified(reading: { _ = note.other }, by: { note.other = note }))
    #expect(isNotified(reading: { _ = note.others }, by: { note.others.append(note) }))
  }

  @Test func `setting an equal value notifies no observer`() throws {
    let note = try saved(Note.self)
    #expect(!isNotified(reading: { _ = note.text }, by: { note.text = "" }))
    #expect(!isNotified(reading: { _ = note.other }, by: { note.other = nil }))
  }

  @Test func `changes to inherited and subclass properties notify observers`() throws {
    let note = try saved(SubNote.self)
    #expect(isNotified(reading: { _ = note.text }, by: { note.text = "x" }))
    #expect(isNotified(reading: { _ = note.extra }, by: { note.extra = 1 }))
    #expect(!isNotified(reading: { _ = note.text }, by: { note.extra = 2 }))
  }

  @Test func `a model of a class that is not observable notifies no observer`() throws {
    let plain = try saved(Plain.self)
    #expect(!isNotified(reading: { _ = plain.text }, by: { plain.text = "x" }))
    #expect(plain.observers == nil)
  }

  @Test func `a context with isObservable off notifies no observer`() throws {
    context.isObservable = false
    let note = try saved(Note.self)
    #expect(!isNotified(reading: { _ = note.text }, by: { note.text = "x" }))
    note.revert()
    #expect(!isNotified(reading: { _ = note.text }, by: { note.text = "y" }))
    #expect(note.observers == nil)
    try database.put("n", #"{"text": "stored"}"#)
    try context.refresh()
    let loaded = try #require(try context.model(Note.self, id: "n"))
    #expect(!isNotified(reading: { _ = loaded.text }, by: { loaded.text = "x" }))
    #expect(loaded.text == "x")
  }

  @Test func `changes to a model's metadata notify observers`() throws {
    let note = try saved(Note.self)
    #expect(isNotified(reading: { _ = note.needsSave }, by: { note.text = "x" }))
    #expect(!isNotified(reading: { _ = note.needsSave }, by: { note.text = "y" }))
    #expect(try isNotified(reading: { _ = note.needsSave }, by: { try note.save() }))
    #expect(try isNotified(reading: { _ = note.isDeleted }, by: { try note.delete() }))
    let new = Note(in: context)
    #expect(try isNotified(reading: { _ = new.isNew }, by: { try new.save() }))
    #expect(!isNotified(reading: { _ = new.text }, by: { _ = try? new.save() }))
  }

  @Test func `reverting notifies observers of the changed properties`() throws {
    let note = try saved(Note.self)
    note.text = "x"
    #expect(!isNotified(reading: { _ = note.count }, by: { note.revert() }))
    note.text = "x"
    #expect(isNotified(reading: { _ = note.text }, by: { note.revert() }))
    #expect(note.text == "")
  }

  @Test func `external changes notify observers of the properties that differ`() throws {
    try database.put("n", #"{"text": "a", "count": 1, "more": 1}"#)
    try context.refresh()
    let note = try #require(try context.model(Note.self, id: "n"))
    func change(_ json: String) throws {
      try database.put("n", json)
      try context.refresh()
    }
    let notifiesText = try isNotified(reading: { _ = note.text }) {
      try change(#"{"text": "b", "count": 1, "more": 1}"#)
    }
    #expect(notifiesText && note.text == "b")
    let notifiesCount = try isNotified(reading: { _ = note.count }) {
      try change(#"{"text": "c", "count": 1, "more": 1}"#)
    }
    #expect(!notifiesCount)
    let notifiesMore = try isNotified(reading: { _ = try? note.value(for: "more") }) {
      try change(#"{"text": "c", "count": 1, "more": 2}"#)
    }
    #expect(notifiesMore)
    // The local change stays, so the observer is not notified.
    note.text = "mine"
    let notifiesMine = try isNotified(reading: { _ = note.text }) {
      try change(#"{"text": "theirs", "count": 1, "more": 2}"#)
    }
    #expect(!notifiesMine && note.text == "mine")
    let notifiesDeletion = try isNotified(reading: { _ = note.isDeleted }) {
      _ = try database.write { try $0.delete("n") }
      try context.refresh()
    }
    #expect(notifiesDeletion)
    #expect(note.timeSinceExternalChange.map { $0 < .seconds(60) } == true)
  }

  @Test func `local and external changes to attachments notify observers`() throws {
    let note = try saved(Note.self)
    let attachment = Document.Attachment(contentType: "text/plain", [1])
    #expect(
      isNotified(reading: { _ = note.attachments }, by: { note.attachments["a"] = attachment }))
    #expect(!isNotified(reading: { _ = note.attachments }, by: { note.text = "x" }))
    try note.save()
    let notifies = try isNotified(reading: { _ = note.attachments }) {
      _ = try database.write { try $0.update(note.id) { $0.attachments["b"] = attachment } }
      try context.refresh()
    }
    #expect(notifies && note.attachments.count == 2)
  }

  @Test func `a sequence of observations delivers the last value`() async throws {
    let note = try saved(Note.self)
    var seen: [Int] = []
    let values = Observations { note.count }
    for await value in values {
      seen.append(value)
      if value == 3 { break }
      note.count += 1
    }
    #expect(seen.first == 0 && seen.last == 3)
  }
}

/// Tests of the updates that a context reports for external changes.
struct ModelUpdatesTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test func `external changes reach the models and are reported as updates`() async throws {
    let (a, b) = (Todo(in: context, id: "a"), Todo(in: context, id: "b"))
    try await context.save()
    var updates = context.updates.makeAsyncIterator()
    try database.put("a", #"{"text": "changed"}"#)
    #expect(try await updates.next()?.changed == [a])
    #expect(a.text == "changed")
    // Changes that no model shows are skipped.
    try database.put("other", "{}")
    try database.remove("b")
    #expect(try await updates.next()?.deleted == [b])
    #expect(b.isDeleted)
  }

  @Test func `external changes merged in by a save are reported as updates too`() async throws {
    let (a, b) = (Todo(in: context, id: "a"), Todo(in: context, id: "b"))
    try await context.save()
    var updates = context.updates.makeAsyncIterator()
    try database.put("a", #"{"text": "elsewhere"}"#)
    b.text = "here"
    try await b.save()
    #expect(a.text == "elsewhere")
    let update = try await updates.next()
    #expect(update?.changed == [a] && update?.deleted == [])
  }

  @Test func `the sequence of updates ends with its context and throws if the database is closed`()
    async throws
  {
    var other: ModelContext? = database.makeContext()
    let todo = other.map { Todo(in: $0, id: "a") }
    try await todo?.save()
    var updates = try #require(other?.updates.makeAsyncIterator())
    other = nil
    #expect(try await updates.next() == nil)
    _ = Todo(in: context, id: "b")
    var more = context.updates.makeAsyncIterator()
    try await database.close()
    let error = await #expect(throws: DatabaseError.self) { _ = try await more.next() }
    #expect(error?.code == .closed)
  }
}
