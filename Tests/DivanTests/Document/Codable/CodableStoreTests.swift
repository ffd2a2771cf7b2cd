import Divan
import Foundation
import TestSupport
import Testing

struct CodableStoreTests {
  private struct Film: Codable, Hashable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int?
    var tags: [String] = []
  }

  private struct Checked: Codable, Hashable {
    @DocumentID var id: String? = nil
    @DocumentRevision var revision: RevisionID? = nil
    var title: String
  }

  private final class Person: Codable, @unchecked Sendable {
    @DocumentID var id: String? = nil
    @DocumentRevision var revision: RevisionID? = nil
    var name: String
    var isSelected = false

    private enum CodingKeys: CodingKey { case id, revision, name }
    init(name: String) { self.name = name }
  }

  @Test func `putting a value without an ID generates one that is not stored as a property`() throws
  {
    let database = try Database.inMemory()
    let film = Film(title: "M", year: 1931)
    let document = try database.write { try $0.put(film) }
    #expect(!document.id.isEmpty)
    #expect(document.properties == ["title": "M", "year": 1931, "tags": []])
    #expect(film.id == nil)
    let read = try database.snapshot().value(Film.self, id: document.id)
    #expect(read == Film(id: document.id, title: "M", year: 1931))
    #expect(try document.decode(Film.self).id == document.id)
    #expect(try database.snapshot().value(Film.self, id: "none") == nil)
  }

  @Test func `a value can be stored over a change that was made since it was read`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      let old = try transaction.put(Checked(title: "M"), id: "m")
      var value = try old.decode(Checked.self)
      try transaction.update("m") { $0["title"] = "other" }
      try transaction.update("m") { $0["extra"] = 1 }
      value.title = "mine"
      #expect(throws: DatabaseError.self) { try transaction.put(value) }
      #expect(throws: DatabaseError.self) { try transaction.put(Checked(title: "new"), id: "m") }
      let stored = try transaction.put(value, onConflict: .overwrite)
      #expect(stored.properties == ["title": "mine", "extra": 1])
      #expect(stored.revision?.generation == 4)
      try transaction.put(Checked(id: "m", title: "new"), onConflict: .overwrite)
      #expect(try transaction.value(Checked.self, id: "m")?.title == "new")
      value.title = "branch"
      #expect(try transaction.put(value, onConflict: .branch).revision?.generation == 2)
      #expect(try transaction.leaves(of: "m").count == 2)
    }
  }

  @Test func `a document is changed and deleted as a value of a type`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      for id in ["a", "b"] {
        try transaction.replace(id, with: ["title": "M", "tags": [], "extra": 1])
        let changed = try transaction.update(Film.self, id: id) { $0.year = 1931 }
        #expect(changed?.properties == ["title": "M", "tags": [], "extra": 1, "year": 1931])
      }
      #expect(try transaction.update(Film.self, id: "none") { $0.year = 1 } == nil)
      #expect(throws: DatabaseError.self) {
        try transaction.update(Film.self, id: "a") { $0.id = "b" }
      }
      #expect(throws: CancellationError.self) {
        try transaction.update(Film.self, id: "a") { _ in throw CancellationError() }
      }
      #expect(try transaction.document("a")?["year"] == 1931)
    }
  }

  @Test func `putting a structure as inout sets its ID and revision`() throws {
    let database = try Database.inMemory()
    var film = Checked(title: "M")
    let copy = film
    try database.write { try $0.put(&film) }
    #expect(film.id != nil)
    #expect(film.revision?.generation == 1)
    // A copy that was made before is a separate value, and becomes a separate document.
    #expect(copy.id == nil)
    let other = try database.write { try $0.put(copy) }
    #expect(other.id != film.id)
    film.title = "M, again"
    try database.write { try $0.put(&film) }
    #expect(film.revision?.generation == 2)
    #expect(try database.snapshot().value(Checked.self, id: film.id ?? "") == film)
    #expect(try database.snapshot().count == 2)
  }

  /// Regression: putting a value removed the attachments without an error.
  @Test func `putting a Codable value keeps attachments and undeclared properties`() throws {
    let database = try Database.inMemory()
    var document = Document(id: "m", ["title": "M", "year": 1931, "rating": 9])
    document.attachments["poster"] = Document.Attachment(contentType: "image/png", [1, 2, 3])
    let stored = try database.write { try $0.put(document) }
    func expectPoster(_ comment: Comment) throws {
      let now = try database.snapshot().document("m")
      #expect(try now?.attachments["poster"]?.data() == Data([1, 2, 3]), comment)
      #expect(now?["rating"] == 9, comment)
    }
    var film = Film(id: "m", title: "M!", year: 1931)
    try database.write { try $0.put(film) }
    try expectPoster("put")
    try database.write { try $0.put(&film) }
    try expectPoster("put(&)")
    try database.write { _ = try $0.put(contentsOf: [film]) }
    try expectPoster("put(contentsOf:)")
    var checked = try #require(try database.snapshot().value(Checked.self, id: "m"))
    try database.write { try $0.put(&checked) }
    try expectPoster("with a revision")
    #expect(stored.revision != checked.revision)
  }

  @Test func `a value with the revision of a losing branch updates that branch`() throws {
    let database = try Database.inMemory()
    let base = try database.write { try $0.put(Document(id: "m", ["title": "M"])) }
    var branches: [Document] = []
    for text in ["one", "two"] {
      var branch = base
      branch["title"] = .string(text)
      branch["note"] = .string(text)
      branches.append(try database.write { try $0.put(branch, onConflict: .branch) })
    }
    let winner = try #require(try database.snapshot().document("m"))
    let loser = try #require(branches.first { $0.revision != winner.revision })
    var value = Checked(id: "m", revision: loser.revision, title: "changed")
    try database.write { try $0.put(&value) }
    let leaves = try database.snapshot().leaves(of: "m")
    let changed = try #require(leaves.first { $0["title"] == "changed" })
    #expect(changed["note"] == loser["note"] && changed.revision == value.revision)
  }

  @Test func `putting a class instance sets its ID and revision and keeps its uncoded properties`()
    throws
  {
    let database = try Database.inMemory()
    let person = Person(name: "Fritz")
    person.isSelected = true
    try database.write { try $0.put(person) }
    let id = try #require(person.id)
    #expect(person.revision?.generation == 1)
    person.name = "Fritz Lang"
    var same = person
    try database.write { try $0.put(&same) }
    #expect(same === person)
    #expect(person.revision?.generation == 2)
    #expect(person.isSelected)
    let people = [Person(name: "a"), Person(name: "b")]
    let ids = try database.write { try $0.put(contentsOf: people) }
    #expect(people.map(\.id) == ids)
    #expect(try database.snapshot().value(Person.self, id: id)?.name == "Fritz Lang")
    #expect(try database.snapshot().values(Person.self, ids: ids).map { $0?.name } == ["a", "b"])
  }

  @Test func `rolling back a transaction restores the ID and revision of its objects`() throws {
    struct Refusal: Error {}
    let database = try Database.inMemory()
    let (kept, dropped) = (Person(name: "Lang"), Person(name: "Harbou"))
    try database.write { transaction in
      try transaction.put(kept)
      _ = try? transaction.savepoint {
        kept.name = "Fritz Lang"
        try transaction.put(kept)
        try transaction.put(contentsOf: [dropped])
        #expect(dropped.revision?.generation == 1 && kept.revision?.generation == 2)
        throw Refusal()
      }
      #expect(dropped.id == nil && dropped.revision == nil)
      #expect(kept.revision?.generation == 1)
    }
    let revision = kept.revision
    #expect(throws: Refusal.self) {
      try database.write { transaction in
        try transaction.put(kept)
        try transaction.put(kept)
        try transaction.put(dropped)
        throw Refusal()
      }
    }
    #expect(kept.revision == revision && dropped.id == nil)
    // Both can therefore be put again.
    try database.write { try $0.put(contentsOf: [kept, dropped]) }
    #expect(kept.revision?.generation == 2 && dropped.revision?.generation == 1)
  }

  @Test func `putting a value keeps undeclared properties and removes those that became nil`()
    throws
  {
    let database = try Database.inMemory()
    try database.write {
      try $0.put(
        Document(
          id: "m",
          [
            "title": "M", "year": 1931, "tags": ["a"], "director": ["name": "Lang"], "a": 1,
            "zz": [1, 2], "id": "a property of this name",
          ]))
    }
    var film = try #require(try database.snapshot().value(Film.self, id: "m"))
    film.year = nil
    film.tags.append("b")
    let document = try database.write { try $0.put(film) }
    let expected: Value.Object = [
      "title": "M", "tags": ["a", "b"], "director": ["name": "Lang"], "a": 1, "zz": [1, 2],
      "id": "a property of this name",
    ]
    #expect(document.properties == expected)
    #expect(document.revision?.generation == 2)
    #expect(try database.snapshot().document("m")?.properties == expected)
    // The stored form is the same, however the document was made.
    #expect(try Document(expected).encoded().bytes == document.encoded().bytes)
  }

  @Test func `encoding a value into a document leaves its other properties unchanged`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed", seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<100 {
      guard case .object(var properties) = Value.randomObject(&random) else { return }
      for name in properties.keys where name.hasPrefix("_") { properties[name] = nil }
      properties["year"] = 1
      var document = Document(properties)
      let film = Film(title: "t", year: Bool.random(using: &random) ? nil : 2)
      try document.encode(film)
      properties["title"] = "t"
      properties["tags"] = []
      properties["year"] = film.year.map { .int(Int64($0)) }
      #expect(document.properties == properties)
      try document.encoded().validate()
    }
  }

  @Test func `putting a dictionary replaces all properties`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(["a": 1, "b": 2], id: "d")
      try transaction.put(["b": 3], id: "d")
    }
    #expect(try database.snapshot().document("d")?.properties == ["b": 3])
    #expect(try database.snapshot().value([String: Int].self, id: "d") == ["b": 3])
  }

  @Test func `the last writer wins unless the type has a revision property`() throws {
    let database = try Database.inMemory()
    try database.write { try $0.put(Checked(id: "c", title: "first")) }
    let read = try #require(try database.snapshot().value(Checked.self, id: "c"))
    try database.write { transaction in
      let film = try transaction.values(Film.self, ids: ["x"])
      #expect(film == [nil])
      try transaction.update("c") { $0["title"] = "second" }
    }
    var stale = read
    stale.title = "third"
    for value in [stale, Checked(id: "c", title: "new")] {
      let error = #expect(throws: DatabaseError.self) { try database.write { try $0.put(value) } }
      #expect(error?.code == .conflict)
      #expect(error?.documentID == "c")
    }
    try database.write { try $0.put(Film(id: "c", title: "fourth")) }
    #expect(try database.snapshot().document("c")?["title"] == "fourth")
    // A document that was deleted in the meantime is a conflict too, and is not recreated.
    let fresh = try #require(try database.snapshot().value(Checked.self, id: "c"))
    try database.write { _ = try $0.delete("c") }
    #expect { try database.write { try $0.put(fresh) } } throws: {
      ($0 as? DatabaseError)?.code == .conflict
    }
    // Without a revision, putting creates the document again and keeps none of its old properties.
    let again = try database.write { try $0.put(Film(id: "c", title: "fifth")) }
    #expect(again.properties == ["title": "fifth", "tags": []])
  }

  @Test func `putting a value under another ID than its own is refused`() throws {
    let database = try Database.inMemory()
    let document = try database.write { try $0.put(Film(title: "M"), id: "m") }
    #expect(document.id == "m")
    #expect(try database.write { try $0.put(Film(id: "m", title: "M"), id: "m") }.id == "m")
    for id in ["n", "_m", ""] {
      #expect { try database.write { try $0.put(Film(id: "m", title: "M"), id: id) } } throws: {
        ($0 as? DatabaseError)?.code == .invalidDocumentID
      }
    }
    #expect { try database.write { try $0.put(Film(id: "_m", title: "M")) } } throws: {
      ($0 as? DatabaseError)?.code == .invalidDocumentID
    }
  }

  @Test func `put(contentsOf:) is atomic, even with repeated IDs`() throws {
    let database = try Database.inMemory()
    let films = (0..<200).map { Film(id: "f\($0 % 150)", title: "t\($0)", year: $0) }
    let ids = try database.write { try $0.put(contentsOf: films) }
    #expect(ids == films.map(\.id))
    #expect(try database.snapshot().count == 150)
    #expect(try database.snapshot().value(Film.self, id: "f7")?.title == "t157")
    #expect(try database.snapshot().revision(of: "f7")?.generation == 2)
    let checked = ["a", "b", "a"].map { Checked(id: $0, title: $0) }
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(contentsOf: checked) }
    }
    #expect(try database.snapshot().count == 150)
    let sequence = try database.snapshot().sequence
    struct Number: Codable { var number: Double }
    try database.write { transaction in
      #expect(throws: DatabaseError.self) {
        try transaction.put(contentsOf: [1, .nan].map { Number(number: $0) })
      }
    }
    #expect(try database.snapshot().sequence == sequence)
  }

  @Test func `put(contentsOf:) stores a new object that it gets twice as one document`() throws {
    final class Guest: Codable, @unchecked Sendable {
      @DocumentID var id: String? = nil
      var name: String
      init(name: String) { self.name = name }
    }
    let database = try Database.inMemory()
    let (first, second) = (Guest(name: "a"), Guest(name: "b"))
    let ids = try database.write { try $0.put(contentsOf: [first, second, first]) }
    #expect(ids == [first.id, second.id, first.id])
    #expect(try database.snapshot().count == 2)
    #expect(try database.snapshot().value(Guest.self, id: ids[0])?.name == "a")
  }

  @Test func `a cursor throws for a value that does not decode and continues after it`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      try transaction.put(contentsOf: ["a", "b", "d"].map { Film(id: $0, title: $0) })
      try transaction.put(Document(id: "c", ["title": 3]))
      let inside = try transaction.documents(Film.self, .prefix("a"))
      #expect(try inside.collect().map(\.title) == ["a"])
    }
    var films = try database.snapshot().documents(Film.self, "b"...)
    #expect(try films.next()?.id == "b")
    let error = #expect(throws: DatabaseError.self) { try films.next() }
    #expect(error?.documentID == "c")
    #expect(error?.propertyPath == "title")
    #expect(try films.next()?.id == "d")
    #expect(try films.next() == nil)
  }

  @Test
  func `DocumentID and DocumentRevision properties are plain texts in nested values and in JSON`()
    throws
  {
    struct Shelf: Codable, Equatable {
      @DocumentID var id: String? = nil
      var best: Film
    }
    let shelf = Shelf(id: "s", best: Film(id: "m", title: "M"))
    let document = try Document(encoding: shelf)
    #expect(document.id == "s")
    #expect(document.properties == ["best": ["id": "m", "title": "M", "tags": []]])
    #expect(try document.decode(Shelf.self) == shelf)

    let text = try JSONEncoder().encode(shelf)
    #expect(try JSONDecoder().decode(Shelf.self, from: text) == shelf)
    let bare = try JSONDecoder().decode(
      Checked.self, from: Data(#"{"title": "M", "revision": null}"#.utf8))
    #expect(bare == Checked(title: "M"))
    let revision = RevisionID("1-0123456789abcdef0123456789abcdef")
    let revised = Checked(id: "x", revision: revision, title: "M")
    let again = try JSONDecoder().decode(Checked.self, from: JSONEncoder().encode(revised))
    #expect(again == revised)
    #expect(try Document(encoding: revised).revision == revision)
    #expect(Set([revised, again]).count == 1)
  }

  @Test func `a subclass inherits its DocumentID property`() throws {
    class Base: Codable, @unchecked Sendable {
      @DocumentID var id: String? = nil
      var name = ""
      init() {}
    }
    final class Derived: Base, @unchecked Sendable {
      var age = 1
      private enum CodingKeys: CodingKey { case age }
      override init() { super.init() }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        age = try container.decode(Int.self, forKey: .age)
        try super.init(from: container.superDecoder())
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(age, forKey: .age)
        try super.encode(to: container.superEncoder())
      }
    }
    let database = try Database.inMemory()
    let derived = Derived()
    derived.name = "d"
    let document = try database.write { try $0.put(derived) }
    #expect(derived.id == document.id)
    #expect(document.properties == ["age": 1, "super": ["name": "d"]])
    let read = try #require(try database.snapshot().value(Derived.self, id: document.id))
    #expect(read.id == document.id)
    #expect(read.name == "d")
  }

  @Test func `a value that fails to encode leaves the transaction unchanged`() throws {
    let database = try Database.inMemory()
    struct Number: Codable { var number: Double }
    try database.write { transaction in
      try transaction.put(Number(number: 1), id: "a")
      #expect(throws: DatabaseError.self) { try transaction.put(Number(number: .nan), id: "a") }
      #expect(try transaction.value(Number.self, id: "a")?.number == 1)
    }
    #expect(try database.snapshot().value(Number.self, id: "a")?.number == 1)
    #expect(try database.snapshot().revision(of: "a")?.generation == 1)
  }
}
