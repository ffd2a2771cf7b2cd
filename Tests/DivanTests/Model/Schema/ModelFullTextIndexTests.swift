import Divan
import Foundation
import Testing

/// Tests of full-text indexes that model classes declare.
struct ModelFullTextIndexTests {
  private static let english = FullTextOptions(stemming: .english)

  /// A class whose declarations once had a warning.
  ///
  /// An unavailable overload of `.fullText`, for its message, made the compiler ask for a member of
  /// `Optional` at each property with an initial value.
  class Note: Model {
    @Persisted(index: .fullText) var title = ""
    @Persisted(key: "body", index: .fullText(ModelFullTextIndexTests.english)) var text = ""
    @Persisted(index: .fullText) var tags: [String]
    @Persisted(index: .fullText) var remark: String?
    @Persisted(index: .value) var rank = 3
    @Persisted var author: Author?
    override class var documentType: String? { "note" }
    override class var indexes: [ModelIndex] {
      [
        ModelIndex(
          of: Note.self, fullText: { $0.title }, { $0.text }, { $0.tags },
          options: FullTextOptions(weights: ["title": 4]), where: { $0.rank < 9 })
      ]
    }
  }

  final class Letter: Note {
    @Persisted(index: .fullText) var address: String
    override class var documentType: String? { "letter" }
  }

  final class Author: Model {
    @Persisted(index: .value) var name: String
    @Inverse(\Note.author) var notes: [Note]
    override class var documentType: String? { "author" }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext(try ModelRegistry(Note.self, Letter.self, Author.self))
  }

  private func index(_ name: String) throws -> DocumentIndex? {
    try database.indexes().first { $0.name == name }
  }

  @Test func `declared full-text indexes are named and limited like others`() throws {
    try database.addIndexes(for: Note.self, Author.self)
    let ofNotes: (QuerySubject<Document>) -> Filter = { $0["type"] == "note" }
    let expected = [
      DocumentIndex("model:author.name", on: "name") { $0["type"] == "author" },
      DocumentIndex("model:note.body", fullText: "body", options: Self.english, where: ofNotes),
      DocumentIndex("model:note.rank", on: "rank", where: ofNotes),
      DocumentIndex("model:note.remark", fullText: "remark", where: ofNotes),
      DocumentIndex("model:note.tags", fullText: "tags", where: ofNotes),
      DocumentIndex("model:note.title", fullText: "title", where: ofNotes),
      DocumentIndex(
        "model:note.title+body+tags", fullText: "title", "body", "tags",
        options: FullTextOptions(weights: ["title": 4])
      ) { $0["type"] == "note" && $0["rank"] < 9 },
      DocumentIndex("reference:author", on: "author", eachElement: true),
    ]
    #expect(try database.indexes() == expected)
    // Adding them again costs nothing.
    try database.addIndexes(for: Note.self, Author.self)
    #expect(try database.indexes() == expected)
  }

