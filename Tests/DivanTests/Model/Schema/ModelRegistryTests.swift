import Testing

@testable import Divan

/// Tests of how the `type` of a document selects the class of its model.
struct ModelRegistryTests {
  private class Show: Model {
    @Persisted var title: String
    override class var documentType: String? { "show" }
  }

  private final class Film: Show {
    @Persisted var minutes: Int
    override class var documentType: String? { "film" }
  }

  private final class Series: Show {
    @Persisted var seasons: Int
    override class var documentType: String? { "series" }
  }

  private final class Listing: Model {
    @Persisted var show: Show?
    @Persisted var shows: [Show]
    override class var documentType: String? { "listing" }
  }

  /// A model with its document type under another key.
  private final class Place: Model {
    @Persisted var type: String
    override class var documentType: String? { "place" }
    override class var documentTypeKey: String { "kind" }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    try database.put("f", #"{"type": "film", "title": "F", "minutes": 90}"#)
    try database.put("s", #"{"type": "series", "title": "S", "seasons": 3}"#)
    try database.put("x", #"{"type": "show", "title": "X"}"#)
    try database.put("l", #"{"type": "listing", "show": "f", "shows": ["s", "x", "f"]}"#)
    try database.put("u", #"{"type": "unknown", "title": "U"}"#)
    context = database.makeContext(
      try ModelRegistry(Show.self, Film.self, Series.self, Listing.self, Place.self))
  }

  private func ids(_ type: (some Model).Type) throws -> [String] {
    let models = try context.models(type)
    return try models.collect().map(\.id)
  }

  @Test func `a document loaded as a base class becomes a model of the class for its type`() throws
  {
    #expect((try context.model(Show.self, id: "f") as? Film)?.minutes == 90)
    #expect((try context.model(Show.self, id: "s") as? Series)?.seasons == 3)
    #expect(type(of: try #require(try context.model(Show.self, id: "x"))) == Show.self)
    #expect(type(of: try #require(try context.model(Model.self, id: "l"))) == Listing.self)
  }

  @Test func `loading a document as another class than its own throws`() throws {
    let error = #expect(throws: DatabaseError.self) { try context.model(Film.self, id: "s") }
    #expect(error?.code == .modelClassMismatch)
    #expect(error?.documentID == "s")
  }

  @Test func `a document of an unregistered type is loaded as the requested class`() throws {
    #expect(try context.model(Film.self, id: "u")?.title == "U")
  }

  @Test func `references return models of the class for the document's type`() throws {
    let listing = try #require(try context.model(Listing.self, id: "l"))
    #expect(listing.show is Film)
    #expect(listing.shows.map { "\(type(of: $0))" } == ["Series", "Show", "Film"])
  }

  @Test func `the models of a class include those of its subclasses`() throws {
    #expect(try ids(Show.self) == ["f", "s", "x"])
    #expect(try ids(Film.self) == ["f"])
    #expect(try ids(Model.self) == ["f", "l", "s", "u", "x"])
  }

  @Test func `a document type can be stored under another key`() throws {
    let place = Place(in: context, id: "p")
    place.type = "hall"
    try place.save()
    #expect(try database.json("p") == #"{"kind":"place","type":"hall"}"#)
    #expect(try ids(Place.self) == ["p"])
  }

  @Test func `registering two classes for one type or a class without a type throws`() throws {
    final class Movie: Model {
      override class var documentType: String? { "film" }
    }
    final class Typeless: Model {
      override class var documentType: String? { nil }
    }
    for classes in [[Film.self, Movie.self], [Typeless.self]] as [[Model.Type]] {
      let error = #expect(throws: DatabaseError.self) {
        var registry = try ModelRegistry()
        for each in classes { try registry.register(each) }
      }
      #expect(error?.code == .invalidModelClass)
    }
    var registry = try ModelRegistry(Film.self)
    try registry.register(Film.self)
    #expect(registry["film"] == Film.self && registry["movie"] == nil)
  }

  @Test func `a closure chooses the class of unregistered types`() throws {
    let registry = try ModelRegistry(Show.self) { $0 == "film" ? Film.self : nil }
    let context = database.makeContext(registry)
    #expect(try context.model(Show.self, id: "f") is Film)
    #expect(type(of: try #require(try context.model(Show.self, id: "x"))) == Show.self)
    #expect(type(of: try #require(try context.model(Show.self, id: "s"))) == Show.self)
  }

  @Test func `for a document with two types the class registered first is used`() throws {
    try database.put("p", #"{"type": "film", "kind": "place"}"#)
    let (film, place) = (
      try ModelRegistry(Film.self, Place.self), try ModelRegistry(Place.self, Film.self)
    )
    #expect(try database.makeContext(film).model(Model.self, id: "p") is Film)
    #expect(try database.makeContext(place).model(Model.self, id: "p") is Place)
  }
}
