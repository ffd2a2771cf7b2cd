import Divan

/// A view of films, ordered by keys that our own function computes, and counted.
extension Quickstart {
  /// A row for each film, whose key is its decade and its year.
  ///
  /// Another function needs another version.
  private static let byDecade = MapReduceView(
    "films by decade", version: "1", reduction: .count
  ) { film, emit in
    guard film["type"] == "Film", let year = film["year"]?.intValue, year > 0 else {
      return
    }
    emit([.int(Int64(year / 10 * 10)), .int(Int64(year))])
  }

  /// Counts the films of each decade, and those of each year of the largest decade.
  func showDecades(in database: Database) throws {
    let decades = try database.rows(of: Quickstart.byDecade, .all.grouped(byFirst: 1))
    let context = database.makeContext()
    for row in decades {
      guard let decade = row.key[0]?.intValue else { continue }
      let count = try context.count(FilmQueries.ofDecade(decade))
      guard row.value.intValue == count else {
        throw Failure("the view has \(row.value.json) films of the \(decade)s, a query \(count)")
      }
    }
    guard let most = decades.max(by: { count($0) < count($1) }), let decade = most.key[0] else {
      return
    }
    // The keys that begin with the decade.
    let years = try database.rows(
      of: Quickstart.byDecade,
      ViewQuery(from: [decade], upTo: [Value((decade.intValue ?? 0) + 1)]).grouped())
    let counts = years.map { "\($0.key[1]?.json ?? "?"): \($0.value.json)" }
    print("\nMost films are of the \(decade.json)s, says a view: \(counts.joined(separator: ", "))")
  }

  private func count(_ row: ViewRow) -> Int { row.value.intValue ?? 0 }
}