  @Test func `the index of a class has the documents of its subclasses, with its options`() throws {
    try database.addIndexes(for: Note.self, Letter.self)
    let both: (QuerySubject<Document>) -> Filter = { $0["type"].isIn(["letter", "note"]) }
    #expect(
      try index("model:note.body")
        == DocumentIndex("model:note.body", fullText: "body", options: Self.english, where: both))
    #expect(
      try index("model:note.title+body+tags")?.fullText == FullTextOptions(weights: ["title": 4]))
    #expect(try index("model:note.title+body+tags")?.conditions.count == 2)
    let address = DocumentIndex("model:letter.address", fullText: "address") {
      $0["type"] == "letter"
    }
    #expect(try index("model:letter.address") == address)
    // A class without its own declaration inherits the properties' indexes.
    #expect(try index("model:letter.body")?.fullText == Self.english)
  }

  @Test func `the first save builds the indexes, and models are found by words`() throws {
    let note = Note(in: context, id: "n")
    (note.title, note.text, note.tags) = ("Groceries", "Milking the cows", ["home", "farm work"])
    let letter = Letter(in: context, id: "l")
    (letter.title, letter.text, letter.address) = ("Reply", "Fresh milk", "Farm Road 1")
    try context.save()
    #expect(try index("model:note.body") != nil && index("model:letter.address") != nil)
    func ids<M: Model>(_ query: Query<M>) throws -> [String] {
      try context.find(query).map(\.id).sorted()
    }
    #expect(try ids(Query<Note>().filter { $0.text.matches(.fullText("milk")) }) == ["l", "n"])
    #expect(try ids(Query<Letter>().filter { $0.text.matches(.fullText("milk")) }) == ["l"])
    #expect(try ids(Query<Note>().filter { $0.tags.matches(.fullText("farm")) }) == ["n"])
    #expect(try ids(Query<Letter>().filter { $0.address.matches(.fullText("ro*")) }) == ["l"])
    let found = try context.find(Query<Note>().filter { $0.text.matches(.fullText("milked")) })
    #expect(Set(found.map { "\(type(of: $0))" }) == ["Note", "Letter"])
  }

  @Test func `inverses and values are not looked up in full-text indexes`() throws {
    try database.addIndexes(for: Note.self, Author.self)
    let author = Author(in: context, id: "ada")
    author.name = "Ada"
    let note = Note(in: context, id: "n")
    (note.author, note.title, note.remark) = (author, "Ada", "Ada")
    try context.save()
    #expect(author.notes == [note])
    let named = Query<Note>().filter { $0.title == "Ada" }.sorted(by: \.title)
    #expect(try context.find(named) == [note])
    let found = try context.explain(named)
    #expect(!found.indexes.contains { $0.hasPrefix("model:note.t") }, "\(found)")
    #expect(try context.find(Query<Note>().filter { $0.author == author }) == [note])
    // Two notes may have the same text.
    Note(in: context, id: "m").title = "Ada"
    try context.save()
  }

  class Early: Model {
    @Persisted(index: .fullText) var text: String
    override class var documentType: String? { "declared" }
  }

  class Late: Model {
    @Persisted(index: .fullText(FullTextOptions(stopWords: [.german]))) var text: String
    override class var documentType: String? { "declared" }
  }

  class Ordered: Model {
    @Persisted(index: .value) var text: String
    override class var documentType: String? { "declared" }
  }

  @Test func `an index whose options or kind changed is rebuilt`() throws {
    try database.write { transaction in
      _ = try transaction.put(Document(id: "d", ["type": "declared", "text": "Der Tee"]))
    }
    func count(_ text: String) throws -> Int {
      try database.snapshot().count(
        Query<Document>().filter { $0["type"] == "declared" && $0["text"].matches(.fullText(text)) }
      )
    }
    try database.addIndexes(for: Early.self)
    #expect(try count("der") == 1 && count("tee") == 1)
    try database.addIndexes(for: Late.self)
    #expect(try database.indexes().map(\.fullText) == [FullTextOptions(stopWords: [.german])])
    #expect(try count("der") == 0 && count("tee") == 1)
    try database.addIndexes(for: Ordered.self)
    #expect(try database.indexes().map(\.fullText) == [nil])
    #expect(try database.snapshot().count(by: "model:declared.text") == 1)
    let error = #expect(throws: DatabaseError.self) { try count("tee") }
    #expect(error?.code == .notFound)
    try database.addIndexes(for: Early.self)
    #expect(try count("der") == 1)
  }

  class Wrong: Model {
    @Persisted(index: .fullText) var title: String
    @Persisted var list: Author?
    override class var documentType: String? { "wrong" }
  }

  final class OnReferred: Wrong {
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Wrong.self, fullText: { $0.list.name })]
    }
  }
  final class WithPattern: Wrong {
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Wrong.self, fullText: { $0.title }, where: { $0.title.hasSuffix("x") })]
    }
  }
  final class WithWeight: Wrong {
    override class var indexes: [ModelIndex] {
      let options = FullTextOptions(weights: ["name": 2])
      return [ModelIndex(of: Wrong.self, fullText: { $0.title }, options: options, named: "words")]
    }
  }
  final class Twice: Wrong {
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Wrong.self, on: { $0.title })]
    }
  }

  @Test(arguments: [OnReferred.self, WithPattern.self, WithWeight.self, Twice.self])
  func `an invalid declaration throws, and creates no index`(type: Wrong.Type) throws {
    let error = #expect(throws: DatabaseError.self) { try database.addIndexes(for: type) }
    #expect(error?.code == (type == Twice.self ? .invalidModelClass : .invalidIndex))
    #expect(try database.indexes().isEmpty)
  }

  struct Recipe: DocumentCodable {
    @DocumentID var id: String? = nil
    var name: String
    var steps: [String]
  }

  @Test func `a schema has full-text indexes of Codable documents`() throws {
    let index = DocumentIndex("recipes", fullText: "name", "steps") { $0["type"] == "Recipe" }
    let schema = Schema(Author.self, documents: [Recipe.self], indexes: [index])
    let database = try Database.inMemory(schema: schema)
    try database.write { transaction in
      _ = try transaction.put(Recipe(id: "soup", name: "Soup", steps: ["Boil water", "Add salt"]))
      _ = try transaction.put(Document(id: "other", ["name": "Salt"]))
    }
    let salty = Query<Recipe>().filter(.matches(.fullText("salt soup"), index: "recipes"))
    #expect(try database.snapshot().find(salty).map(\.name) == ["Soup"])
    let steps = Query<Recipe>().filter { $0.steps.matches(.fullText("\"boil water\"")) }
    #expect(try database.snapshot().ids(steps) == ["soup"])
  }
}
