import Divan
import Foundation
import Testing

/// Tests of storing and finding a collection of real films.
///
/// The films are stored once for all tests, which therefore run one after the other.
@Suite(.serialized) struct FilmTests {
  @Test func `every film survives a round trip`() throws {
    guard let collection = try FilmCollection.shared() else { return }
    let snapshot = try collection.database.snapshot()
    let stored = try snapshot.values(Film.self, ids: collection.films.compactMap(\.id))
    #expect(stored.count == collection.films.count && stored.count > 10_000)
    #expect(try snapshot.count == stored.count)
    for (film, other) in zip(collection.films, stored) where film != other {
      Issue.record("\(film) was read as \(String(describing: other))")
    }
    print("films:", stored.count)
  }

  @Test func `queries for films agree with a plain search, with and without indexes`() throws {
    guard let collection = try FilmCollection.shared() else { return }
    let all = Query<Film>()
    let western = all.filter { $0.year == 1950 && $0.genres.contains("Western") }.sorted(
      by: \.title)
    let cowboy = all.filter { $0.cast.contains("John Wayne") }.sorted(by: \.year, .descending)
      .sorted(by: \.title)
    let westerns = collection.films.filter { $0.year == 1950 && $0.genres.contains("Western") }
      .sorted { $0.isBefore($1) }
    let starring = collection.films.filter { $0.cast.contains("John Wayne") }
      .sorted { $0.year == $1.year ? $0.isBefore($1) : $0.year > $1.year }
    let decades = Dictionary(grouping: collection.films) { $0.year / 10 * 10 }.mapValues(\.count)
    #expect(westerns.count > 100 && starring.count > 100 && decades.count == 10)

    func expectResults(_ snapshot: Snapshot) throws {
      #expect(try snapshot.ids(western) == westerns.map { $0.id })
      #expect(try snapshot.ids(cowboy) == starring.map { $0.id })
    }
    try expectResults(try collection.database.snapshot())
    let years = try collection.database.snapshot().groups(all, by: { $0.year }, .count)
    var counts: [Int: Int] = [:]
    for (year, count) in years { counts[year / 10 * 10, default: 0] += count }
    #expect(counts == decades)

    try collection.database.addIndex(
      DocumentIndex("year", on: "year") { $0["type"] == "Film" })
    try collection.database.addIndex(
      DocumentIndex("cast", on: "cast", eachElement: true) { $0["type"] == "Film" })
    let snapshot = try collection.database.snapshot()
    try expectResults(snapshot)
    #expect(try snapshot.explain(western).indexes == ["year"])
    #expect(try snapshot.explain(cowboy).indexes == ["cast"])
    for (decade, count) in decades {
      #expect(try snapshot.count(all.filter { $0.year.isIn(decade..<decade + 10) }) == count)
    }
    let first = try snapshot.explain(all.filter { $0.year < 1910 })
    #expect(first.results == decades[1900] && first.documentsRead == 0, "\(first)")
  }

  /// A film of the collection.
  struct Film: DocumentCodable, Hashable, Sendable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int
    var cast: [String]
    var genres: [String]
    var href: String?
    var `extract`: String?
    var thumbnail: URL?
    var thumbnailWidth: Int?
    var thumbnailHeight: Int?

    enum CodingKeys: String, CodingKey {
      case id, title, year, cast, genres, href, `extract`, thumbnail
      case thumbnailWidth = "thumbnail_width"
      case thumbnailHeight = "thumbnail_height"
    }

    /// Whether this film sorts before `other` by title, and by ID if the titles are equal.
    func isBefore(_ other: Film) -> Bool {
      if Collation.precedes(title, other.title) { return true }
      return !Collation.precedes(other.title, title) && (id ?? "") < (other.id ?? "")
    }
  }
}

/// A store of all films, and the films themselves with their IDs in it.
struct FilmCollection: Sendable {
  let database: Database
  let films: [FilmTests.Film]

  /// The store that all tests share; nil, with a message, if there are no films.
  static func shared() throws -> FilmCollection? {
    guard let loaded = try loading.get() else {
      print("DIVAN_DATA is not set: no films were read")
      return nil
    }
    return loaded
  }

  private static let loading = Result { try load() }

  private static func load() throws -> FilmCollection? {
    guard let directory = ProcessInfo.processInfo.environment["DIVAN_DATA"] else { return nil }
    let folder = URL(fileURLWithPath: directory + "/movies")
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    let database = try Database.inMemory()
    var all: [FilmTests.Film] = []
    for file in files.sorted(by: { $0.path < $1.path }) where file.pathExtension == "json" {
      var films = try JSONDecoder().decode([FilmTests.Film].self, from: Data(contentsOf: file))
      let ids = try database.write { try $0.put(contentsOf: films) }
      for (index, id) in ids.enumerated() { films[index].id = id }
      all += films
    }
    return FilmCollection(database: database, films: all)
  }
}
