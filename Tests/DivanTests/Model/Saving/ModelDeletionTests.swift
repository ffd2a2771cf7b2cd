import Divan
import Testing

private final class Publisher: Model {
  @Persisted var name: String
  @Inverse(\Book.publisher, onDelete: .deny) var books: [Book]
  override class var documentType: String? { nil }
}

private final class Author: Model {
  @Persisted var name: String
  @Inverse(\Book.authors, onDelete: .nullify) var books: [Book]
  @Inverse(\Book.editor, onDelete: .nullify) var edited: [Book]
  override class var documentType: String? { nil }
}

private final class Book: Model {
  @Persisted var title: String
  @Persisted var publisher: Publisher?
  @Persisted var authors: [Author]
  @Persisted var editor: Author?
  @Persisted(onDelete: .cascade) var chapters: [Chapter]
  @Persisted(onDelete: .cascade, key: "front") var cover: Picture?
  @Inverse(\Review.book, onDelete: .cascade) var reviews: [Review]
  override class var documentType: String? { nil }
}

private final class Chapter: Model {
  @Persisted var title: String
  @Persisted(onDelete: .deny) var pictures: [Picture]
  override class var documentType: String? { nil }
}

private final class Picture: Model {
  @Persisted var name: String
  override class var documentType: String? { nil }
}

private final class Review: Model {
  @Persisted var book: Book?
  @Inverse(\Review.answered, onDelete: .cascade) var answers: [Review]
  @Persisted var answered: Review?
  override class var documentType: String? { nil }
}

private final class Artist: Model {
  @Inverse(\Painting.artist, onDelete: .nullify) var paintings: [Painting]
  override class var documentType: String? { "artist" }
}

private final class Painting: Model {
  @Persisted var artist: Artist? = Artist()
  override class var documentType: String? { "painting" }
}

