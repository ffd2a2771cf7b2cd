import Divan
import DivanTesting
import Foundation
import Testing

/// Tests of queries over models, over Codable types and over documents.
struct QueryTests {
  class Place: Model {
    @Persisted var name: String
    @Persisted var country: String?
    override class var documentType: String? { nil }
  }

  enum Size: String, Codable, CaseIterable {
    case small, large
  }

  class Event: Model {
    @Persisted var title: String
    @Persisted var done = false
    @Persisted(key: "due_date") var due: Date?
    @Persisted var priority = 3
    @Persisted var weight: Double
    @Persisted var tags: [String]
    @Persisted var place: Place?
    @Persisted var guests: [Place]
    @Persisted var size = Size.small
    @Persisted var notes: [String: Int]
    var isSelected = false
    var shout: String { title.uppercased() }
    var drinksOrSo: Int { priority * 2 }
    var low: String { title.lowercased() }
    var isOver: Bool { done || priority > 9 }
    var firstTag: String? { tags.first }
    override class var documentType: String? { "event" }
  }

  final class Party: Event {
    @Persisted var drinks = 1
    override class var documentType: String? { "party" }
  }

  private let database: Database
  private let context: ModelContext

  init() throws {
    database = try Database.inMemory()
    context = database.makeContext(try ModelRegistry(Event.self, Party.self))
    let (berlin, paris) = (Place(in: context, id: "berlin"), Place(in: context, id: "paris"))
    (berlin.name, berlin.country) = ("Berlin", "DE")
    (paris.name, paris.country) = ("Paris", "FR")
    for number in 0..<10 {
      let event = number == 9 ? Party(in: context, id: "e9") : Event(in: context, id: "e\(number)")
      event.title = ["Été", "étude", "Essen", "arc", "Zoo"][number % 5]
      event.done = number % 2 == 0
      event.due = number % 3 == 0 ? nil : Date(timeIntervalSince1970: Double(number) * 86_400)
      event.priority = number
      event.weight = Double(number) / 4
      event.tags = number % 4 == 0 ? ["home", "x\(number)"] : number % 4 == 1 ? ["work"] : []
      event.place = number < 3 ? berlin : number < 6 ? paris : nil
      event.guests = number % 5 == 0 ? [berlin, paris] : []
      event.size = number > 6 ? .large : .small
      event.notes = ["k": number]
    }
    try context.save()
  }

  private func ids(_ filter: (QuerySubject<Event>) -> Filter) throws -> [String] {
    try context.find(Query<Event>().filter(filter)).map(\.id)
  }

  // MARK: Models

  @Test func `a condition finds models of a class and its subclasses without a query`() throws {
    let late = try context.find(Event.self) { $0.priority >= 8 }
    #expect(Set(late.map(\.priority)) == [8, 9])
    #expect(try context.find(Party.self) { $0.priority >= 8 }.map(\.priority) == [9])
    #expect(try context.find(Event.self) { $0.done }.count == 5)
    #expect(try context.first(Place.self) { $0.country == "FR" }?.name == "Paris")
    #expect(try context.first(Place.self) { $0.country == "IT" } == nil)
  }

  @Test func `a Bool property is a condition by itself`() throws {
    let done = ["e0", "e2", "e4", "e6", "e8"]
    let query = Query<Event>()
    #expect(try context.find(query.filter { $0.done }).map(\.id) == done)
    #expect(try ids { $0.done && $0.priority > 5 } == ["e6", "e8"])
    #expect(try ids { $0.priority > 5 && $0.done } == ["e6", "e8"])
    #expect(try ids { $0.done && $0.done } == done)
    #expect(try ids { $0.done || $0.priority == 1 } == ["e0", "e1", "e2", "e4", "e6", "e8"])
    #expect(try ids { $0.priority == 1 || $0.done } == ["e0", "e1", "e2", "e4", "e6", "e8"])
    #expect(try ids { $0.done || $0.done } == done)
  }

