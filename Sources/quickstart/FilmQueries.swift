import Divan

/// Queries for films.
///
/// A query is a value: you can make it once, keep it, send it anywhere, and run it in any context,
/// snapshot or transaction.
enum FilmQueries {
  /// All films, and nothing else: each document has the name of its class as its type.
  static let all = Query<Film>()

  /// Films whose year is known.
  static let dated = Query<Film>().filter { $0.year > 0 }

  /// Films of some years and of a genre, in the order of their titles.
  static func of(_ genre: String, in years: Range<Int>) -> Query<Film> {
    Query<Film>().filter { $0.year.isIn(years) && $0.genres.contains(genre) }.sorted(by: \.title)
  }

  /// Films with an actor anywhere in the cast, the newest first.
  static func with(_ name: String) -> Query<Film> {
    Query<Film>().filter { $0.cast.contains(name) }.sorted(by: \.year, .descending).sorted(
      by: \.title)
  }

  /// Films of a decade.
  static func ofDecade(_ first: Int) -> Query<Film> {
    Query<Film>().filter { $0.year.isIn(first..<first + 10) }
  }

  /// The indexes for these queries.
  ///
  /// They are made once, and updated with every commit. Each has only films: so a query of films
  /// that an index answers reads no document to find out its type.
  static let indexes = [
    DocumentIndex("films by year", on: "year", where: areFilms),
    DocumentIndex("films by genre", on: "genres", eachElement: true, where: areFilms),
    DocumentIndex("films by cast", on: "cast", eachElement: true, where: areFilms),
  ]

  private static func areFilms(_ document: QuerySubject<Document>) -> Filter {
    document["type"] == "Film"
  }
}

/// The results of the queries.
struct FilmAnswers: Equatable {
  var silent: [String]
  var star: String
  var starring: [String]
  var firstTitles: [String]
  /// The number of films of each decade.
  var counts: [Int: Int]
}
