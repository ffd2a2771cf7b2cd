import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests that observers of a model are notified of exactly the changes.
@MainActor
struct ModelObservationTests {
  private class Note: Model, Observable {
    @Persisted var text: String
    @Persisted var count: Int
    @Persisted var tags: [String]
    @Persisted var other: Note?
    @Persisted var others: [Note]
    var summary: String { "\(text) \(count)" }
  }

  /// A subclass that is observable only through its superclass.
  private final class SubNote: Note {
    @Persisted var extra: Int
  }

  private final class Plain: Model {
    @Persisted var text: String
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  /// Returns whether an observer of `reading` is notified during `work`.
  private func isTold(reading: () -> Void, by work: () throws -> Void) rethrows -> Bool {
    // The closure must be sendable, so it cannot capture a variable of this function.
    let told = Recorder<Int>()
    withObservationTracking(reading) { told.append(1) }
    try work()
    return !told.all.isEmpty
  }

  private func saved<M: Model>(_ type: M.Type) throws -> M {
    let model = M()
    try context.insert(model)
    try model.save()
    return model
  }

  @Test func `the property that changes is told of, and no other`() throws {
    let note = try saved(Note.self)
    #expect(isTold(reading: { _ = note.text }, by: { note.text = "x" }))
    #expect(!isTold(reading: { _ = note.text }, by: { note.count = 1 }))
    #expect(isTold(reading: { _ = note.summary }, by: { note.count = 2 }))
    #expect(isTold(reading: { _ = note.tags }, by: { note.tags.append("x") }))
    #expect(!isTold(reading: { _ = note.text }, by: { note.tags.append("y") }))
    #expect(isTold(reading: { _ = note.other }, by: { note.other = note }))
    #expect(isTold(reading: { _ = note.others }, by: { note.others.append(note) }))
  }

  @Test func `setting an equal value is no change`() throws {
    let note = try saved(Note.self)
    #expect(!isTold(reading: { _ = note.text }, by: { note.text = "" }))
    #expect(!isTold(reading: { _ = note.other }, by: { note.other = nil }))
  }

  @Test func `inherited properties and those of subclasses are told of`() throws {
    let note = try saved(SubNote.self)
    #expect(isTold(reading: { _ = note.text }, by: { note.text = "x" }))
    #expect(isTold(reading: { _ = note.extra }, by: { note.extra = 1 }))
    #expect(!isTold(reading: { _ = note.text }, by: { note.extra = 2 }))
  }

  @Test func `a model of a class that is not observable tells nobody`() throws {
    let plain = try saved(Plain.self)
    #expect(!isTold(reading: { _ = plain.text }, by: { plain.text = "x" }))
    #expect(plain.observers == nil)
  }

