import Divan

/// What is asked about films.
///
/// A query is a value: made once, kept, sent anywhere, and asked of any context, snapshot or transaction.
enum FilmQueries {
  /// Films have no type of their own: their IDs tell them from people and genres.
  static let all = Query<Film>().filter { $0.id.hasPrefix(Film.prefix) }

  /// Films whose year is known, which nothing but films has.
  static let dated = Query<Film>().filter { $0.year > 0 }

  /// Films of some years and of a genre, in the order of their titles.
  static func of(_ genre: String, in years: Range<Int>) -> Query<Film> {
    Query<Film>().filter { $0.year.isIn(years) && $0.genres.contains(genre) }.sort(\.title)
  }

  /// Films with somebody, wherever in the cast, the newest first.
  static func with(_ name: String) -> Query<Film> {
    Query<Film>().filter { $0.cast.contains(name) }.sort(\.year, descending: true).sort(\.title)
  }

  /// Films of ten years.
  static func ofDecade(_ first: Int) -> Query<Film> {
    Query<Film>().filter { $0.year.isIn(first..<first + 10) }
  }

  /// The orders in which films are looked up.
  ///
  /// They are made once, and kept with every commit.
  static let indexes = [
    DocumentIndex("films by year", on: "year"),
    DocumentIndex("films by genre", on: "genres", eachElement: true),
    DocumentIndex("films by cast", on: "cast", eachElement: true),
  ]
}

/// What the answers were.
struct FilmAnswers: Equatable {
  var silent: [String]
  var star: String
  var starring: [String]
  var firstTitles: [String]
  /// How many films there are of each decade.
  var counts: [Int: Int]
}
