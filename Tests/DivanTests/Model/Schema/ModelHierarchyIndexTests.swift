import DivanTesting
import Foundation
import ProofKit
import Testing

@testable import Divan

/// Tests of indexes of classes with subclasses: one index orders all, and is unique across all.
struct ModelHierarchyIndexTests {
  class Work: Model {
    @Persisted(index: .unique) var code: String?
    @Persisted(index: .value) var year: Int?
    @Persisted var title: String
    override class var documentType: String? { "work" }
    override class var indexes: [ModelIndex] {
      [ModelIndex(of: Work.self, on: { $0.title }, { $0.year }, where: { $0.year != nil })]
    }
  }

  class Film: Work {
    @Persisted(index: .value) var minutes: Int?
    override class var documentType: String? { "film" }
  }

  final class Short: Film {
    override class var documentType: String? { "short" }
  }

  final class Series: Work {
    override class var documentType: String? { "series" }
  }

  /// A subclass without a document type of its own.
  final class Play: Work {}

  final class Place: Model {
    @Persisted(index: .unique) var code: String?
    override class var documentType: String? { "place" }
  }

  private let database: Database
  private let registry: ModelRegistry
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    registry = try ModelRegistry(
      Work.self, Film.self, Short.self, Series.self, Place.self)
    context = database.makeContext(registry)
  }

  private func index(_ name: String) throws -> DocumentIndex? {
    try database.indexes().first { $0.name == name }
  }

  private func types(_ name: String) throws -> IndexCondition? { try index(name)?.conditions.first }

  private static let all: IndexCondition = .isIn("type", ["film", "series", "short", "work"])

  private func all<M: Model>(_ type: M.Type) throws -> [M] {
    let models = try context.models(type)
    return try models.collect()
  }

  /// Stores works of each class in turn, and documents that are not works.
  private func fill(_ count: Int, in context: ModelContext) throws {
    let classes: [Work.Type] = [Work.self, Film.self, Short.self, Series.self]
    for number in 0..<count {
      let type = classes[number % 4]
      let work = type.init()
      try context.insert(work)
      work.title = "Work \(number)"
      work.code = number % 5 == 0 ? nil : "c\(number)"
      work.year = number % 7 == 0 ? nil : 1900 + number * 13 % 120
      (work as? Film)?.minutes = number % 11
    }
    try context.save()
    try database.write { transaction in
      for number in 0..<count {
        try transaction.put(
          Document(id: "other-\(number)", ["type": "place", "year": .int(Int64(1850 + number))]))
      }
    }
  }

  // MARK: One order for all classes

  @Test func `one index sorts a class with its subclasses, and few rows are read`() throws {
    try database.addIndexes(for: Work.self, Film.self, Short.self, Series.self)
    try fill(800, in: context)
    #expect(try types("model:work.year") == Self.all)
    let newest = Query<Work>().sorted(by: \.year, .descending).limit(10)
    let explanation = try context.explain(newest)
    #expect(explanation.indexes == ["model:work.year"], "\(explanation)")
    #expect(explanation.order == "as in the index" && explanation.documentsRead == 0)
    let years = try context.find(newest).map { $0.year ?? 0 }
    let allYears = try all(Work.self).compactMap(\.year)
    #expect(years == Array(allYears.sorted(by: >).prefix(10)))
    let oldest = Query<Work>().filter { $0.year != nil }.sorted(by: \.year).limit(10)
    let ascending = try context.explain(oldest)
    #expect(ascending.indexes == ["model:work.year"], "\(ascending)")
    #expect(ascending.order == "as in the index" && ascending.documentsRead < 30)
    #expect(try context.find(oldest).map { $0.year ?? 0 } == Array(allYears.sorted().prefix(10)))
  }

  @Test func `a filter with a limit on a class with subclasses reads few rows`() throws {
    try database.addIndexes(for: Work.self, Film.self, Short.self, Series.self)
    try fill(800, in: context)
    let some = Query<Work>().filter { $0.year > 1950 && $0.title.hasSuffix("1") }
      .sorted(by: \.year).limit(5)
    let explanation = try context.explain(some)
    #expect(explanation.indexes == ["model:work.year"], "\(explanation)")
    #expect(explanation.order == "as in the index" && explanation.documentsRead < 200)
    let one = try context.explain(Query<Work>().filter { $0.year == 1950 })
    #expect(one.indexes == ["model:work.year"] && one.documentsRead == 0, "\(one)")
  }

  @Test func `a query for a subclass uses its own index or else that of its superclass`()
    throws
  {
    try database.addIndexes(for: Work.self, Film.self, Short.self, Series.self)
    try fill(400, in: context)
    #expect(try types("model:film.year") == .isIn("type", ["film", "short"]))
    #expect(try types("model:film.minutes") == .isIn("type", ["film", "short"]))
    #expect(try types("model:series.year") == .equal("type", "series"))
    #expect(try index("model:work.minutes") == nil)
    let long = Query<Film>().filter { $0.minutes > 8 }
    let explanation = try context.explain(long)
    #expect(explanation.indexes == ["model:film.minutes"] && explanation.documentsRead == 0)
    let films = try all(Film.self)
    #expect(
      try context.count(long) == films.count { ($0.minutes ?? 0) > 8 } && explanation.results > 0)
    try database.removeIndex(named: "model:series.year")
    let series = Query<Series>().filter { $0.year > 1990 }
    let borrowed = try database.makeContext(registry).explain(series)
    #expect(borrowed.indexes == ["model:work.year"], "\(borrowed)")
    #expect(
      borrowed.results
        == (try all(Series.self).count { ($0.year ?? 0) > 1990 }))
  }

  @Test func `queries on a class hierarchy agree with and without indexes`() throws {
    try database.addIndexes(for: Work.self, Film.self, Short.self, Series.self)
    try fill(300, in: context)
    let plain = try Database.inMemory()
    var all = try database.snapshot().documents()
    while let document = try all.next() {
      try plain.write { _ = try $0.put(Document(id: document.id, document.properties)) }
    }
    func agree<M: Work>(_ type: M.Type) throws {
      let queries: [Query<M>] = [
        Query<M>(), Query<M>().filter { $0.year == 1950 },
        Query<M>().filter { $0.year > 1940 && $0.year <= 1999 },
        Query<M>().filter { $0.code == "c33" || $0.year < 1910 },
        Query<M>().filter { $0.title == "Work 8" && $0.year != nil },
        Query<M>().filter { $0.year == nil }, Query<M>().filter { !($0.year > 1950) },
      ]
      for (number, query) in queries.enumerated() {
        for query in [
          query, query.sorted(by: \.year), query.sorted(by: \.year, .descending),
          query.sorted(by: \.title, texts: .bytes).sorted(by: \.year),
        ] {
          for query in [query, query.limit(7), query.offset(3).limit(20)] {
            let expected = try plain.makeContext(registry).ids(query)
            #expect(try database.makeContext(registry).ids(query) == expected, "\(type) \(number)")
            // Without a registry, a query returns only the class itself.
            let alone = try plain.snapshot().ids(query)
            #expect(try database.snapshot().ids(query) == alone, "\(type) \(number) alone")
          }
        }
      }
    }
    try agree(Work.self)
    try agree(Film.self)
    try agree(Short.self)
    try agree(Series.self)
  }

  // MARK: Unique among all classes

  @Test func `a unique property is unique across a class and its subclasses`() throws {
    let film = Film(in: context)
    film.code = "x"
    try context.save()
    // The class itself was not passed, and none of its direct instances was saved.
    #expect(try types("model:work.code") == Self.all)
    for type in [Work.self, Series.self, Short.self, Film.self] as [Work.Type] {
      let second = type.init()
      try context.insert(second)
      second.code = "x"
      let error = #expect(throws: DatabaseError.self) { try second.save() }
      #expect(error?.code == .notUnique, "\(type)")
      second.code = "\(type)"
      try second.save()
    }
    // A document that is not a work may have the same code.
    let place = Place(in: context)
    place.code = "x"
    try context.save()
    #expect(try types("model:place.code") == .equal("type", "place"))
  }

  @Test func `without a registry values are unique across the classes that were saved`()
    throws
  {
    let context = database.makeContext()
    let film = Film(in: context)
    film.code = "x"
    try film.save()
    #expect(try types("model:work.code") == .isIn("type", ["film", "work"]))
    let series = Series(in: context)
    series.code = "x"
    #expect(throws: DatabaseError.self) { try series.save() }
    #expect(try types("model:work.code") == .isIn("type", ["film", "series", "work"]))
  }

  @Test func `duplicates across two classes keep the earlier index in use`()
    throws
  {
    try database.addIndexes(for: Work.self)
    let own = try index("model:work.code")
    #expect(own?.conditions == [.equal("type", "work")])
    try database.write { transaction in
      try transaction.put(Document(id: "a", ["type": "work", "code": "x"]))
      try transaction.put(Document(id: "b", ["type": "series", "code": "x"]))
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.addIndexes(for: Work.self, Series.self)
    }
    #expect(error?.code == .notUnique)
    #expect(error?.message.contains("\"a\"") == true && error?.message.contains("\"b\"") == true)
    #expect(try index("model:work.code") == own)
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.put(Document(id: "c", ["type": "work", "code": "x"])) }
    }
    try database.write { try $0.delete("b") }
    try database.addIndexes(for: Work.self, Series.self)
    #expect(try types("model:work.code") == .isIn("type", ["series", "work"]))
  }

  // MARK: Known subclasses

  @Test func `an index is rebuilt when a subclass becomes known`() throws {
    try database.addIndexes(for: Work.self)
    #expect(try types("model:work.year") == .equal("type", "work"))
    let work = Work(in: context, id: "w")
    work.year = 1927
    try work.save()
    // The registry names all subclasses.
    #expect(try types("model:work.year") == Self.all)
    #expect(try database.snapshot().ids(by: "model:work.year").collect() == ["w"])
    #expect(try index("model:film.year") == nil)
    #expect(try database.check().isSound)
  }

  @Test func `known subclasses stay in the index, so that reopening rebuilds no index`() throws {
    let system = SimulatedFileSystem()
    var configuration = Configuration()
    configuration.fileSystem = system
    // Returns the number of the commit that created each index.
    func numbers(_ database: Database) throws -> [String: UInt64] {
      let kept = try database.store.view().state.indexes
      return Dictionary(uniqueKeysWithValues: kept.map { ($0.index.name, $0.number) })
    }
    var database = try Database(at: "/works", configuration: configuration)
    try database.addIndexes(for: Work.self, Film.self, Series.self)
    let (before, made) = (try database.indexes(), try numbers(database))
    try database.close()
    database = try Database(at: "/works", configuration: configuration)
    try database.addIndexes(for: Work.self)
    try database.addIndexes(for: Film.self, Series.self)
    let context = database.makeContext(try ModelRegistry(Work.self, Film.self, Series.self))
    let film = Film(in: context)
    try film.save()
    #expect(try database.indexes() == before)
    #expect(try numbers(database) == made && made.count > 6)
  }

  class Moved: Model {
    @Persisted(index: .value) var year: Int?
    override class var documentType: String? { "film" }
  }

  @Test func `a class that is no longer a subclass is removed from the index`() throws {
    try database.write {
      _ = try $0.put(Document(id: "f", ["type": "film", "year": 1]))
    }
    try database.addIndex(
      DocumentIndex("model:work.year", on: "year", where: [.isIn("type", ["film", "work", "old"])]))
    try database.addIndexes(for: Work.self)
    #expect(try types("model:work.year") == .isIn("type", ["film", "old", "work"]))
    try database.addIndexes(for: Moved.self, Work.self)
    #expect(try types("model:work.year") == .isIn("type", ["old", "work"]))
    #expect(try database.snapshot().ids(by: "model:work.year").collect() == [])
  }

  @Test func `a subclass without a document type is in the index of its superclass`() throws {
    try database.addIndexes(for: Play.self)
    #expect(try types("model:work.year") == .equal("type", "work"))
    let play = Play(in: database.makeContext())
    play.code = "x"
    try play.save()
    let work = Work(in: database.makeContext())
    work.code = "x"
    #expect(throws: DatabaseError.self) { try work.save() }
  }

  final class Elsewhere: Work {
    override class var documentType: String? { "elsewhere" }
    override class var documentTypeKey: String { "kind" }
  }

  @Test func `a subclass with another document type key is not in the index`() throws {
    try database.addIndexes(for: Work.self, Elsewhere.self)
    #expect(try types("model:work.year") == .equal("type", "work"))
    #expect(try types("model:elsewhere.year") == .equal("kind", "elsewhere"))
  }
}
