import Divan
import Foundation
import Testing

/// Tests that run the examples of the types of queries, live results and views.
struct QueryExampleTests {
  struct Film: DocumentCodable {
    @DocumentID var id: String? = nil
    var title: String
    var year: Int
    var minutes: Int
    var cast: [String] = []
  }

  private func films() throws -> Database {
    let database = try Database.inMemory()
    try database.write { transaction in
      for (id, title, year, minutes, cast) in [
        ("m", "Métropolis", 1927, 150, ["Brigitte Helm", "Alfred Abel"]),
        ("n", "Nosferatu", 1922, 90, ["Max Schreck"]),
        ("a", "Alraune", 1927, 100, ["Brigitte Helm"]),
      ] {
        try transaction.put(Film(title: title, year: year, minutes: minutes, cast: cast), id: id)
      }
    }
    return database
  }

  // MARK: Queries

  @Test func `properties are compared in the conditions of a query`() throws {
    let snapshot = try films().snapshot()
    do {
      let query = Query<Film>().filter { film in
        film.year > 1925 && film.title.hasPrefix("A") && film.cast.contains("Brigitte Helm")
      }
      #expect(try snapshot.ids(query) == ["a"])
    }
    let recent = Query<Film>().filter { film in film.year >= 1925 }
    let titled = Query<Document>().filter { document in document["title"] == "Nosferatu" }
    #expect(try snapshot.count(recent) == 2 && snapshot.ids(titled) == ["n"])

    let newest = Query<Film>().sorted(by: \.year, .descending).sorted(by: \.title).limit(2)
    #expect(try snapshot.find(newest).map(\.title) == ["Alraune", "Métropolis"])

    let query = Query<Film>().filter { $0.title.hasPrefix("metro", ignoring: .caseAndDiacritics) }
    #expect(try snapshot.ids(query) == ["m"])
  }

  @Test func `results are grouped, and aggregates are computed`() throws {
    let snapshot = try films().snapshot()
    var printed: [String] = []
    func print(_ year: Int, _ count: Int, _ minutes: Double) {
      printed.append("\(year) \(count) \(minutes)")
    }
    let films = Query<Film>()
    let years = try snapshot.groups(films, by: { $0.year }, .count, .average { $0.minutes })
    for (year, count, minutes) in years { print(year, count, minutes ?? 0) }
    #expect(printed == ["1922 1 90.0", "1927 2 125.0"])
  }

  @Test func `a plan is explained`() throws {
    let database = try films()
    let query = Query<Film>().filter { $0.year == 1922 }
    var printed: [String] = []
    func print(_ items: any CustomStringConvertible...) {
      printed.append(items.map(\.description).joined(separator: " "))
    }
    let explanation = try database.snapshot().explain(query)
    print(explanation.plan)
    print("\(explanation.documentsRead) documents were read")
    if explanation.indexes.isEmpty { print("An index may help.") }
    #expect(printed.count == 3 && printed.last == "An index may help.")
    #expect(explanation.results == 1)
    do {
      var operators = [explanation.plan]
      while let next = operators.popLast() {
        print(next.name, next.rows ?? 0)
        operators += next.inputs
      }
    }
    #expect(printed.last?.hasPrefix("ID scan ") == true, "\(printed)")
  }

  func titles(in source: some QuerySource) throws -> [String] {
    try source.find(Query<Film>().sorted(by: \.title)).map(\.title)
  }

  @Test func `a function takes a snapshot or a transaction`() throws {
    let database = try films()
    let title = "Faust"
    try database.write { transaction in
      try transaction.put(Film(title: title, year: 1926, minutes: 107), id: "f")
      #expect(try titles(in: transaction) == ["Alraune", "Faust", "Métropolis", "Nosferatu"])
    }
    #expect(try titles(in: database.snapshot()).count == 4)
  }

  // MARK: Live results

  @Test func `the results of a query are followed`() async throws {
    let database = try films()
    let query = Query<Film>().filter { $0.year > 1925 }.sorted(by: \.title)
    var shown: [String] = []
    for try await films in database.liveResults(of: query) {
      shown = films.map(\.title)
      if films.count == 2 { break }
    }
    #expect(shown == ["Alraune", "Métropolis"])

    var printed: [String] = []
    func print(_ text: String, _ title: String) { printed.append("\(text) \(title)") }
    for try await films in database.liveResults(of: query) {
      for index in films.changes.insertions { print("inserted:", films[index].title) }
      if films.count == 2 { break }
    }
    #expect(printed == ["inserted: Alraune", "inserted: Métropolis"])
  }

