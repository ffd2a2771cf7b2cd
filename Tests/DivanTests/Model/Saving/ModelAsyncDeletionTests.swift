import ProofKit
import Testing

@testable import Divan

/// Tests of deletions, undo and redo in transactions on another thread.
@MainActor
struct ModelAsyncDeletionTests {
  private class Folder: Model {
    @Persisted var name = ""
    @Inverse(\Page.folder, onDelete: .cascade) var pages: [Page]
    @Inverse(\Page.origin, onDelete: .nullify) var copies: [Page]
    @Inverse(\Page.lock, onDelete: .deny) var locked: [Page]
  }

  private class Page: Model {
    @Persisted var folder: Folder?
    @Persisted var origin: Folder?
    @Persisted var lock: Folder?
    @Persisted var text = ""
  }

  private let database: Database
  private let context: ModelContext
  private let folder: Folder
  private let page: Page
  private let copy: Page

  init() async throws {
    database = try Database.inMemory()
    context = database.makeContext()
    context.undoLimit = 5
    folder = Folder(in: context, id: "folder")
    page = Page(in: context, id: "page")
    page.folder = folder
    copy = Page(in: context, id: "copy")
    copy.origin = folder
    try await context.save()
  }

  private func begin(_ body: @escaping () async throws -> Void) async -> Task<Void, any Error> {
    let task = Task { try await body() }
    while context.core.commitInFlight == nil { await Task.yield() }
    return task
  }

  private func code(_ task: Task<Void, any Error>) async -> DatabaseError.Code? {
    do { try await task.value } catch let error as DatabaseError { return error.code } catch {}
    return nil
  }

  @Test func `a deletion applies its rules without keeping its actor`() async throws {
    let writer = HeldWriter(database)
    let (folder, copy) = (folder, copy)
    let deleting = await begin { try await folder.delete() }
    #expect(!folder.isDeleted && !page.isDeleted && copy.origin === folder)
    copy.text = "meanwhile"
    writer.release()
    try await deleting.value
    #expect(folder.isDeleted && page.isDeleted && copy.origin == nil)
    #expect(copy.changedProperties == ["text"])
    #expect(try database.json("folder") == nil && database.json("page") == nil)
    try await context.save()
    #expect(try database.json("copy") == #"{"text":"meanwhile","type":"Page"}"#)
  }

  @Test func `a deletion that a rule denies, or that conflicts, deletes nothing`() async throws {
    page.lock = folder
    page.folder = nil
    try await context.save()
    let folder = folder
    #expect(await code(Task { try await folder.delete() }) == .deleteDenied)
    page.lock = nil
    try await context.save()
    let writer = HeldWriter(database) { transaction in
      try transaction.update("folder") { $0["name"] = "changed" }
    }
    let deleting = await begin { try await folder.delete() }
    writer.release()
    #expect(await code(deleting) == .conflict)
    #expect(try !folder.isDeleted && database.json("folder") != nil)
    try context.refresh()
    try await folder.delete()
    #expect(try folder.isDeleted && database.json("folder") == nil)
  }

  @Test func `a document that refers to a model only since a moment ago is a conflict`()
    async throws
  {
    let folder = folder
    let writer = HeldWriter(database) { transaction in
      _ = try transaction.replace("new", with: ["type": "Page", "folder": "folder"])
    }
    let deleting = await begin { try await folder.delete() }
    writer.release()
    #expect(await code(deleting) == .conflict)
    #expect(try database.json("folder") != nil && database.json("page") != nil)
  }

  @Test func `models of a query are deleted together`() async throws {
    #expect(try await context.delete(Query<Page>().filter { $0.text == "" }) == 2)
    #expect(page.isDeleted && copy.isDeleted && !folder.isDeleted)
  }

  @Test func `undo and redo do not keep their actor`() async throws {
    let (context, page) = (context, page)
    page.text = "changed"
    try await context.save()
    try await page.delete()
    let writer = HeldWriter(database)
    let undoing = await begin { try await context.undo() }
    #expect(page.isDeleted)
    writer.release()
    try await undoing.value
    #expect(!page.isDeleted && page.text == "changed")
    #expect(try await context.undo())
    #expect(page.text == "" && context.canRedo)
    #expect(try await context.redo())
    #expect(page.text == "changed")
    #expect(try await context.redo())
    #expect(page.isDeleted)
    #expect(try await !context.redo())
  }
}
