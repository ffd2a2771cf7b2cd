import Divan
import Foundation
import ProofKit
import Testing

/// Tests of Codable types that store their document type.
struct DocumentCodableTests {
  struct Recipe: DocumentCodable, Equatable {
    @DocumentID var id: String?
    @DocumentRevision var revision: RevisionID?
    var name: String
    var minutes: Int?

    static func == (a: Recipe, b: Recipe) -> Bool { a.name == b.name && a.minutes == b.minutes }
  }

  struct Film: DocumentCodable {
    var name: String
    static let documentType = "film"
  }

  struct Plain: Codable {
    var name: String
  }

  private let database: Database

  init() throws { database = try Database.inMemory() }

  private func type(_ id: String) throws -> Value? { try database.snapshot().document(id)?["type"] }

  @Test func `a query for a type skips documents of other types, even undecodable ones`() throws {
    try database.write { transaction in
      try transaction.put(Recipe(name: "Soup", minutes: 20), id: "r")
      try transaction.put(Film(name: "M"), id: "f")
      try transaction.put(Plain(name: "P"), id: "p")
      try transaction.put(Document(id: "d", ["name": 7]))
      try transaction.put(Document(id: "e", ["type": 7, "name": "no text for a type"]))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.find(Query<Recipe>()) == [Recipe(name: "Soup", minutes: 20)])
    #expect(try snapshot.find(Query<Film>()).map(\.name) == ["M"])
    #expect(try snapshot.ids(Query<Film>().filter { $0.name == "Soup" }) == [])
    #expect(try snapshot.count(Query<Recipe>()) == 1)
    #expect(try snapshot.first(Query<Film>().sorted(by: \.name, .descending))?.name == "M")
    #expect(try database.write { try $0.delete(Query<Film>()) } == 1)
    #expect(try database.snapshot().ids(Query<Document>()) == ["d", "e", "p", "r"])
    // A document of that type that cannot be decoded as it is an error that names the document.
    try database.write { _ = try $0.put(Document(id: "x", ["type": "Recipe", "name": 7])) }
    let error = #expect(throws: DatabaseError.self) {
      try database.snapshot().find(Query<Recipe>())
    }
    #expect(error?.documentID == "x" && error?.propertyPath == "name")
  }

  @Test func `every way to encode a value stores its document type`() throws {
    var soup = Recipe(name: "Soup")
    soup.id = "a"
    try database.write { transaction in
      try transaction.put(&soup)
      try transaction.put(contentsOf: [Film(name: "M")])
      try transaction.put(Film(name: "M"), id: "b")
    }
    #expect(soup.revision?.generation == 1)
    #expect(try type("a") == "Recipe" && type("b") == "film")
    #expect(try database.snapshot().count(Query<Film>()) == 2)
    #expect(try DocumentEncoder().encode(Film(name: "M"), id: "c")["type"] == "film")
    var document = Document(id: "d", ["left": true])
    try document.encode(Film(name: "M"))
    #expect(document["type"] == "film" && document["left"] == true)
    // Again, with a property that another program added.
    try database.write { _ = try $0.update("a") { $0["stars"] = 5 } }
    soup = try #require(try database.snapshot().value(Recipe.self, id: "a"))
    soup.minutes = 5
    try database.write { try $0.put(&soup) }
    let stored = try #require(try database.snapshot().document("a"))
    #expect(stored.properties == ["type": "Recipe", "name": "Soup", "minutes": 5, "stars": 5])
    // A type that is only Codable neither adds nor removes the property `type`.
    try database.write { transaction in
      try transaction.put(Plain(name: "P"), id: "p")
      try transaction.put(Plain(name: "P"), id: "b")
    }
    #expect(try type("p") == nil && type("b") == "film")
  }

  @Test func `putting an untyped document as a typed value makes the type's queries find it`()
    throws
  {
    try database.write { _ = try $0.put(Document(id: "old", ["name": "Stew"])) }
    #expect(try database.snapshot().count(Query<Recipe>()) == 0)
    let old = try #require(try database.snapshot().value(Recipe.self, id: "old"))
    try database.write { _ = try $0.put(old) }
    #expect(try database.snapshot().find(Query<Recipe>()).map(\.name) == ["Stew"])
  }

  @Test func `a condition finds values of a type without a query`() throws {
    try database.write { transaction in
      for minutes in 1...9 {
        try transaction.put(Recipe(name: "\(minutes)", minutes: minutes))
        try transaction.put(Film(name: "\(minutes)"))
      }
      let slow = try transaction.find(Recipe.self) { $0.minutes > 7 }
      #expect(Set(slow.map(\.name)) == ["8", "9"])
    }
    let snapshot = try database.snapshot()
    let quick = try snapshot.find(Recipe.self) { $0.minutes < 3 }
    #expect(Set(quick.map(\.name)) == ["1", "2"])
    #expect(try snapshot.first(Recipe.self) { $0.minutes == 4 }?.name == "4")
    #expect(try snapshot.first(Recipe.self) { $0.minutes == 10 } == nil)
  }

  @Test func `a value that was changed since it was read is not deleted`() throws {
    try database.write { transaction in
      let stored = try transaction.put(Recipe(name: "Stew"))
      let read = try stored.decode(Recipe.self)
      let changed = try transaction.update(Recipe.self, id: stored.id) { $0.minutes = 9 }
      let error = #expect(throws: DatabaseError.self) { try transaction.delete(read) }
      #expect(error?.code == .conflict)
      let current = try #require(try changed?.decode(Recipe.self))
      let tombstone = try transaction.delete(current)
      #expect(tombstone["name"] == "Stew" && tombstone["minutes"] == 9)
      #expect(try transaction.document(stored.id) == nil)
      #expect(throws: DatabaseError.self) { try transaction.delete(current) }
      let unsaved = #expect(throws: DatabaseError.self) {
        try transaction.delete(Recipe(name: "unsaved"))
      }
      #expect(unsaved?.code == .invalidDocumentID)
    }
  }

  @Test func `a partial index on the document type answers queries for the type`() throws {
    try database.addIndex(
      DocumentIndex("recipes", on: "minutes") { $0["type"] == "Recipe" })
    try database.write { transaction in
      for number in 0..<50 {
        try transaction.put(Recipe(name: "\(number)", minutes: number))
        try transaction.put(Film(name: "\(number)"))
      }
    }
    let found = try database.snapshot().explain(Query<Recipe>().filter { $0.minutes == 7 })
    #expect(found.indexes == ["recipes"] && found.documentsRead == 0 && found.results == 1)
  }

  // MARK: Types with their own property `type`

  struct Own: DocumentCodable {
    var type: String?
    static let documentType = "own"
  }

  struct Renamed: DocumentCodable {
    var type: String
    enum CodingKeys: String, CodingKey { case type = "kind" }
  }

  struct Numbered: DocumentCodable {
    var type: Int
  }

  @Test func `a coded property named type must equal the document type`() throws {
    func refused(_ body: (WriteTransaction) throws -> Void) throws {
      let error = #expect(throws: DatabaseError.self) { try database.write { try body($0) } }
      #expect(error?.code == .invalidValue && error?.propertyPath == "type")
      #expect(error?.message.contains("\"type\"") == true && error?.hint != nil)
    }
    try refused { try $0.put(Own(type: "other"), id: "a") }
    // Without a value, the document would be read as the type.
    try refused { try $0.put(Own(), id: "a") }
    try refused { try $0.put(Numbered(type: 1), id: "a") }
    try refused { try $0.put(contentsOf: [Own(type: "own"), Own(type: "other")]) }
    #expect(try database.snapshot().count == 0)
    try database.write { transaction in
      try transaction.put(Own(type: "own"), id: "a")
      try transaction.put(Renamed(type: "x"), id: "b")
    }
    #expect(try database.snapshot().find(Query<Own>()).map(\.type) == ["own"])
    #expect(try database.snapshot().find(Query<Renamed>()).map(\.type) == ["x"])
    #expect(try database.snapshot().document("b")?.properties == ["type": "Renamed", "kind": "x"])
  }

  class Animal: DocumentCodable {
    var name = "a"
  }

  final class Dog: Animal {}

  @Test func `a subclass instance is stored with the type of its own class`() throws {
    let animal: Animal = Dog()
    let document = try DocumentEncoder().encode(animal, id: "d")
    #expect(document["type"] == "Dog")
    #expect(try DocumentEncoder().encode(Animal(), id: "a")["type"] == "Animal")
    try database.write { _ = try $0.put(document) }
    #expect(try database.snapshot().ids(Query<Dog>()) == ["d"])
    #expect(try database.snapshot().ids(Query<Animal>()) == [])
  }
}

