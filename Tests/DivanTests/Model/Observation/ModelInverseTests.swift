import Divan
import DivanLog
import DivanTesting
import Observation
import ProofKit
import Synchronization
import Testing

private class Movie: Model {
  @Persisted var title: String
  @Persisted var director: Artist?
  @Persisted(key: "people") var cast: [Artist]

  override class var documentType: String? { "movie" }
}

private final class Short: Movie {
  override class var documentType: String? { "short" }
}

private final class Artist: Model {
  @Persisted var name: String
  @Inverse(\Movie.director) var directed: [Movie]
  @Inverse(\Movie.cast) var movies: [Movie]

  override class var documentType: String? { "artist" }
}

private final class Performance: Model {
  @Persisted var title: String
  @Persisted var director: Performer?
  override class var documentType: String? { nil }
}

private final class Performer: Model {
  @Inverse(\Performance.director, onDelete: .cascade) var directed: [Performance]
  override class var documentType: String? { nil }
}

/// Tests of inverse references, which return the models that refer to a model.
struct ModelInverseTests {
  let database: Database
  let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    let registry = try ModelRegistry(Movie.self, Short.self, Artist.self)
    context = database.makeContext(registry)
  }

  private func movie(
    _ id: String, by director: Artist? = nil, with cast: [Artist] = []
  ) -> Movie {
    let movie = Movie(in: context, id: id)
    movie.director = director
    movie.cast = cast
    return movie
  }

  /// Returns whether an observer of an artist's `directed` is notified during a change.
  private func observing(_ artist: Artist, _ change: () throws -> Void) rethrows -> Bool {
    let wasNotified = Mutex(false)
    withObservationTracking {
      _ = artist.directed
    } onChange: {
      wasNotified.withLock { $0 = true }
    }
    try change()
    return wasNotified.withLock { $0 }
  }

  @Test(arguments: [true, false])
  func `an inverse returns the models with a single or multiple reference to a model`(
    withIndex: Bool
  ) throws {
    if withIndex { try database.addIndexes(for: Artist.self) }
    let (ada, bob) = (Artist(in: context, id: "ada"), Artist(in: context, id: "bob"))
    let (x, y) = (movie("x", by: ada, with: [bob, ada, bob]), movie("y", by: ada, with: [bob]))
    // The same as if everything was saved.
    #expect(ada.directed == [x, y] && bob.movies == [x, y] && ada.movies == [x])
    try context.save()
    #expect(ada.directed == [x, y] && bob.movies == [x, y] && ada.movies == [x])
    let other = database.makeContext()
    let found = try #require(try other.model(Artist.self, id: "bob"))
    #expect(found.movies.map(\.id) == ["x", "y"] && found.directed == [])
    #expect(try found.movies.first === other.model(Movie.self, id: "x"))
    #expect(
      try database.indexes().map(\.name) == ["reference:director", "reference:people"])
  }

  @Test func `an inverse includes unsaved changes but not reverted or deleted models`() throws {
    let (ada, bob) = (Artist(in: context, id: "ada"), Artist(in: context, id: "bob"))
    let x = movie("x", by: ada)
    try context.save()
    x.director = bob
    #expect(ada.directed == [] && bob.directed == [x])
    x.revert()
    #expect(ada.directed == [x] && bob.directed == [])
    let y = movie("a", by: ada)
    #expect(ada.directed == [x, y])
    try y.delete()
    try x.delete()
    #expect(ada.directed == [])
  }

  @Test func `an inverse finds only models of its class and subclasses`() throws {
    let ada = Artist(in: context, id: "ada")
    let short = Short(in: context, id: "s")
    short.director = ada
    try context.save()
    try database.write { transaction in
      try transaction.put(Document(id: "thing", ["type": "thing", "director": "ada"]))
    }
    try context.refresh()
    #expect(ada.directed == [short])
  }

  @Test func `the missing index of an inverse is built on the next save`() throws {
    let ada = Artist(in: context, id: "ada")
    _ = movie("x", by: ada)
    try context.save()
    #expect(try database.indexes().isEmpty)
    #expect(ada.directed.count == 1)
    _ = movie("y", by: ada)
    try context.save()
    #expect(try database.indexes().map(\.name) == ["reference:director"])
    #expect(ada.directed.map(\.id) == ["x", "y"])
  }

  @Test(arguments: [true, false])
  func `an inverse distinguishes models with canonically equal IDs`(withIndex: Bool) throws {
    if withIndex { try database.addIndexes(for: Artist.self) }
    let ada = Artist(in: context, id: "ada")
    _ = movie("e\u{301}", with: [ada])
    _ = movie("\u{e9}", with: [ada])
    try context.save()
    #expect(ada.movies.count == 2)
  }

  @Test func `a damaged document does not hide others from an inverse without an index`() throws {
    let disk = SimulatedFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = disk
    configuration.maintenance = .manual
    let text = "The story of b, which is told at length"
    let writer = try Database(at: "/s.divan", configuration: configuration)
    try writer.write { transaction in
      try transaction.put(Document(id: "ada"))
      for id in ["a", "b", "c"] {
        try transaction.put(
          Document(id: id, ["director": "ada", "title": id == "b" ? .string(text) : ""]))
      }
    }
    try writer.writeCheckpoint()
    try writer.close()
    let name = try #require(try disk.list("/s.divan").first { $0.hasSuffix(".segment") })
    let bytes = try disk.contents(of: "/s.divan/\(name)", limit: 1 << 20).array
    let offset = try #require(
      bytes.indices.dropLast(text.utf8.count).last { bytes[$0...].starts(with: text.utf8) })
    try disk.corrupt("/s.divan/\(name)", atOffset: offset, mask: 1)

    let database = try Database(at: "/s.divan", configuration: configuration)
    let context = database.makeContext()
    var errors: [any Error] = []
    context.errorHandler = { errors.append($0) }
    let ada = try #require(try context.model(Performer.self, id: "ada"))
    #expect(ada.directed.map(\.id) == ["a", "c"])
    #expect((errors.first as? DatabaseError)?.code == .damaged)
    // The models to delete with her cannot be determined.
    let error = #expect(throws: DatabaseError.self) { try ada.delete() }
    #expect(error?.code == .damaged)
  }

  @Test func `an inverse finds externally changed documents after a refresh`() throws {
    try database.addIndexes(for: Artist.self)
    let ada = Artist(in: context, id: "ada")
    try ada.save()
    try database.write { transaction in
      try transaction.put(Document(id: "x", ["type": "movie", "director": "ada"]))
    }
    #expect(ada.directed == [])
    try context.refresh()
    #expect(ada.directed.map(\.id) == ["x"])
  }

  @Test func `observers of an inverse are notified when references are added or removed`() throws {
    try database.addIndexes(for: Artist.self)
    let (ada, bob) = (Artist(in: context, id: "ada"), Artist(in: context, id: "bob"))
    let x = movie("x")
    try context.save()
    func isNotified(of change: () throws -> Void) rethrows -> Bool {
      try observing(ada, change)
    }
    #expect(isNotified { x.director = ada })
    #expect(!isNotified { x.title = "X" })
    #expect(isNotified { x.director = bob })
    #expect(!isNotified { x.director = nil })
    x.director = ada
    #expect(isNotified { x.revert() })
    try #expect(!isNotified { try context.save() })
    #expect(isNotified { _ = movie("y", by: ada) })
    #expect(
      try isNotified {
        try database.write { try $0.put(Document(id: "z", ["type": "movie", "director": "ada"])) }
        try context.refresh()
      })
  }

  @Test func `observers of an inverse are notified if a changed model is deleted externally`()
    throws
  {
    try database.addIndexes(for: Artist.self)
    let ada = Artist(in: context, id: "ada")
    let x = movie("x")
    try context.save()
    x.director = ada
    try database.remove("x")
    // Saving advances the context, and unsaved changes stay.
    try movie("y").save()
    #expect(ada.directed == [x])
    #expect(try observing(ada) { try context.refresh() })
    #expect(x.isDeleted && ada.directed == [])
  }

  @Test func `observers of an inverse are notified of documents that its transaction put`() throws {
    try database.addIndexes(for: Artist.self)
    try database.write { transaction in
      let context = transaction.makeContext()
      let ada = Artist(in: context, id: "ada")
      try transaction.put(Document(id: "z", ["type": "movie", "director": "ada"]))
      #expect(try observing(ada) { try context.refresh() })
      #expect(ada.directed.map(\.id) == ["z"])
    }
  }

  @Test func `an unreadable inverse is empty and reports its error to the context`() throws {
    let ada = Artist(in: context, id: "ada")
    _ = movie("x", by: ada)
    try context.save()
    var errors: [any Error] = []
    context.errorHandler = { errors.append($0) }
    try database.close()
    #expect(ada.directed == [])
    #expect((errors.first as? DatabaseError)?.code == .closed)
    #expect(Artist().directed == [])
  }

  @Test func `another index under the name that an inverse needs is kept and reported once`() throws
  {
    try database.addIndex(DocumentIndex("reference:director", on: "title"))
    let reported = errors(of: context)
    let ann = Artist(in: context, id: "ann")
    let movie = movie("m", by: ann)
    for title in ["a", "b", "c"] {
      movie.title = title
      try context.save()
      #expect(ann.directed == [movie])
    }
    #expect(reported.all == [.alreadyExists])
  }
}
