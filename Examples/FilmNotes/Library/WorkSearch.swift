import Divan
import Foundation

/// What the user searches for, as typed queries.
///
/// A query is a value: `list` runs it once, and `watch` follows its results.
struct WorkSearch {
  enum Order: String, CaseIterable { case title, year, rating }

  var text: String?
  var genre: String?
  var firstYear: Int?
  var lastYear: Int?
  var person: ModelID<Person>?
  var order = Order.title
  var limit: Int?

  /// The query for all works, or for those of a subclass.
  ///
  /// The indexes of `genres` and `year` find the candidates. The other conditions test these.
  func query<W: Work>(for type: W.Type = W.self) -> Query<W> {
    var query = Query<W>()
    if let text {
      query = query.filter { $0.title.contains(text, ignoring: .caseAndDiacritics) }
    }
    if let genre { query = query.filter { $0.genres.contains(genre) } }
    if let firstYear { query = query.filter { $0.year >= firstYear } }
    if let lastYear { query = query.filter { $0.year <= lastYear } }
    if let person { query = query.filter { $0.cast.contains(person) } }
    switch order {
    case .title: query = query.sorted(by: \.title).sorted(by: \.year)
    case .year: query = query.sorted(by: \.year).sorted(by: \.title)
    case .rating: query = query.sorted(by: \.rating, .descending).sorted(by: \.title)
    }
    return limit.map { query.limit($0) } ?? query
  }
}

extension Library {
  /// Returns notes, the newest first: all, or those with a tag, or since a date.
  func notes(tag: String? = nil, since date: Date? = nil) throws -> [Note] {
    var query = Query<Note>().sorted(by: \.date, .descending)
    if let tag { query = query.filter { $0.tags.contains(tag) } }
    if let date { query = query.filter { $0.date >= date } }
    return try context.find(query)
  }
}
