import Divan

/// A film or a series.
///
/// A query for `Work` finds both, because the schema names the subclasses. The indexes of `Work`
/// contain both, too.
class Work: Model {
  @Persisted(index: .value) var title: String
  @Persisted(index: .value) var year: Int?
  @Persisted(index: .eachElement) var genres: [String]
  @Persisted var cast: [Person]
  /// Your latest rating, from 0 to 5.
  @Persisted(index: .value) var rating: Double?
  /// What you wrote about it.
  ///
  /// If the work is deleted, the rule `cascade` deletes its notes in the same transaction.
  @Inverse(\Note.work, onDelete: .cascade) var notes: [Note]

  override func validate(_ validation: inout ModelValidation) {
    validation.require(!title.isEmpty, "a film or a series has a title", property: "title")
    validation.require(
      rating.map(Work.ratings.contains) ?? true, "a rating is between 0 and 5", property: "rating")
  }

  static let ratings = 0.0...5.0

  /// The work in a line of a list.
  var line: String {
    var text = title
    if let year { text += " (\(year))" }
    if let rating { text += ", rated \(rating)" }
    return text
  }

  /// What only a film or only a series has, each in a line.
  var details: [String] { [] }
}

final class Film: Work {
  @Persisted var director: Person?

  override var details: [String] { director.map { ["directed by \($0.name)"] } ?? [] }
}

final class Series: Work {
  @Persisted var seasons = 1

  override var details: [String] { [seasons == 1 ? "one season" : "\(seasons) seasons"] }
}

extension Work {
  /// The name under which the poster is attached to the document.
  static let posterName = "poster"

  var poster: Document.Attachment? {
    get { attachments[Work.posterName] }
    set { attachments[Work.posterName] = newValue }
  }
}