  @Test func `properties of models are compared with values of their types`() throws {
    #expect(try ids { $0.done == false } == ["e1", "e3", "e5", "e7", "e9"])
    #expect(try ids { !$0.done } == ["e1", "e3", "e5", "e7", "e9"])
    #expect(try ids { $0.priority > 7 && $0.done == true } == ["e8"])
    #expect(try ids { $0.priority.isIn(2..<4) || $0.priority.isIn(8...8) } == ["e2", "e3", "e8"])
    #expect(try ids { $0.priority.isIn([1, 5, 77]) } == ["e1", "e5"])
    #expect(try ids { $0.weight >= 2 } == ["e8", "e9"])
    let date = Date(timeIntervalSince1970: 3 * 86_400)
    #expect(try ids { $0.due < date } == ["e1", "e2"])
    #expect(try ids { !($0.due < date) && $0.priority < 5 } == ["e0", "e3", "e4"])
    #expect(try ids { $0.due == nil } == ["e0", "e3", "e6", "e9"])
    #expect(try ids { $0.due != nil && $0.priority < 4 } == ["e1", "e2"])
    #expect(try ids { $0.due == Date(timeIntervalSince1970: 86_400) } == ["e1"])
    #expect(try ids { $0.size == .large } == ["e7", "e8", "e9"])
    #expect(try ids { $0.id == "e4" } == ["e4"])
    #expect(try ids { $0.notes["k"] == 6 } == ["e6"])
  }

