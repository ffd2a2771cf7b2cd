import DivanLog
import Observation
import ProofKit
import TestSupport
import Testing

@testable import Divan

/// Tests of models with state of their own that call `markNeedsSave()`.
@MainActor
struct ModelNeedsSaveTests {
  /// A model that keeps its lines as an array and writes them into one property when it is saved.
  private final class Page: Model {
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
    override class var documentType: String? { nil }
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
    Issue.record("the condition did not hold within ten seconds")
  }

  private func isNotified(reading: () -> Void, by work: () throws -> Void) rethrows -> Bool {
    let notifications = Recorder<Int>()
    withObservationTracking(reading) { notifications.append(1) }
    try work()
    return !notifications.all.isEmpty
  }

  // MARK: Marking

  @Test func `a model marked by markNeedsSave writes its own state into properties in willSave`()
    throws
  {
    let page = try savedPage()
    page.lines = ["x", "y"]
    #expect(page.needsSave && page.changedProperties == [] && page.text == "")
    #expect(context.unsavedModels == [page])
    try page.save()
    #expect(page.takeNotes() == ["will save []", "validated", "saved"])
    #expect(try database.json("a") == #"{"size":0,"text":"x\ny"}"#)
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
  }

  @Test func `saving several or all models saves marked ones`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    (a.lines, b.lines) = (["x"], ["y"])
    try context.saveModels([a])
    #expect(context.unsavedModels == [b])
    try context.save()
    #expect(try database.json("b") == #"{"size":0,"text":"y"}"#)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `saving a marked model without changes stores nothing`() throws {
    let page = try savedPage()
    let sequence = try database.snapshot().sequence
    let revision = try page.revision
    page.markNeedsSave()
    try page.save()
    #expect(page.takeNotes() == ["will save []"])
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
    #expect(try database.snapshot().sequence == sequence && page.revision == revision)
    // The model is clean, and its hook is not called again.
    try context.save()
    #expect(page.takeNotes() == [])
  }

  @Test func `a marked model without changes can be saved together with changed ones`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.markNeedsSave()
    b.lines = ["y"]
    try context.save()
    #expect(a.takeNotes() == ["will save []"])
    #expect(b.takeNotes() == ["will save []", "validated", "saved"])
    #expect(context.unsavedModels.isEmpty && !a.needsSave)
  }

  @Test func `marked models stay marked when saving them fails`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.markNeedsSave()
    b.lines = ["y"]
    b.problem = "it is wrong"
    #expect(code { try context.save() } == .invalidModel)
    #expect(a.needsSave && b.needsSave && context.unsavedModels == [a, b])
    b.problem = nil
    (a.notes, b.notes) = ([], [])
    try context.save()
    #expect(a.takeNotes() == ["will save []"])
    #expect(b.takeNotes() == ["will save [text]", "validated", "saved"])
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `reverting clears the mark of markNeedsSave`() throws {
    let page = try savedPage()
    page.markNeedsSave()
    page.revert()
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
    try page.save()
    #expect(page.takeNotes() == [])
  }

  @Test func `undoing a change of an undeclared property keeps the model marked`() throws {
    let page = try savedPage()
    page.markNeedsSave()
    try page.setValue(1, for: "more")
    try page.setValue(nil, for: "more")
    #expect(page.needsSave && context.unsavedModels == [page])
    #expect(page.changedProperties == [])
  }

  @Test func `a model that a later willSave marks is left for the next save`() throws {
    let (a, b) = (try savedPage("a"), try savedPage("b"))
    a.lines = ["x"]
    b.lines = ["y"]
    b.whenSaved = { a.lines.append("from b") }
    try context.save()
    #expect(context.unsavedModels == [a] && a.needsSave)
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
    b.whenSaved = {}
    try context.save()
    #expect(try database.json("a") == #"{"size":0,"text":"x\nfrom b"}"#)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `a model that marks itself in willSave is saved only once`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    page.whenSaved = { [unowned page] in page.markNeedsSave() }
    try context.save()
    #expect(!page.needsSave && context.unsavedModels.isEmpty)
  }

  @Test func `a model that marks itself in didSave is left for the next save`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    page.afterSaving = { if $0.lines.count == 1 { $0.lines.append("y") } }
    try context.save()
    #expect(page.needsSave && context.unsavedModels == [page])
    try context.save()
    #expect(try database.json("a") == #"{"size":0,"text":"x\ny"}"#)
    #expect(!page.needsSave)
  }

  @Test func `marking a deleted model takes effect only after undo restores it`()
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

  @Test func `a model marked without a context is saved once it is inserted into one`() throws {
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
    try other.save()
    #expect(try database.snapshot().document("a")?["text"] == "x")
  }

  @Test func `a marked model merges with external changes`() throws {
    let page = try savedPage()
    page.lines = ["x"]
    try database.put("a", #"{"text": "", "size": 7}"#)
    try page.save()
    #expect(page.size == 7 && page.text == "x")
    #expect(try database.json("a") == #"{"size":7,"text":"x"}"#)
  }

  @Test func `rolling back a nested transaction makes its saved marked model unsaved`() throws {
    struct Stop: Error {}
    _ = try savedPage()
    try database.write { transaction in
      let page = try #require(try transaction.models.model(Page.self, id: "a"))
      page.lines = ["x"]
      #expect(throws: Stop.self) {
        try transaction.savepoint {
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

  @Test func `autosave saves marked models`() async throws {
    let context = database.makeFollowingContext(
      autosavingAfter: .milliseconds(5), isolation: MainActor.shared)
    let page = Page(in: context, id: "a")
    try await page.save()
    page.lines = ["x"]
    try await wait { !page.needsSave }
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
    // A marked model without changes is also clean after its hook was called.
    page.markNeedsSave()
    _ = page.takeNotes()
    try await wait { !page.needsSave }
    #expect(page.takeNotes() == ["will save []"])
  }

  @Test func `marking a model that autosave could not save makes it eligible again`()
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
    try await context.save()
    #expect(try database.json("a") == #"{"size":0,"text":"x"}"#)
  }

  @Test func `closing the database saves marked models`() throws {
    let fileSystem = MemoryFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = fileSystem
    let database = try Database(at: "/store.divan", configuration: configuration)
    let context = database.makeFollowingContext(
      autosavingAfter: .seconds(1000), isolation: MainActor.shared)
    let page = Page(in: context, id: "a")
    try page.save()
    page.lines = ["x"]
    try database.close()
    let reopened = try Database(at: "/store.divan", configuration: configuration)
    #expect(try reopened.json("a") == #"{"size":0,"text":"x"}"#)
    try reopened.close()
  }

  @Test func `observers of needsSave are notified when a model is marked and when that is cleared`()
    throws
  {
    let page = try savedPage()
    #expect(isNotified(reading: { _ = page.needsSave }, by: { page.markNeedsSave() }))
    #expect(!isNotified(reading: { _ = page.needsSave }, by: { page.markNeedsSave() }))
    #expect(!isNotified(reading: { _ = page.text }, by: { page.markNeedsSave() }))
    #expect(try isNotified(reading: { _ = page.needsSave }, by: { try page.save() }))
    page.markNeedsSave()
    #expect(isNotified(reading: { _ = page.needsSave }, by: { page.revert() }))
  }

  // MARK: External changes

  @Test func `markExternallyChanged restarts the time since the last external change`() throws {
    let page = try savedPage()
    #expect(page.timeSinceExternalChange == nil)
    #expect(
      isNotified(
        reading: { _ = page.timeSinceExternalChange }, by: { page.markExternallyChanged() }))
    let first = try #require(page.timeSinceExternalChange)
    #expect(first >= .zero && first < .seconds(60))
    #expect(!page.needsSave && page.changedProperties == [])
    try waitUntil { try #require(page.timeSinceExternalChange) >= .milliseconds(20) }
    page.markExternallyChanged()
    #expect(try #require(page.timeSinceExternalChange) < .milliseconds(20))
  }

  @Test func `observers of timeSinceExternalChange are notified of each external change`() throws {
    let page = try savedPage()
    #expect(!isNotified(reading: { _ = page.timeSinceExternalChange }, by: { page.size = 1 }))
    try page.save()
    #expect(
      try isNotified(reading: { _ = page.timeSinceExternalChange }) {
        try database.put("a", #"{"text": "x"}"#)
        try context.refresh()
      })
    #expect(
      try isNotified(reading: { _ = page.timeSinceExternalChange }) {
        try database.remove("a")
        try context.refresh()
      })
    #expect(!isNotified(reading: { _ = page.text }, by: { page.markExternallyChanged() }))
    #expect(!isNotified(reading: { _ = page.needsSave }, by: { page.markExternallyChanged() }))
  }

  // MARK: The document

  @Test func `a saved model has a document and a revision, new and deleted ones have none`() throws
  {
    let page = Page(in: context, id: "a")
    #expect(try page.document == nil && page.revision == nil)
    page.size = 1
    try page.save()
    let stored = try #require(try database.snapshot().document("a"))
    #expect(try page.document == stored && page.revision == stored.revision)
    // Unsaved changes are not in the document.
    page.size = 2
    #expect(try page.document?["size"] == 1)
    try page.save()
    #expect(try page.document?["size"] == 2 && page.revision?.generation == 2)
    try page.delete()
    #expect(try page.document == nil && page.revision == nil)
  }

  @Test func `a model's document is the one in its context's version until a refresh`() throws {
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

  @Test func `a model's document is readable in its transaction, and throws after it`()
    throws
  {
    _ = try savedPage()
    var left: Page?
    try database.write { transaction in
      let page = try #require(try transaction.models.model(Page.self, id: "a"))
      page.size = 5
      try page.save()
      #expect(try page.document?["size"] == 5)
      _ = try transaction.replace("a", with: ["size": 6])
      #expect(try page.document?["size"] == 6)
      left = page
    }
    let page = try #require(left)
    #expect(code { _ = try page.document } == .closed)
    #expect(code { _ = try page.revision } == .closed)
  }

  @Test func `observers of a model's revision are notified of each new revision`() throws {
    let page = try savedPage()
    #expect(!isNotified(reading: { _ = try? page.revision }, by: { _ = page.text }))
    #expect(
      try isNotified(reading: { _ = try? page.revision }) {
        // The same properties in another revision.
        try database.put("a", #"{"text": "", "size": 0}"#)
        try context.refresh()
      })
    page.size = 1
    #expect(try isNotified(reading: { _ = try? page.document }, by: { try page.save() }))
    #expect(try page.revision?.generation == 3)
    #expect(try isNotified(reading: { _ = try? page.revision }, by: { try page.delete() }))
  }
}
