import Testing

@testable import Divan

/// Tests of the databases of previews.
@MainActor
struct PreviewStoreTests {
  private final class Note: Model {
    @Persisted(index: .value) var text: String
  }

  @Test func `a preview has the sample data, with the schema of the program`() throws {
    let store = PreviewStore.preview(Schema(Note.self)) { context in
      for text in ["tea", "milk"] { Note(in: context).text = text }
    }
    let database = try store.open()
    let notes = Query<Note>().sorted(by: \.text)
    #expect(try database.mainContext.find(notes).map(\.text) == ["milk", "tea"])
    #expect(try database.indexes().count == 1 && database.mainContext.unsavedModels.isEmpty)
    // Each preview has its own.
    let other = try store.open()
    #expect(other.storeID != database.storeID)
    for each in [database, other] { try each.close() }
  }

  @Test func `a preview is opened once, and its database is released with it`() async throws {
    weak var released: Database?
    do {
      let opened = OpenedPreview()
      let store = PreviewStore.preview(Schema(Note.self)) { Note(in: $0).text = "tea" }
      let database = try opened.database(of: store).get()
      #expect(try opened.database(of: store).get() === database)
      Note(in: database.mainContext).text = "unsaved"
      released = database
      #expect(released != nil)
    }
    // The main actor releases its context, which retains the database, in a task of its own.
    for _ in 0..<2000 where released != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(released == nil)
  }

  @Test func `a preview that cannot be filled has the error`() throws {
    struct Failure: Error {}
    let opened = OpenedPreview()
    let store = PreviewStore.preview { _ in throw Failure() }
    #expect(throws: Failure.self) { try opened.database(of: store).get() }
  }
}