  @Test func `texts are matched by prefix, suffix, substring and pattern`() throws {
    #expect(try ids { $0.title.hasPrefix("E") } == ["e2", "e7"])
    #expect(
      try ids { $0.title.hasPrefix("et", ignoring: .caseAndDiacritics) } == [
        "e0", "e1", "e5", "e6",
      ])
    #expect(try ids { $0.title.contains("ss") } == ["e2", "e7"])
    #expect(try ids { $0.title.hasSuffix("OO", ignoring: .letterCase) } == ["e4", "e9"])
    #expect(try ids { $0.title.like("?tu*") } == ["e1", "e6"])
    #expect(try ids { $0.title.equals("ete", ignoring: .caseAndDiacritics) } == ["e0", "e5"])
  }

  @Test func `filters test the elements and the count of arrays`() throws {
    #expect(try ids { $0.tags.contains("home") } == ["e0", "e4", "e8"])
    #expect(try ids { $0.tags.contains { $0.hasPrefix("x") } && $0.priority > 0 } == ["e4", "e8"])
    #expect(
      try ids { $0.tags.allSatisfy { $0 == "work" } && !$0.tags.isEmpty } == ["e1", "e5", "e9"])
    #expect(try ids { $0.tags.count == 2 } == ["e0", "e4", "e8"])
    #expect(try ids { $0.tags[0] == "work" } == ["e1", "e5", "e9"])
  }

  @Test func `references are compared and followed`() throws {
    let berlin = try #require(try context.model(Place.self, id: "berlin"))
    #expect(try ids { $0.place == berlin } == ["e0", "e1", "e2"])
    #expect(try ids { $0.place == berlin.modelID } == ["e0", "e1", "e2"])
    #expect(try ids { $0.place == ModelID<Place>("paris") } == ["e3", "e4", "e5"])
    #expect(try ids { $0.place == nil } == ["e6", "e7", "e8", "e9"])
    #expect(try ids { $0.place != nil && $0.place != berlin } == ["e3", "e4", "e5"])
    #expect(try ids { $0.place.name == "Paris" } == ["e3", "e4", "e5"])
    #expect(try ids { $0.place.country.hasPrefix("D") } == ["e0", "e1", "e2"])
    #expect(try ids { $0.place.id == "paris" } == ["e3", "e4", "e5"])
    #expect(try ids { $0.guests.contains(berlin) } == ["e0", "e5"])
    #expect(try ids { $0.guests.contains { $0.country == "FR" } } == ["e0", "e5"])
    #expect(try ids { $0.guests.contains { $0.id == "berlin" } } == ["e0", "e5"])
    #expect(try ids { $0.guests.contains { $0.id == "e0" } } == [])
    let byPlace = Query<Event>().sorted(.descending) { $0.place.name }.limit(4)
    #expect(try context.find(byPlace).map(\.id) == ["e3", "e4", "e5", "e0"])
  }

  @Test func `results are sorted by collation or by bytes, with limit and offset`() throws {
    let query = Query<Event>().sorted(by: \.title).sorted(by: \.priority, .descending)
    let titles = try context.find(query).map(\.title)
    #expect(
      titles == ["arc", "arc", "Essen", "Essen", "Été", "Été", "étude", "étude", "Zoo", "Zoo"])
    #expect(try context.find(query.offset(1).limit(2)).map(\.id) == ["e3", "e7"])
    let byBytes = try context.find(Query<Event>().sorted(by: \.title, texts: .bytes)).map(\.title)
    #expect(
      byBytes == ["Essen", "Essen", "Zoo", "Zoo", "arc", "arc", "Été", "Été", "étude", "étude"])
    let byDate = try context.find(Query<Event>().sorted(by: \.due)).map(\.id)
    #expect(byDate == ["e0", "e3", "e6", "e9", "e1", "e2", "e4", "e5", "e7", "e8"])
    #expect(try context.first(query)?.id == "e8")
    #expect(try context.count(query.limit(3)) == 3 && context.exists(query))
  }

  @Test func `a query for a class finds its registered subclasses and nothing else`() throws {
    #expect(try context.find(Query<Event>().filter { $0.priority > 8 }).first is Party)
    #expect(try context.find(Query<Party>()).map(\.id) == ["e9"])
    #expect(
      try context.find(Query<Party>().filter { $0.drinks == 1 && $0.title == "Zoo" }).count == 1)
    #expect(try context.count(Query<Event>()) == 10)
    // Without a registry, only documents of exactly this type count.
    #expect(try database.snapshot().count(Query<Event>()) == 9)
    #expect(try database.makeContext().count(Query<Event>()) == 9)
    let chooser = try ModelRegistry(Event.self) { $0 == "party" ? Party.self : nil }
    #expect(try database.makeContext(chooser).count(Query<Event>()) == 10)
    #expect(try database.makeContext(chooser).count(Query<Place>()) == 2)
  }

  @Test func `filters and sorts on properties that are not stored are refused`() throws {
    for query in [
      Query<Event>().filter { $0.isSelected == true }, Query<Event>().filter { $0.shout == "ZOO" },
      Query<Event>().filter { $0.done == true || !($0.shout == "ZOO") },
      Query<Event>().sorted(by: \.shout),
      Query<Event>().filter { $0.title.like(String(repeating: "?", count: 300)) },
    ] {
      let error = #expect(throws: DatabaseError.self) { try context.find(query) }
      #expect(error?.code == .invalidQuery)
      #expect(throws: DatabaseError.self) { try context.count(query) }
    }
    #expect(try ids { $0.weight < .nan }.isEmpty)
    #expect(try ids { $0.weight < .infinity }.count == 10)
  }

  // MARK: Codable types

  struct Recipe: DocumentCodable {
    @DocumentID var id: String?
    var name: String
    var minutes: Int
    var isHot = false
    var size: Size?
    var made: Date?
    var steps: [String] = []
    var author: Author
    var isLong: Bool { minutes > 60 }
    var twice: Int { minutes * 2 }

    struct Author: Codable {
      var name: String
      var born: Int?
    }
    enum CodingKeys: String, CodingKey {
      case id, name
      case minutes = "duration"
      case isHot, size, made, steps, author
    }
  }

  private func recipes() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for number in 0..<6 {
        var recipe = Recipe(
          name: "Soup \(number)", minutes: number * 10, isHot: number > 2,
          size: number == 1 ? .large : nil, made: Date(timeIntervalSince1970: Double(number)),
          steps: ["cut", "s\(number)"], author: .init(name: "A\(number % 2)", born: 1900 + number))
        recipe.id = "r\(number)"
        try transaction.put(&recipe)
      }
    }
    return database
  }

  @Test func `properties of Codable types are queried by their coding keys`() throws {
    let database = try recipes()
    let snapshot = try database.snapshot()
    defer { withExtendedLifetime(database) {} }
    func ids(_ filter: (QuerySubject<Recipe>) -> Filter) throws -> [String] {
      try snapshot.find(Query<Recipe>().filter(filter)).map { $0.id ?? "" }
    }
    #expect(try ids { $0.minutes >= 40 } == ["r4", "r5"])
    #expect(try ids { $0.isHot == true && $0.minutes < 40 } == ["r3"])
    #expect(try ids { $0.author.name == "A1" && $0.author.born > 1902 } == ["r3", "r5"])
    #expect(try ids { $0.size == .large } == ["r1"])
    #expect(try ids { $0.made < Date(timeIntervalSince1970: 2) } == ["r0", "r1"])
    #expect(try ids { $0.steps.contains("s4") || $0.id == "r0" } == ["r0", "r4"])
    #expect(
      try snapshot.first(Query<Recipe>().sorted(by: \.minutes, .descending))?.name == "Soup 5")
    for query in [
      Query<Recipe>().filter { $0.isLong == true }, Query<Recipe>().filter { $0.twice > 3 },
    ] {
      let error = #expect(throws: DatabaseError.self) { try snapshot.find(query) }
      #expect(error?.code == .invalidQuery)
    }
  }

  /// A recursive type with a stored property named `id`.
  struct Remark: DocumentCodable {
    var id: String
    var replies: [Remark] = []
    var parent: [String: Remark]?
    var text: String
    var nickname: String?
    var isRead = false
    var isOld = false
    var shown: String { nickname ?? text }
    var small: String { text.lowercased() }
    var isDone: Bool { isRead || isOld }
    var isOpen: Bool { !isRead && isOld }
    var first: String? { replies.first?.text }
  }

  @Test func `filters and sorts on properties computed from stored ones are refused`() throws {
    let database = try Database.inMemory()
    try database.write { transaction in
      _ = try transaction.put(
        contentsOf: (0..<3).map { Remark(id: "own \($0)", text: "T\($0)") })
    }
    let snapshot = try database.snapshot()
    let all = Query<Remark>()
    #expect(try snapshot.find(all.filter { $0.text == "T1" }).map(\.id) == ["own 1"])
    #expect(try snapshot.find(all.filter { $0.id == "own 2" }).map(\.text) == ["T2"])
    #expect(try snapshot.count(all.filter { $0.replies.isEmpty }) == 3)
    for query in [
      all.filter { $0.shown == "T1" }, all.filter { $0.small == "t1" },
      all.filter { $0.isDone == true }, all.filter { $0.isOpen == true },
      all.filter { $0.first == "T1" }, all.sorted(by: \.shown),
    ] {
      let error = #expect(throws: DatabaseError.self) { try snapshot.count(query) }
      #expect(error?.code == .invalidQuery)
    }
    for query in [
      Query<Event>().filter { $0.low == "zoo" }, Query<Event>().filter { $0.isOver == true },
      Query<Event>().filter { $0.firstTag == "home" }, Query<Event>().sorted(by: \.tags[0]),
    ] {
      let error = #expect(throws: DatabaseError.self) { try context.count(query) }
      #expect(error?.code == .invalidQuery)
    }
  }

  @Test func `a condition on elements cannot refer to other properties of the document`() throws {
    for query in [
      Query<Event>().filter { event in
        event.tags.contains { $0 == "home" && event.done == true }
      },
      Query<Event>().filter { event in !event.tags.allSatisfy { _ in event.priority > 3 } },
    ] {
      let error = #expect(throws: DatabaseError.self) { try context.find(query) }
      #expect(error?.code == .invalidQuery && error?.message.contains("tags") == true)
    }
    #expect(
      try ids { event in event.tags.contains { $0 == "home" } && event.done == true }.count == 3)
  }

  @Test func `a filter built in a loop can have thousands of terms`() throws {
    let many = (0..<3000).map { number in
      { (event: QuerySubject<Event>) in event.priority == number }
    }
    #expect(
      try ids { event in many.reduce(Filter.none) { $0 || $1(event) } }.count == 10)
    #expect(
      try ids { event in many.reduce(Filter.all) { $0 && !$1(event) } }.isEmpty)
  }

  @Test func `an index is not used for a property with a canonically equal name`() throws {
    let database = try Database.inMemory()
    let (composed, apart) = ("caf\u{E9}", "cafe\u{301}")
    try database.addIndex(DocumentIndex("by", on: composed))
    try database.write { transaction in
      _ = try transaction.put(Document(id: "one", Value.Object([(composed, Value.int(1))])))
      _ = try transaction.put(Document(id: "other", Value.Object([(apart, Value.int(1))])))
    }
    let snapshot = try database.snapshot()
    #expect(try snapshot.ids(Query<Document>().filter { $0[composed] == 1 }) == ["one"])
    #expect(try snapshot.ids(Query<Document>().filter { $0[apart] == 1 }) == ["other"])
  }

  // MARK: Documents

  @Test func `documents are queried by property names`() throws {
    let database = try recipes()
    let snapshot = try database.snapshot()
    let query = Query<Document>()
    #expect(
      try snapshot.ids(query.filter { $0["duration"] > 35 && $0["isHot"] == true }) == ["r4", "r5"])
    #expect(try snapshot.ids(query.filter { $0["author"]["name"] == "A0" }) == ["r0", "r2", "r4"])
    #expect(try snapshot.ids(query.filter { $0["steps"].contains("s2") }) == ["r2"])
    #expect(
      try snapshot.ids(query.filter { $0["nothing"].isMissing && $0["size"] == .null }).count == 5)
    #expect(try snapshot.find(query.sorted(by: "name", .descending).limit(1)).first?.id == "r5")
    try database.write { transaction in
      _ = try transaction.put(Document(id: "link", ["to": "r3"]))
      let found = try transaction.ids(query.filter { $0["to"].reference["duration"] == 30 })
      #expect(found == ["link"])
    }
  }

  // MARK: Plans

  @Test func `the planner uses suitable indexes, and the explanation names them`() throws {
    var configuration = Configuration()
    configuration.predicateCacheSize = 0
    let database = try Database.inMemory(configuration: configuration)
    try database.write { transaction in
      for number in 0..<3000 {
        _ = try transaction.put(
          Document(
            id: "d\(10_000 + number)",
            [
              "year": .int(Int64(1900 + number % 100)), "name": .string("Name \(number)"),
              "kind": .string(number % 3 == 0 ? "x" : "y"), "rank": .int(Int64(number)),
              "tags": [.string("t\(number % 50)"), "all"],
            ]))
      }
    }
    for index in [
      DocumentIndex("year", on: "year"), DocumentIndex("name", on: "name", isUnique: true),
      DocumentIndex("tags", on: "tags", eachElement: true), DocumentIndex("rank", on: "rank"),
    ] { try database.addIndex(index) }
    let snapshot = try database.snapshot()
    let query = Query<Document>()

    let equality = try snapshot.explain(query.filter { $0["name"] == "Name 77" })
    #expect(equality.indexes == ["name"] && equality.residual == nil && equality.documentsRead == 0)
    #expect(equality.entriesRead == 1 && equality.results == 1 && equality.estimatedRows <= 3)

    let range = try snapshot.explain(
      query.filter { $0["rank"].isIn(100..<200) && $0["kind"] == "x" })
    #expect(
      range.indexes == ["rank"] && range.documentsRead == 100 && range.residual == "kind = \"x\"")
    #expect((25...400).contains(range.estimatedRows) && range.rows == 100, "\(range)")

    let both = try snapshot.explain(
      query.filter { $0["year"] == 1950 && $0["tags"].contains("t0") })
    #expect(
      both.indexes.sorted() == ["tags", "year"] && both.documentsRead == 0 && both.results == 30)

    let prefix = try snapshot.explain(query.filter { $0["name"].hasPrefix("Name 29") })
    #expect(prefix.indexes == ["name"] && prefix.results == 111 && prefix.documentsRead == 0)

    let either = try snapshot.explain(query.filter { $0["rank"] == 5 || $0["name"] == "Name 9" })
    #expect(either.indexes == ["rank", "name"] && either.results == 2 && either.documentsRead == 0)

    let most = try snapshot.explain(query.filter { $0["rank"] >= 10 && $0["kind"] == "x" })
    #expect(most.indexes.isEmpty && most.documentsRead == 3000)

    let last = try snapshot.explain(query.sorted(by: "rank", .descending).limit(5))
    #expect(last.indexes == ["rank"] && last.entriesRead <= 6 && last.results == 5, "\(last)")
    // Candidates are looked up in batches, but no more of them than are wanted.
    let ascending = try snapshot.explain(
      query.filter { $0["rank"] >= 10 }.sorted(by: "rank").limit(25))
    #expect(ascending.entriesRead == 25 && ascending.rows == 25, "\(ascending)")
    let first = try snapshot.explain(
      query.filter { $0["rank"] != .null && $0["kind"] == "y" }.sorted(by: "rank").limit(5))
    #expect(first.indexes == ["rank"] && first.documentsRead < 20 && first.results == 5, "\(first)")
    let sorted = try snapshot.explain(
      query.filter { $0["rank"] < 50 }.sorted(by: "rank", .descending))
    #expect(sorted.order == "as in the index" && sorted.documentsRead == 0)

    let scan = try snapshot.explain(query.filter { $0["kind"] == "x" })
    #expect(scan.indexes.isEmpty && scan.documentsRead == 3000 && scan.results == 1000)
    #expect(try snapshot.explain(query.filter { $0["a"] == 1 && .none }).access.contains("nothing"))
  }

  @Test func `no text makes pattern or substring matching slow`() throws {
    let database = try Database.inMemory()
    let text = String(repeating: "a", count: 200_000)
    try database.write { _ = try $0.put(Document(id: "a", ["text": .string(text)])) }
    let snapshot = try database.snapshot()
    let start = ContinuousClock.now
    let pattern = String(repeating: "a*", count: 60) + "b" + "?"
    #expect(try snapshot.count(Query<Document>().filter { $0["text"].like(pattern) }) == 0)
    let needle = String(repeating: "a", count: 100_000) + "b"
    #expect(try snapshot.count(Query<Document>().filter { $0["text"].containsText(needle) }) == 0)
    #expect(ContinuousClock.now - start < .seconds(10))
  }

  @Test func `a snapshot answers queries consistently while others write`()
    async throws
  {
    let database = try Database.inMemory()
    try await database.addIndex(DocumentIndex("n", on: "n"))
    try await database.write { transaction in
      for number in 0..<300 {
        _ = try transaction.put(Document(id: "d\(number)", ["n": .int(Int64(number % 10))]))
      }
    }
    let snapshot = try database.snapshot()
    let query = Query<Document>().filter { $0["n"].isIn(3..<6) }.sorted(by: "n", .descending)
    let before = try snapshot.ids(query)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 0..<60 {
          try await database.write { transaction in
            for number in 0..<20 {
              _ = try transaction.replace(
                "d\((round * 20 + number) % 300)", with: ["n": .int(Int64((round + number) % 10))])
            }
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<100 {
            #expect(try snapshot.ids(query) == before)
            let newest = try database.snapshot()
            // Each transaction leaves their number unchanged.
            #expect(try newest.count(Query<Document>().filter { $0["n"] < 10 }) == 300)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: Predicates

  private func ids(_ predicate: Predicate<Event>) throws -> [String] {
    try context.find(Query<Event>().filter(predicate)).map(\.id)
  }

  @Test func `Foundation predicates are translated into filters`() throws {
    let date = Date(timeIntervalSince1970: 3 * 86_400)
    #expect(try ids(#Predicate { !$0.done }) == ["e1", "e3", "e5", "e7", "e9"])
    #expect(try ids(#Predicate { $0.done == true && 6 <= $0.priority }) == ["e6", "e8"])
    #expect(try ids(#Predicate { $0.due != nil && $0.due! < date }) == ["e1", "e2"])
    #expect(
      try ids(#Predicate { $0.title.contains("ss") || $0.title.starts(with: "Z") }).count == 4)
    #expect(try ids(#Predicate { $0.tags.contains("home") }) == ["e0", "e4", "e8"])
    #expect(
      try ids(#Predicate { $0.tags.contains { $0.starts(with: "x") } }) == ["e0", "e4", "e8"])
    #expect(try ids(#Predicate { [1, 5].contains($0.priority) }) == ["e1", "e5"])
    #expect(try ids(#Predicate { (2..<4).contains($0.priority) }) == ["e2", "e3"])
    #expect(try ids(#Predicate { $0.tags.count == 1 && !$0.tags.isEmpty }) == ["e1", "e5", "e9"])
    #expect(try ids(#Predicate { $0.place?.name == "Paris" }) == ["e3", "e4", "e5"])
    #expect(try ids(#Predicate { $0.id == "e4" }) == ["e4"])
    #expect(try ids(#Predicate { $0.done ? $0.priority > 6 : $0.priority < 2 }) == ["e1", "e8"])
    let recipes = try recipes()
    let hot = try recipes.snapshot().ids(
      Query<Recipe>().filter(#Predicate { $0.minutes > 20 && $0.author.name == "A1" }))
    #expect(hot == ["r3", "r5"])
    let own = try recipes.snapshot().ids(Query<Recipe>().filter(#Predicate { $0.id == "r2" }))
    #expect(own == ["r2"])
  }

  @Test func `an unsupported part of a predicate is refused at once and named`()
    throws
  {
    for (predicate, part) in [
      (#Predicate<Event> { $0.priority + 1 > 3 }, "Arithmetic"),
      (#Predicate<Event> { $0.title == $0.shout }, "not stored"),
      (#Predicate<Event> { $0.priority == $0.drinksOrSo }, "not stored"),
    ] {
      let error = #expect(throws: DatabaseError.self) { try Query<Event>().filter(predicate) }
      #expect(error?.code == .invalidQuery)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
  }

  // MARK: Numbers, groups and changes

  @Test func `queries compute aggregates, groups, distinct values and rows of values`() throws {
    let database = try recipes()
    let snapshot = try database.snapshot()
    defer { withExtendedLifetime(database) {} }
    let query = Query<Recipe>()
    #expect(try snapshot.sum(query) { $0.minutes } == 150)
    #expect(try snapshot.average(query.filter { $0.isHot == true }) { $0.minutes } == 40)
    #expect(try snapshot.minimum(query) { $0.name } == "Soup 0")
    #expect(try snapshot.maximum(query) { $0.minutes } == 50)
    #expect(try snapshot.average(query.filter { $0.minutes > 99 }) { $0.minutes } == nil)
    #expect(try snapshot.aggregate(query, .count, .sum { $0.author.born }) == (6, 11_415))
    let groups = try snapshot.groups(query, by: { $0.author.name }, .count, .maximum { $0.minutes })
    #expect(groups.map(\.key) == ["A0", "A1"] && groups.map(\.1) == [3, 3])
    #expect(groups.map(\.2) == [40, 50])
    #expect(try snapshot.distinct(query) { $0.isHot } == [false, true])
    #expect(try snapshot.distinct(query) { $0.size } == [.large])
    let rows = try snapshot.values(
      query.sorted(by: \.minutes, .descending).limit(2), { $0.name }, { $0.author.born })
    #expect(rows.map(\.0) == ["Soup 5", "Soup 4"] && rows.map(\.1) == [1905, 1904])
    #expect(
      try snapshot.aggregate(query.sorted(by: \.minutes).limit(2), .sum { $0.minutes }) == 10)
  }

  struct Reading: DocumentCodable {
    var amount: Double
    var time: Date
    var sensor: UUID
  }

  @Test func `values that are read as equal ones are one group, however they are written`() throws {
    let noon = Date(timeIntervalSince1970: 1_772_366_400)
    let nextDay = Date(timeIntervalSince1970: 1_772_452_800)
    let sensor = UUID()
    let readings: [(amount: Value, time: Value, sensor: Value)] = [
      (.int(9_007_199_254_740_993), "2026-03-01T12:00:00Z", .string(sensor.uuidString)),
      (.int(9_007_199_254_740_992), "2026-03-01T12:00:00.000Z", .string(sensor.uuidString)),
      (.int(1), "2026-03-01T14:00:00+02:00", .string(sensor.uuidString.lowercased())),
      (.double(1), "2026-03-02T12:00:00.000Z", .string(sensor.uuidString)),
    ]
    let database = try Database.inMemory()
    try database.write { transaction in
      for (amount, time, sensor) in readings {
        _ = try transaction.put(
          Document(["type": "Reading", "amount": amount, "time": time, "sensor": sensor]))
      }
    }
    let snapshot = try database.snapshot()
    let query = Query<Reading>()
    #expect(try snapshot.distinct(query) { $0.amount } == [1, 9_007_199_254_740_992])
    #expect(try snapshot.distinct(query) { $0.time } == [noon, nextDay])
    #expect(try snapshot.distinct(query) { $0.sensor } == [sensor])
    let amounts = try snapshot.groups(query, by: { $0.amount }, .count)
    #expect(amounts.map(\.key) == [1, 9_007_199_254_740_992] && amounts.map { $0.1 } == [2, 2])
    let times = try snapshot.groups(query, by: { $0.time.optional }, .count)
    #expect(times.map(\.key) == [noon, nextDay] && times.map { $0.1 } == [3, 1])
    let sensors = try snapshot.groups(query, by: { $0.sensor }, .count)
    #expect(sensors.map { $0.1 } == [4])
  }

  @Test func `a transaction updates and deletes all matches of a query`() throws {
    let database = try recipes()
    try database.addIndex(DocumentIndex("duration", on: "duration"))
    try database.write { transaction in
      let query = Query<Recipe>().filter { $0.minutes >= 10 }
      // A changed document moves along the index, but is visited only once.
      let count = try transaction.update(query) { document in
        document["duration"] = .int(Int64(document["duration"]?.intValue ?? 0) + 20)
      }
      #expect(count == 5)
      #expect(try transaction.count(query.filter { $0.minutes > 60 }) == 1)
      #expect(try transaction.delete(Query<Recipe>().filter { $0.minutes <= 30 }) == 2)
    }
    #expect(try database.snapshot().ids(Query<Document>()) == ["r2", "r3", "r4", "r5"])
    struct Stop: Error {}
    try database.write { transaction in
      var count = 0
      #expect(throws: Stop.self) {
        try transaction.update(Query<Document>()) { document in
          document["duration"] = 0
          count += 1
          if count == 3 { throw Stop() }
        }
      }
    }
    #expect(try database.snapshot().count(Query<Document>().filter { $0["duration"] == 0 }) == 0)
  }
}