/// Tests of creating a model with an ID that may be in use.
struct ModelInsertionTests {
  final class Note: Model {
    @Persisted var text = "new"
    override class var documentType: String? { "note" }
  }

  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test func `inserting a model under an ID in use throws`() throws {
    let context = database.makeContext()
    let note = try context.insert(Note.self, id: "a")
    #expect(note.id == "a" && context.unsavedModels == [note] && note.text == "new")
    #expect(try context.model(Note.self, id: "a") === note)
    func refused(_ id: String, _ context: ModelContext) {
      let unsaved = context.unsavedModels
      let error = #expect(throws: DatabaseError.self) { try context.insert(Note.self, id: id) }
      #expect(error?.code == .alreadyExists && error?.documentID == id)
      #expect(context.unsavedModels == unsaved)
    }
    // The ID of an unsaved model, a saved one, one of another context, and a document of no class.
    refused("a", context)
    try note.save()
    refused("a", context)
    refused("a", database.makeContext())
    try database.write { _ = try $0.put(Document(id: "b", ["type": "other"])) }
    refused("b", context)
    try note.delete()
    let again = try context.insert(Note.self, id: "a")
    again.text = "again"
    try again.save()
    #expect(try database.snapshot().document("a")?["text"] == "again")
  }

  @Test func `inserting a model in a transaction checks the IDs that the transaction has stored`()
    throws
  {
    try database.write { transaction in
      _ = try transaction.put(Document(id: "a", ["type": "note"]))
      let error = #expect(throws: DatabaseError.self) {
        try transaction.models.insert(Note.self, id: "a")
      }
      #expect(error?.code == .alreadyExists)
      let note = try transaction.models.insert(Note.self, id: "b")
      note.text = "b"
      try note.save()
    }
    #expect(try database.snapshot().document("b")?["text"] == "b")
  }

  @Test func `saving a new model whose ID was stored in the meantime is a conflict`() throws {
    let context = database.makeContext()
    let inserted = try context.insert(Note.self, id: "a")
    // The initializer does not check the ID.
    let made = Note(in: context, id: "b")
    try database.write { transaction in
      for id in ["a", "b"] {
        _ = try transaction.put(Document(id: id, ["type": "note", "text": "stored"]))
      }
    }
    for note in [inserted, made] {
      let error = #expect(throws: DatabaseError.self) { try note.save() }
      #expect(error?.code == .conflict)
      #expect(try database.snapshot().document(note.id)?["text"] == "stored")
    }
  }
}