  @Test func `in a context for bulk work nobody is told of anything`() throws {
    context.isObservable = false
    let note = try saved(Note.self)
    #expect(!isTold(reading: { _ = note.text }, by: { note.text = "x" }))
    note.revert()
    #expect(!isTold(reading: { _ = note.text }, by: { note.text = "y" }))
    #expect(note.observers == nil)
    try database.put("n", #"{"text": "stored"}"#)
    try context.refresh()
    let loaded = try #require(try context.model(Note.self, "n"))
    #expect(!isTold(reading: { _ = loaded.text }, by: { loaded.text = "x" }))
    #expect(loaded.text == "x")
  }

  @Test func `what the model needs is told of like a property`() throws {
    let note = try saved(Note.self)
    #expect(isTold(reading: { _ = note.needsSave }, by: { note.text = "x" }))
    #expect(!isTold(reading: { _ = note.needsSave }, by: { note.text = "y" }))
    #expect(try isTold(reading: { _ = note.needsSave }, by: { try note.save() }))
    #expect(try isTold(reading: { _ = note.isDeleted }, by: { try note.delete() }))
    let new = Note(in: context)
    #expect(try isTold(reading: { _ = new.isNew }, by: { try new.save() }))
    #expect(!isTold(reading: { _ = new.text }, by: { _ = try? new.save() }))
  }

  @Test func `reverting tells of what was changed`() throws {
    let note = try saved(Note.self)
    note.text = "x"
    #expect(!isTold(reading: { _ = note.count }, by: { note.revert() }))
    note.text = "x"
    #expect(isTold(reading: { _ = note.text }, by: { note.revert() }))
    #expect(note.text == "")
  }

  @Test func `what changes elsewhere is told of, and nothing that is the same`() throws {
    try database.put("n", #"{"text": "a", "count": 1, "more": 1}"#)
    try context.refresh()
    let note = try #require(try context.model(Note.self, "n"))
    func change(_ json: String) throws {
      try database.put("n", json)
      try context.refresh()
    }
    let tellsText = try isTold(reading: { _ = note.text }) {
      try change(#"{"text": "b", "count": 1, "more": 1}"#)
    }
    #expect(tellsText && note.text == "b")
    let tellsCount = try isTold(reading: { _ = note.count }) {
      try change(#"{"text": "c", "count": 1, "more": 1}"#)
    }
    #expect(!tellsCount)
    let tellsMore = try isTold(reading: { _ = try? note.value(for: "more") }) {
      try change(#"{"text": "c", "count": 1, "more": 2}"#)
    }
    #expect(tellsMore)
    // The local change stays, so the observer is not notified.
    note.text = "mine"
    let tellsMine = try isTold(reading: { _ = note.text }) {
      try change(#"{"text": "theirs", "count": 1, "more": 2}"#)
    }
    #expect(!tellsMine && note.text == "mine")
    let tellsDeletion = try isTold(reading: { _ = note.isDeleted }) {
      _ = try database.write { try $0.delete(id: "n") }
      try context.refresh()
    }
    #expect(tellsDeletion)
    #expect(note.timeSinceExternallyChanged.map { $0 < .seconds(60) } == true)
  }

  @Test func `attachments are told of, here and elsewhere`() throws {
    let note = try saved(Note.self)
    let attachment = Document.Attachment(contentType: "text/plain", [1])
    #expect(isTold(reading: { _ = note.attachments }, by: { note.attachments["a"] = attachment }))
    #expect(!isTold(reading: { _ = note.attachments }, by: { note.text = "x" }))
    try note.save()
    let tells = try isTold(reading: { _ = note.attachments }) {
      _ = try database.write { try $0.update(note.id) { $0.attachments["b"] = attachment } }
      try context.refresh()
    }
    #expect(tells && note.attachments.count == 2)
  }

  @Test func `a sequence of observed values ends with the last one`() async throws {
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

/// Tests of a context that follows changes made elsewhere.
struct ModelUpdatesTests {
  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  @Test func `changes elsewhere reach the models, and are announced`() async throws {
    let (a, b) = (Todo(in: context, id: "a"), Todo(in: context, id: "b"))
    try context.saveAllModels()
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

  @Test func `what came with saving is announced, too`() async throws {
    let (a, b) = (Todo(in: context, id: "a"), Todo(in: context, id: "b"))
    try context.saveAllModels()
    var updates = context.updates.makeAsyncIterator()
    try database.put("a", #"{"text": "elsewhere"}"#)
    b.text = "here"
    try b.save()
    #expect(a.text == "elsewhere")
    let update = try await updates.next()
    #expect(update?.changed == [a] && update?.deleted == [])
  }

  @Test func `it ends with the context, and throws when the database is closed`() async throws {
    var other: ModelContext? = database.makeContext()
    let todo = other.map { Todo(in: $0, id: "a") }
    try todo?.save()
    var updates = try #require(other?.updates.makeAsyncIterator())
    other = nil
    #expect(try await updates.next() == nil)
    _ = Todo(in: context, id: "b")
    var more = context.updates.makeAsyncIterator()
    try database.close()
    let error = await #expect(throws: DatabaseError.self) { _ = try await more.next() }
    #expect(error?.code == .closed)
  }
}