/// Tests of which models are deleted with a model, and which stay.
struct ModelDeletionTests {
  let database: Database
  let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext()
    for type in [Publisher.self, Author.self, Book.self, Review.self] as [Model.Type] {
      try database.addIndexes(for: type)
    }
  }

  private func book(_ id: String, _ change: (Book) -> Void = { _ in }) throws -> Book {
    let book = Book(in: context, id: id)
    change(book)
    try context.save()
    return book
  }

  private func ids() throws -> [String] {
    let ids = try database.snapshot().ids()
    return try ids.collect()
  }

  @Test func `nullify removes references from the documents that have them`() throws {
    let (ada, bob) = (Author(in: context, id: "ada"), Author(in: context, id: "bob"))
    let x = try book("x") {
      $0.authors = [ada, bob, ada]
      $0.editor = ada
    }
    let y = try book("y") { $0.authors = [bob] }
    // Unsaved changes stay unsaved; the reference is removed in any case.
    x.title = "X"
    y.editor = ada
    try ada.delete()
    #expect(try database.snapshot().document("x")?["authors"] == ["bob"])
    #expect(try database.snapshot().document("x")?["editor"] == nil)
    #expect(x.authors == [bob] && x.editor == nil && y.editor == nil)
    #expect(x.changedProperties == ["title"])
    try context.save()
    #expect(try database.snapshot().document("x")?["title"] == "X")
    #expect(try database.snapshot().document("y")?["editor"] == nil)
    #expect(bob.books == [x, y])
  }

  @Test func `nullify removes a stored reference even if it was changed locally`() throws {
    let (ada, bob) = (Author(in: context, id: "ada"), Author(in: context, id: "bob"))
    let x = try book("x") { $0.editor = ada }
    x.editor = bob
    try ada.delete()
    #expect(try database.snapshot().document("x")?["editor"] == nil)
    #expect(x.editor === bob)
    try x.save()
    #expect(try database.snapshot().document("x")?["editor"] == "bob")
  }

  @Test func `nullify does not change documents of other classes`() throws {
    let context = database.makeContext(try ModelRegistry(Artist.self, Painting.self))
    let ada = Artist(in: context, id: "ada")
    let painting = Painting(in: context, id: "p")
    painting.artist = ada
    try context.save()
    try database.write { transaction in
      try transaction.put(Document(id: "thing", ["type": "thing", "artist": "ada"]))
    }
    try context.refresh()
    try ada.delete()
    #expect(try database.snapshot().document("p")?["artist"] == nil)
    #expect(try database.snapshot().document("thing")?["artist"] == "ada")
  }

  @Test(arguments: [true, false])
  func `deleting a model with a new external reference is a conflict until a refresh`(
    withIndex: Bool
  ) throws {
    if !withIndex {
      for index in try database.indexes() { try database.removeIndex(named: index.name) }
    }
    let publisher = Publisher(in: context, id: "p")
    try publisher.save()
    try database.write { try $0.put(Document(id: "x", ["publisher": "p"])) }
    let error = #expect(throws: DatabaseError.self) { try publisher.delete() }
    #expect(error?.code == .conflict && error?.documentID == "p")
    try context.refresh()
    let other = #expect(throws: DatabaseError.self) { try publisher.delete() }
    #expect(other?.code == .deleteDenied)
  }

  @Test func `an unsaved change does not hide a stored reference from a deny rule`() throws {
    let publisher = Publisher(in: context, id: "p")
    let book = try book("x") { $0.publisher = publisher }
    book.publisher = nil
    #expect(throws: DatabaseError.self) { try publisher.delete() }
    try book.save()
    try publisher.delete()
  }

  @Test func `nullify does not conflict with external changes or a new local reference`() throws {
    let (ada, bob) = (Author(in: context, id: "ada"), Author(in: context, id: "bob"))
    let x = try book("x") { $0.editor = ada }
    x.editor = bob
    try database.update("x") { $0["pages"] = 9 }
    try ada.delete()
    try x.save()
    let stored = try #require(try database.snapshot().document("x"))
    #expect(stored["editor"] == "bob" && stored["pages"] == 9)
  }

  @Test func `cascade skips a referenced document of another class`()
    throws
  {
    let ada = Author(in: context, id: "ada")
    let x = try book("x")
    try x.setValue(["ada"], for: "chapters")
    try x.save()
    try x.delete()
    #expect(try ids() == [ada.id])
  }

  @Test func `cascade deletes referring and referenced models`() throws {
    let book = try book("x") {
      $0.chapters = [Chapter(in: context, id: "one"), Chapter(in: context, id: "two")]
      $0.cover = Picture(in: context, id: "cover")
      $0.authors = [Author(in: context, id: "ada")]
    }
    let (review, answer) = (Review(in: context, id: "r"), Review(in: context, id: "a"))
    review.book = book
    answer.answered = review
    try review.save()
    try book.delete()
    #expect(try ids() == ["ada"])
    // The answer was never saved.
    #expect(answer.isDeleted && review.isDeleted && !answer.needsSave)
    #expect(context.unsavedModels.isEmpty)
  }

  @Test func `deny prevents the deletion of a model and of all that cascades from it`() throws {
    let publisher = Publisher(in: context, id: "p")
    let book = try book("x") { $0.publisher = publisher }
    let error = #expect(throws: DatabaseError.self) { try publisher.delete() }
    #expect(error?.code == .deleteDenied && error?.documentID == "p")
    #expect(error?.message.contains("\"x\"") == true, "\(error?.message ?? "")")
    #expect(!publisher.isDeleted)
    try book.delete()
    try publisher.delete()
    #expect(try ids().isEmpty)

    let chapter = Chapter(in: context, id: "one")
    chapter.pictures = [Picture(in: context, id: "shared")]
    let other = try self.book("y") { $0.chapters = [chapter] }
    #expect(throws: DatabaseError.self) { try other.delete() }
    #expect(try ids() == ["one", "shared", "y"])
    // A reference from a model that is also deleted does not prevent the deletion.
    other.cover = chapter.pictures.first
    try other.delete()
    #expect(try ids().isEmpty)
  }

  @Test func `reverting a context discards new models, and deletes nothing they refer to`() throws {
    let (chapter, review) = (Chapter(in: context, id: "c"), Review(in: context, id: "r"))
    chapter.title = "one"
    try context.save()
    let book = Book(in: context, id: "b")
    book.chapters = [chapter]
    review.book = book
    chapter.title = "two"
    context.revert()
    #expect(context.unsavedModels.isEmpty && book.isDeleted)
    #expect(chapter.title == "one" && review.book == nil && !chapter.isDeleted)
    try context.save()
    #expect(try database.snapshot().count == 2)
  }

  /// Regression: found by reading; the rules of the new models were applied to stored ones.
  @Test func `reverting new models whose IDs are taken applies no rules of the stored ones`() throws
  {
    let book = try book("x") {
      $0.publisher = Publisher(in: context, id: "p")
      $0.authors = [Author(in: context, id: "ada")]
    }
    let review = Review(in: context, id: "r")
    review.book = book
    try review.save()
    let sequence = try database.snapshot().sequence
    let other = database.makeContext()
    let taken: [Model] = [
      Publisher(in: other, id: "p"), Author(in: other, id: "ada"), Book(in: other, id: "x"),
    ]
    #expect(code { try other.save() } == .conflict)
    other.revert()
    #expect(taken.allSatisfy { $0.isDeleted } && other.unsavedModels.isEmpty)
    #expect(try database.snapshot().sequence == sequence)
    // The stored documents have models of their own, although the new ones are still referenced.
    let stored = try #require(try other.model(Book.self, id: "x"))
    #expect(stored.publisher?.id == "p" && stored.authors.map(\.id) == ["ada"])
  }

  /// Regression: found by reading; the rules of the new models were applied to stored ones.
  @Test func `deleting a new model whose ID is taken applies no rules of the stored one`() throws {
    let book = try book("x") { $0.publisher = Publisher(in: context, id: "p") }
    let review = Review(in: context, id: "r")
    review.book = book
    try review.save()
    // The context has the stored models, or has not loaded them.
    for context in [context, database.makeContext()] {
      let (taken, publisher) = (Book(in: context, id: "x"), Publisher(in: context, id: "p"))
      try taken.delete()
      try publisher.delete()
      #expect(taken.isDeleted && publisher.isDeleted)
    }
    #expect(try ids() == ["p", "r", "x"] && !book.isDeleted && !review.isDeleted)
  }

  /// Regression: found by reading; the deleted models stood for the documents.
  @Test func `a document that is stored with the ID of a discarded model gets a model of its own`()
    throws
  {
    let (reverted, deleted) = (Author(in: context, id: "a"), Author(in: context, id: "b"))
    try deleted.delete()
    context.revert()
    #expect(reverted.isDeleted && deleted.isDeleted)
    for id in ["a", "b"] { try database.write { try $0.put(Document(id: id, ["name": "X"])) } }
    try context.refresh()
    let stored = [
      try context.model(Author.self, id: "a"), try context.model(Author.self, id: "b"),
    ]
    #expect(stored.map { $0?.name } == ["X", "X"])
    #expect(stored[0] !== reverted && stored[1] !== deleted)
  }

  /// Regression: found by reading; new models were deleted with all that their rules concern.
  @Test func `reverting a context deletes no stored model by a rule of a new one`() throws {
    let (chapter, review) = (Chapter(in: context, id: "c"), Review(in: context, id: "r"))
    review.book = Book(in: context, id: "b")
    try context.saveModels([chapter, review])
    let made = try context.insert(Book.self, document: Document(id: "m", ["chapters": ["c"]]))
    #expect(made.chapters == [chapter] && context.unsavedModels.count == 2)
    context.revert()
    #expect(made.isDeleted && !chapter.isDeleted && !review.isDeleted)
    #expect(try ids() == ["c", "r"])
  }

  @Test func `models that cascade to each other are deleted once`() throws {
    let (a, b) = (Review(in: context, id: "a"), Review(in: context, id: "b"))
    a.answered = b
    b.answered = a
    try context.save()
    try a.delete()
    #expect(try ids().isEmpty && b.isDeleted)
  }

  @Test func `a long chain of cascades is deleted as a whole`() throws {
    var last: Review?
    for index in 0..<2000 {
      let next = Review(in: context, id: "r\(index)")
      next.answered = last
      last = next
    }
    try context.save()
    try context.model(Review.self, id: "r0")?.delete()
    #expect(try ids().isEmpty)
  }

  @Test func `if a model of a cascade was changed externally, nothing is deleted`() throws {
    let book = try book("x") { $0.chapters = [Chapter(in: context, id: "one")] }
    let chapter = try #require(book.chapters.first)
    try database.write { try $0.put(Document(id: "x2", ["authors": ["ada"]])) }
    try database.update("one") { $0["title"] = "Other" }
    let error = #expect(throws: DatabaseError.self) { try book.delete() }
    #expect(error?.code == .conflict)
    #expect(!book.isDeleted && !chapter.isDeleted)
    #expect(try ids() == ["one", "x", "x2"])
    try context.refresh()
    try book.delete()
    #expect(try ids() == ["x2"])
  }

  @Test func `nullify merges with external changes`() throws {
    let ada = Author(in: context, id: "ada")
    let x = try book("x") { $0.editor = ada }
    x.title = "mine"
    try database.update("x") { $0["pages"] = 9 }
    try ada.delete()
    #expect(try database.snapshot().document("x")?.properties["pages"] == 9)
    try x.save()
    let stored = try #require(try database.snapshot().document("x"))
    #expect(stored["title"] == "mine" && stored["pages"] == 9 && stored["editor"] == nil)
  }
}
