import Divan
import DivanLog
import Testing

private class Friend: Model {
  @Persisted var name: String
  @Persisted var friends: [Friend]
  @Persisted(key: "best friends") var best: [Friend]
  override class var documentType: String? { nil }
}

private final class Child: Friend {}

/// Tests of references to several models.
struct ModelReferenceTests {
  let database: Database

  init() throws { database = try Database.inMemory() }

  private func store(_ ids: [String], in context: ModelContext) throws -> [Friend] {
    let people = ids.map { id in
      let person = Friend(in: context, id: id)
      person.name = id.uppercased()
      return person
    }
    try context.save()
    return people
  }

  @Test func `references to several models are stored as IDs and return the context's objects`()
    throws
  {
    let context = database.makeContext()
    let people = try store(["a", "b", "c"], in: context)
    people[0].friends = [people[2], people[1]]
    people[0].best.append(people[1])
    #expect(people[0].changedProperties == ["friends", "best"])
    try people[0].save()
    #expect(try database.snapshot().document("a")?["friends"] == ["c", "b"])
    #expect(try database.snapshot().document("a")?["best friends"] == ["b"])
    people[0].friends = [people[2], people[1]]
    #expect(!people[0].needsSave)

    let other = database.makeContext()
    let person = try #require(try other.model(Friend.self, id: "a"))
    #expect(person.friends.map(\.name) == ["C", "B"])
    #expect(try person.friends[1] === other.model(Friend.self, id: "b"))
    person.friends.reverse()
    try other.save()
    #expect(try database.snapshot().document("a")?["friends"] == ["b", "c"])
  }

  @Test func `models that refer to each other are released`() throws {
    let context = database.makeContext()
    _ = try store(["a", "b"], in: context)
    weak var released: Friend?
    do {
      let a = try #require(try context.model(Friend.self, id: "a"))
      let b = try #require(try context.model(Friend.self, id: "b"))
      a.friends = [b, a]
      b.friends = [a]
      try context.save()
      #expect(a.friends.first?.friends.first === a)
      released = a
    }
    #expect(released == nil)
  }

  @Test func `unsaved models can be referred to and are inserted with the referring model`()
    throws
  {
    let context = database.makeContext()
    let detached = Friend()
    detached.friends = [Friend(), Friend()]
    detached.friends[0].name = "x"
    try context.insert(detached)
    #expect(context.unsavedModels.count == 3)
    #expect(detached.friends[0].context === context)
    try context.save()
    let other = database.makeContext()
    let read = try #require(try other.model(Friend.self, id: detached.id))
    #expect(read.friends.map(\.name) == ["x", ""])
  }

  @Test
  func `a list skips missing models, and changing it removes deleted ones`()
    throws
  {
    let context = database.makeContext()
    let people = try store(["a", "b", "c", "d"], in: context)
    people[0].friends = Array(people[1...])
    try people[0].save()
    try people[1].delete()
    try database.write { _ = try $0.purge("c") }
    let other = database.makeContext()
    let person = try #require(try other.model(Friend.self, id: "a"))
    #expect(person.friends.map(\.id) == ["d"])
    person.friends.sort { $0.id < $1.id }
    #expect(!person.needsSave)
    person.friends.append(person)
    try person.save()
    #expect(try database.snapshot().document("a")?["friends"] == ["c", "d", "a"])
  }

  @Test func `a list skips and reports models of another class and keeps references to them`()
    throws
  {
    let context = database.makeContext()
    let people = try store(["a", "b", "d"], in: context)
    people[0].friends = Array(people[1...])
    try people[0].save()
    let child = try context.insert(Child.self, document: Document(id: "c"))
    try child.save()
    try database.put("a", #"{"name":"A","friends":["b","c","d"]}"#)
    // Here `c` is loaded as an `Animal`, which is not a `Friend`.
    class Animal: Model {
      override class var documentType: String? { nil }
    }
    let other = database.makeContext()
    _ = try other.insert(Animal.self, document: Document(id: "z"))
    let animal = try #require(try other.model(Animal.self, id: "c"))
    var errors: [DatabaseError] = []
    other.errorHandler = { errors.append($0 as! DatabaseError) }
    let person = try #require(try other.model(Friend.self, id: "a"))
    #expect(person.friends.map(\.id) == ["b", "d"])
    #expect(errors.map(\.code) == [.modelClassMismatch])
    person.friends.removeFirst()
    person.friends.append(person)
    try person.save()
    #expect(try database.snapshot().document("a")?["friends"] == ["c", "d", "a"])
    _ = animal
  }

  @Test func `a list that is not stored as an array of texts reads as empty and is reported`()
    throws
  {
    try database.put("a", #"{"friends":"b","best friends":["a",1]}"#)
    let context = database.makeContext()
    var paths: [String?] = []
    context.mismatchHandler = { paths.append($0.propertyPath) }
    let person = try #require(try context.model(Friend.self, id: "a"))
    #expect(person.friends.isEmpty && person.best.isEmpty)
    #expect(paths == ["friends", "best friends"])
    #expect(throws: DatabaseError.self) { try person.load() }
    person.friends = []
    try person.save()
    #expect(try database.snapshot().document("a")?["friends"] == [])
    #expect(try database.snapshot().document("a")?["best friends"] == ["a", 1])
  }
}
