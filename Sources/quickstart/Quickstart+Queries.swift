import Divan

/// Queries for films by their contents.
extension Quickstart {
  /// Runs queries without indexes and with them: the results are the same, and come sooner.
  func askForFilms(in database: Database) throws {
    let (without, scanning) = try answers(in: database)
    let making = try duration {
      for index in FilmQueries.indexes { try database.addIndex(index) }
    }
    let (with, searching) = try answers(in: database)
    guard without == with else { throw Failure("films are others with indexes than without") }
    print(
      "\nAsked for films in \(milliseconds(scanning)); and, when \(FilmQueries.indexes.count) indexes "
        + "were made in \(milliseconds(making)), in \(milliseconds(searching)):")
    show("silent ones of the twenties", with.silent)
    show("with \(with.star)", with.starring)
    show("first titles", with.firstTitles)
    let counts = with.counts.sorted { $0.key < $1.key }.map { "\($0.key)s: \($0.value)" }
    print("  by decade: \(counts.joined(separator: ", "))")
    try explain(FilmQueries.of("Silent", in: 1920..<1930), in: database)
  }

  private func answers(in database: Database) throws -> (FilmAnswers, Duration) {
    let context = database.makeContext()
    var answers = FilmAnswers(silent: [], star: "", starring: [], firstTitles: [], counts: [:])
    let time = try duration {
      let silent = try context.find(FilmQueries.of("Silent", in: 1920..<1930))
      answers.silent = silent.map(\.line)
      answers.star = silent.lazy.compactMap(\.cast.first).first ?? "no one"
      answers.starring = try context.find(FilmQueries.with(answers.star)).map(\.line)
      // In the order in which people sort: by letters first, then by accents and case.
      answers.firstTitles = try context.find(FilmQueries.all.sorted(by: \.title).limit(3)).map(
        \.line)
      answers.counts = try countsByDecade(in: context)
    }
    return (answers, time)
  }

  /// With an index, counting reads no film.
  private func countsByDecade(in context: ModelContext) throws -> [Int: Int] {
    guard let first = try context.first(FilmQueries.dated.sorted(by: \.year))?.year,
      let last = try context.first(FilmQueries.dated.sorted(by: \.year, .descending))?.year
    else { return [:] }
    var counts: [Int: Int] = [:]
    for decade in stride(from: first / 10 * 10, through: last, by: 10) {
      let count = try context.count(FilmQueries.ofDecade(decade))
      if count > 0 { counts[decade] = count }
    }
    return counts
  }

  private func show(_ title: String, _ lines: [String]) {
    print("  \(lines.count) \(title)" + (lines.isEmpty ? "" : ":"))
    for line in lines.prefix(3) { print("    \(line)") }
  }

  /// Prints the access path of a query, and how much it read.
  private func explain(_ query: Query<Film>, in database: Database) throws {
    let explanation = try database.makeContext().explain(query)
    print("How the silent ones were found:")
    for line in explanation.description.split(separator: "\n") { print("  \(line)") }
  }
}
