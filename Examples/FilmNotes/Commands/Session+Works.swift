import Divan
import Foundation

/// Films, series and people.
extension Session {
  func add(_ command: Command) async throws {
    let context = library.context
    let work: Work
    switch command.words[0] {
    case "film":
      let film = Film(in: context)
      film.director = try command.value("by").map { try context.person(named: $0) }
      work = film
    case "series":
      let series = Series(in: context)
      series.seasons = try command.number("seasons") ?? 1
      work = series
    default: throw UsageError("add a `film` or a `series`, not a `\(command.words[0])`")
    }
    work.title = command.words[1]
    work.year = try command.words.dropFirst(2).first.map { try Command.number($0) }
    work.genres = command.values("genre")
    work.cast = try command.values("with").map { try context.person(named: $0) }
    // The work and new people are stored together, or not at all.
    try await context.save()
    print("Added \(work.line)")
  }

  func list(_ command: Command) throws {
    let search = try search(command)
    switch command.value("only") {
    case nil: try list(search.query(for: Work.self), explaining: command.has("explain"))
    case "film": try list(search.query(for: Film.self), explaining: command.has("explain"))
    case "series": try list(search.query(for: Series.self), explaining: command.has("explain"))
    case let other?: throw UsageError("there are no works of the kind \(other)")
    }
  }

  private func list<W: Work>(_ query: Query<W>, explaining: Bool) throws {
    let works = try library.context.find(query)
    for work in works { print(work.line) }
    print(works.count == 1 ? "1 work" : "\(works.count) works")
    if explaining { print("\(try library.context.explain(query))") }
  }

  /// The search that the options of `list` and `watch` describe.
  func search(_ command: Command) throws -> WorkSearch {
    var search = WorkSearch(text: command.words.first, genre: command.value("genre"))
    search.firstYear = try command.number("from")
    search.lastYear = try command.number("to")
    search.person = command.value("with").map { ModelID(Person.id(named: $0)) }
    search.limit = try command.number("limit")
    if let text = command.value("sort") {
      guard let order = WorkSearch.Order(rawValue: text) else {
        throw UsageError("works cannot be sorted by \(text)")
      }
      search.order = order
    }
    return search
  }

  func show(_ command: Command) throws {
    for line in Session.page(of: try library.work(command.words[0])) { print(line) }
  }

  /// The lines about a work, in the context that it belongs to: that of the present or of the past.
  nonisolated static func page(of work: Work) -> [String] {
    var lines = [work.line, "  ID: \(work.id)"] + work.details.map { "  \($0)" }
    if !work.genres.isEmpty { lines.append("  genres: \(work.genres.joined(separator: ", "))") }
    if !work.cast.isEmpty {
      lines.append("  with \(work.cast.map(\.name).joined(separator: ", "))")
    }
    if let poster = work.poster {
      lines.append("  poster: \(poster.contentType), \(poster.length) bytes")
    }
    return lines + work.notes.map { "  - \($0.line)" }
  }

  func person(_ command: Command) throws {
    let name = command.words[0]
    guard let person = try library.context.model(Person.self, id: Person.id(named: name)) else {
      throw DatabaseError(.notFound, "no person has this name: \(name)")
    }
    print(person.name)
    for film in person.directed { print("  directed \(film.line)") }
    for work in person.appearances { print("  plays in \(work.line)") }
  }

  func delete(_ command: Command) async throws {
    let work = try library.work(command.words[0])
    let (line, count) = (work.line, work.notes.count)
    try await work.delete()
    print("Deleted \(line)" + (count == 0 ? "" : " and its notes: \(count)"))
  }
}
