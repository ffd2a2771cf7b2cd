import DivanLog
import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of models that have state of their own and mark that they need to be saved.
@MainActor
struct ModelMarkTests {
  /// A model that keeps its lines as an array and writes them into one property when it is saved.
  private final class Page: Model, Observable {
    @Persisted var text: String
    @Persisted var size = 0
    var lines: [String] = [] { didSet { markNeedsSave() } }
    var notes: [String] = []
    var problem: String?
    var whenSaved: () -> Void = {}
    var afterSaving: (Page) -> Void = { _ in }

    override func willSave(_ changedProperties: [String]) {
      notes.append("will save [\(changedProperties.joined(separator: " "))]")
      text = lines.joined(separator: "\n")
      whenSaved()
    }
    override func validate(_ validation: inout ModelValidation) {
      notes.append("validated")
      if let problem { validation.fail(problem) }
    }
    override func didSave() {
      notes.append("saved")
      afterSaving(self)
    }

    func takeNotes() -> [String] {
      defer { notes = [] }
      return notes
    }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
  }

  private func savedPage(_ id: String = "a") throws -> Page {
    let page = Page(in: context, id: id)
    try page.save()
    _ = page.takeNotes()
    return page
  }

  /// Yields to other tasks until a condition holds, for ten seconds at most.
  private func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<2000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it did not happen within ten seconds")
  }

  private func isTold(reading: () -> Void, by work: () throws -> Void) rethrows -> Bool {
    let told = Recorder<Int>()
    withObservationTracking(reading) { told.append(1) }
    try work()
    return !told.all.isEmpty
  }

  // MARK: Marking

  @Test func `a marked model writes its own state into properties when it is saved`() throws {
    let page = try savedPage()
    page.lines = ["x", "y"]
    #expect(page.needsSave && page.changedProperties == [] && page.text == "")
    #expect(context.unsavedModels == [page])
    try page.save()
    #expect(page.takeNotes() == ["will save []", "validated", "saved"])
    #expect(try database.json("a") == #"{"size":0,"text":"x\ny"}"#)
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
  }

  @Test func `saving several models, or all, saves marked ones`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    (a.lines, b.lines) = (["x"], ["y"])
    try context.saveModels([a])
    #expect(context.unsavedModels == [b])
    try context.saveAllModels()
    #expect(try database.json("b") == #"{"size":0,"text":"y"}"#)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `where nothing differs when a marked model is saved, nothing is stored`() throws {
    let page = try savedPage()
    let sequence = try database.snapshot().sequence
    let revision = try page.revision
    page.markNeedsSave()
    try page.save()
    #expect(page.takeNotes() == ["will save []"])
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
    #expect(try database.snapshot().sequence == sequence && page.revision == revision)
    // The model is clean, and its hook is not called again.
    try context.saveAllModels()
    #expect(page.takeNotes() == [])
  }

  @Test func `one marked model without changes goes with others that are stored`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.markNeedsSave()
    b.lines = ["y"]
    try context.saveAllModels()
    #expect(a.takeNotes() == ["will save []"])
    #expect(b.takeNotes() == ["will save []", "validated", "saved"])
    #expect(context.unsavedModels.isEmpty && !a.needsSave)
  }

  @Test func `a marked model that cannot be saved stays marked, and so do those with it`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.markNeedsSave()
    b.lines = ["y"]
    b.problem = "it is wrong"
    #expect(code { try context.saveAllModels() } == .invalidModel)
    #expect(a.needsSave && b.needsSave && context.unsavedModels == [a, b])
    b.problem = nil
    (a.notes, b.notes) = ([], [])
    try context.saveAllModels()
    #expect(a.takeNotes() == ["will save []"])
    #expect(b.takeNotes() == ["will save [text]", "validated", "saved"])
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `reverting takes the mark away`() throws {
    let page = try savedPage()
    page.markNeedsSave()
    page.revert()
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
    try page.save()
    #expect(page.takeNotes() == [])
  }

  @Test func `taking back a change of something undeclared leaves the mark`() throws {
    let page = try savedPage()
    page.markNeedsSave()
    try page.setValue(1, for: "more")
    try page.setValue(nil, for: "more")
    #expect(page.needsSave && context.unsavedModels == [page])
    #expect(page.changedProperties == [])
  }

  @Test func `what other models' hooks mark after a model was asked is for the next time`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.lines = ["x"]
    b.lines = ["y"]
    b.whenSaved = { a.lines.append("from b") }
    try context.saveAllModels()
    #expect(context.unsavedModels == [a] && a.needsSave)
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
    b.whenSaved = {}
    try context.saveAllModels()
    #expect(try database.json("a") == #"{"size":0,"text":"x\nfrom b"}"#)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `a model that marks itself while it is asked is not saved again and again`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    page.whenSaved = { [unowned page] in page.markNeedsSave() }
    try context.saveAllModels()
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
  }

  @Test func `a mark that is set when a model was saved is for the next time`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    page.afterSaving = { if $0.lines.count == 1 { $0.lines.append("y") } }
    try context.saveAllModels()
    #expect(page.needsSave && context.unsavedModels == [page])
    try context.saveAllModels()
    #expect(try database.json("a") == #"{"size":0,"text":"x\ny"}"#)
    #expect(!page.needsSave)
  }

  @Test func `a mark is nothing to save of a deleted model, and counts when that is there again`()
    throws
  {
    context.undoLimit = 1
    let page = try savedPage()
    page.lines = ["x"]
    try page.delete()
    page.markNeedsSave()
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
    try page.save()
    #expect(page.takeNotes() == [])
    try context.undo()
    #expect(page.needsSave && context.unsavedModels == [page])
    try page.save()
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
  }

  @Test func `a model that is marked in no context is saved when it has come into one`() throws {
    let page = try savedPage()
    let copy = try page.detachedCopy()
    // The copy does not contain the model's own state.
    #expect(!copy.needsSave)
    try database.remove("a")
    try database.put("a", #"{"text": ""}"#)
    let other = database.makeContext()
    copy.lines = ["x"]
    try other.insert(copy)
    #expect(other.unsavedModels == [copy])
    try other.saveAllModels()
    #expect(try database.snapshot().get("a")?["text"] == "x")
  }

  @Test func `a marked model merges with what was changed elsewhere`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    try database.put("a", #"{"text": "", "size": 7}"#)
    try page.save()
    #expect(page.size == 7 && page.text == "x")
    #expect(try database.json("a") == #"{"size":7,"text":"x"}"#)
  }

  @Test func `what a nested transaction took back of a marked model is unsaved again`() throws {
    struct Stop: Error {}
    _ = try savedPage()
    try database.write { transaction in
      let page = try #require(try transaction.models.model(Page.self, "a"))
      page.lines = ["x"]
      #expect(throws: Stop.self) {
        try transaction.nested {
          try page.save()
          #expect(!page.needsSave)
          throw Stop()
        }
      }
      #expect(page.needsSave && page.text == "x")
      try page.save()
    }
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
  }

  @Test func `a context that saves by itself saves marked models`() async throws {
    let context = database.makeContext(
      autosavingAfter: .milliseconds(5), isolation: MainActor.shared)
    let page = Page(in: context, id: "a")
    try page.save()
    page.lines = ["x"]
    try await wait { !page.needsSave }
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
    // A marked model without changes is also clean after its hook was called.
    page.markNeedsSave()
    _ = page.takeNotes()
    try await wait { !page.needsSave }
    #expect(page.takeNotes() == ["will save []"])
  }

  @Test func `a model that could not be saved by itself is tried again when it is marked`()
    async throws
  {
    let context = context
    let page = try savedPage()
    page.problem = "it is wrong"
    page.lines = ["x"]
    var failures = 0
    let saving = Task { await context.autosave(after: .seconds(20)) { _ in failures += 1 } }
    saving.cancel()
    await saving.value
    #expect(failures > 0 && page.hasFailedToSave && page.needsSave)
    page.problem = nil
    page.markNeedsSave()
    #expect(!page.hasFailedToSave)
    try context.saveAllModels()
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
  }

  @Test func `closing saves marked models`() throws {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    let database = try Database(at: "/store.divan", configuration: configuration)
    let context = database.makeContext(
      autosavingAfter: .seconds(1000), isolation: MainActor.shared)
    let page = Page(in: context, id: "a")
    try page.save()
    page.lines = ["x"]
    try database.close()
    let reopened = try Database(at: "/store.divan", configuration: configuration)
    #expect(try reopened.json("a") == #"{"size":0,"text":"x"}"#)
    try reopened.close()
  }

  @Test func `observers of what a model needs are told when it is marked, and when that has gone`()
    throws
  {
    let page = try savedPage()
    #expect(isTold(reading: { _ = page.needsSave }, by: { page.markNeedsSave() }))
    #expect(!isTold(reading: { _ = page.needsSave }, by: { page.markNeedsSave() }))
    #expect(!isTold(reading: { _ = page.text }, by: { page.markNeedsSave() }))
    #expect(try isTold(reading: { _ = page.needsSave }, by: { try page.save() }))
    page.markNeedsSave()
    #expect(isTold(reading: { _ = page.needsSave }, by: { page.revert() }))
  }

  // MARK: Changed elsewhere

  @Test func `a model can be marked as if it had just been changed elsewhere`() throws {
    let page = try savedPage()
    #expect(page.timeSinceExternallyChanged == nil)
    #expect(
      isTold(
        reading: { _ = page.timeSinceExternallyChanged }, by: { page.markExternallyChanged() }))
    let first = try #require(page.timeSinceExternallyChanged)
    #expect(first >= .zero && first < .seconds(60))
    #expect(!page.needsSave && page.changedProperties == [])
    while try #require(page.timeSinceExternallyChanged) < .milliseconds(20) {}
    page.markExternallyChanged()
    #expect(try #require(page.timeSinceExternallyChanged) < .milliseconds(20))
  }

  @Test func `observers of the time since a change elsewhere are told when it begins again`() throws
  {
    let page = try savedPage()
    #expect(!isTold(reading: { _ = page.timeSinceExternallyChanged }, by: { page.size = 1 }))
    try page.save()
    #expect(
      try isTold(reading: { _ = page.timeSinceExternallyChanged }) {
        try database.put("a", #"{"text": "x"}"#)
        try context.refresh()
      })
    #expect(
      try isTold(reading: { _ = page.timeSinceExternallyChanged }) {
        try database.remove("a")
        try context.refresh()
      })
    #expect(!isTold(reading: { _ = page.text }, by: { page.markExternallyChanged() }))
    #expect(!isTold(reading: { _ = page.needsSave }, by: { page.markExternallyChanged() }))
  }

  // MARK: The document

  @Test func `a model has its document and revision, and a new one none`() throws {
    let page = Page(in: context, id: "a")
    #expect(try page.document == nil && page.revision == nil)
    page.size = 1
    try page.save()
    let stored = try #require(try database.snapshot().get("a"))
    #expect(try page.document == stored && page.revision == stored.revision)
    // Unsaved changes are not in the document.
    page.size = 2
    #expect(try page.document?["size"] == 1)
    try page.save()
    #expect(try page.document?["size"] == 2 && page.revision?.generation == 2)
    try page.delete()
    #expect(try page.document == nil && page.revision == nil)
  }

  @Test func `the document is what the context has of it, until that moves on`() throws {
    let page = try savedPage()
    let first = try #require(try page.revision)
    try database.put("a", #"{"text": "x", "more": 1}"#)
    #expect(try page.revision == first)
    try context.refresh()
    #expect(try page.document?["more"] == 1 && page.revision?.generation == 2)
    try database.remove("a")
    page.size = 1
    #expect(try page.revision?.generation == 2)
    try context.refresh()
    #expect(try page.document == nil)
  }

  @Test func `in a transaction the document is what that has stored, and later nothing is read`()
    throws
  {
    _ = try savedPage()
    var left: Page?
    try database.write { transaction in
      let page = try #require(try transaction.models.model(Page.self, "a"))
      page.size = 5
      try page.save()
      #expect(try page.document?["size"] == 5)
      _ = try transaction.overwrite("a", with: ["size": 6])
      #expect(try page.document?["size"] == 6)
      left = page
    }
    let page = try #require(left)
    #expect(code { _ = try page.document } == .closed)
    #expect(code { _ = try page.revision } == .closed)
  }

  @Test func `observers of a revision are told when there is another`() throws {
    let page = try savedPage()
    #expect(!isTold(reading: { _ = try? page.revision }, by: { _ = page.text }))
    #expect(
      try isTold(reading: { _ = try? page.revision }) {
        // The same properties in another revision.
        try database.put("a", #"{"text": "", "size": 0}"#)
        try context.refresh()
      })
    page.size = 1
    #expect(try isTold(reading: { _ = try? page.document }, by: { try page.save() }))
    #expect(try page.revision?.generation == 3)
    #expect(try isTold(reading: { _ = try? page.revision }, by: { try page.delete() }))
  }
}
