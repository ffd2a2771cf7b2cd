import Divan

/// A film; the other properties of its document are kept.
final class Film: Model {
  @Persisted var title: String
  @Persisted var year: Int
  @Persisted var cast: [String]
  @Persisted var genres: [String]
  @Persisted var people: [Person]
  @Persisted var kinds: [Genre]
  @Persisted var href: String?
  @Persisted var extract: String?
  @Persisted var thumbnail: String?
  @Persisted(key: "thumbnail_width") var thumbnailWidth: Int?
  @Persisted(key: "thumbnail_height") var thumbnailHeight: Int?
}

extension Film {
  /// The prefix of the IDs of films.
  static let prefix = "film:"

  /// Returns the ID of the film that was read as the `number`th.
  static func id(_ number: Int) -> String {
    let digits = String(number)
    return prefix + String(repeating: "0", count: max(0, 7 - digits.count)) + digits
  }

  /// A line about the film.
  var line: String {
    let stars = cast.prefix(2).joined(separator: ", ")
    return "\(title) (\(year))" + (stars.isEmpty ? "" : ", with \(stars)")
  }
}