  @Test func `results are awaited one by one`() async throws {
    let database = try films()
    let query = Query<Film>().filter { $0.year > 1925 }.sorted(by: \.title)
    var results = database.liveResults(of: query).makeAsyncIterator()
    let first = try await results.next()  // the next call waits for another result
    #expect(first?.map(\.title) == ["Alraune", "Métropolis"])
    try await database.update("n") { $0["year"] = 1928 }
    let second = try await results.next()
    #expect(second?.map(\.title) == ["Alraune", "Métropolis", "Nosferatu"])
  }

  @Test func `a difference says which rows have moved and changed`() {
    struct Row: Identifiable, Equatable {
      let id: String
      var title: String
    }
    let (m, n) = (Row(id: "m", title: "Metropolis"), Row(id: "n", title: "Nosferatu"))
    let restored = Row(id: "m", title: "Metropolis, restored")
    let zorro = Row(id: "z", title: "Zorro")
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    let difference = ListDifference(from: [m, n, zorro], to: [zorro, restored, n])
    for move in difference.moves { print("Row \(move.from) moves to row \(move.to)") }
    for update in difference.updates { print("Row \(update.to) has changed") }
    #expect(printed == ["Row 2 moves to row 0", "Row 1 has changed"])
  }

  // MARK: Views

  @Test func `rows are emitted, reduced and grouped`() throws {
    let database = try films()
    var printed: [String] = []
    func print(_ key: String, _ value: String) { printed.append("\(key) \(value)") }
    let perYear = MapReduceView("minutes per year", version: "1", reduction: .sum) { film, emit in
      emit(film["year"], film["minutes"])
    }
    let total = try database.rows(of: perYear).value
    #expect(total == 340)

    for row in try database.rows(of: perYear, .all.grouped()) {
      print(row.key.json, row.value.json)
    }
    #expect(printed == ["1922 90", "1927 250"])
  }

  @Test func `a document may emit several rows`() throws {
    let database = try films()
    let byActor = MapReduceView("by actor", version: "1") { film, emit in
      for actor in film["cast"]?.arrayValue ?? [] { emit(actor, film["title"]) }
    }
    var printed: [String] = []
    func print(_ title: String) { printed.append(title) }
    let rows = try database.rows(of: byActor, .key("Brigitte Helm"))
    for row in rows { print(row.value.stringValue ?? "") }
    let films = try rows.documents()
    #expect(printed == ["Alraune", "Métropolis"])
    #expect(films.map { $0?.id } == ["a", "m"])
  }

  @Test func `a view lists the documents with conflicts`() throws {
    let database = try films()
    let base = try #require(try database.snapshot().document("m"))
    for year in [1926, 1928] as [Value] {
      var film = base
      film["year"] = year
      try database.write { try $0.put(film, onConflict: .branch) }
    }
    let conflicts = MapReduceView("conflicts", version: "1") { document, emit in
      if !document.conflicts.isEmpty { emit(.string(document.id), document["title"]) }
    }
    #expect(try database.rows(of: conflicts).map(\.key) == ["m"])
  }

  @Test func `the rows of a view are followed`() async throws {
    let database = try films()
    let perYear = MapReduceView("films per year", version: "1", reduction: .count) { film, emit in
      emit(film["year"])
    }
    var bars: [String] = []
    for try await rows in database.liveResults(of: perYear, .all.grouped()) {
      bars = rows.map { "\($0.key.json): \($0.value.json)" }
      if rows.count == 2 { break }
    }
    #expect(bars == ["1922: 1", "1927: 2"])
  }

  @Test func `the answers of a view are awaited one by one`() async throws {
    let database = try films()
    let perYear = MapReduceView("films per year", version: "1", reduction: .count) { film, emit in
      emit(film["year"])
    }
    var answers = database.liveResults(of: perYear, .all.grouped()).makeAsyncIterator()
    let rows = try await answers.next()  // the next call waits for another answer
    #expect(rows?.map(\.value) == [1, 2])
    try await database.update("n") { $0["year"] = 1927 }
    let later = try await answers.next()
    #expect(later?.map(\.value) == [3])
  }
}
