import Divan
import Foundation

/// A note about a work, such as one that you write after each viewing.
final class Note: Model {
  @Persisted(index: .value) var work: Work?
  @Persisted var text: String
  @Persisted(index: .eachElement) var tags: [String]
  /// The day of the viewing, at midnight in UTC.
  @Persisted(index: .value) var date: Date?
  @Persisted var rating: Double?

  override func validate(_ validation: inout ModelValidation) {
    validation.require(!text.isEmpty, "a note has a text", property: "text")
    validation.require(work != nil, "a note is about a film or a series", property: "work")
  }

  /// The note in a line of a list.
  var line: String {
    var text = text
    if let rating { text += " Rated \(rating)." }
    if !tags.isEmpty { text += " [\(tags.joined(separator: ", "))]" }
    return date.map { "\($0.formatted(Note.dayFormat)): \(text)" } ?? text
  }

  /// A date as the user types it, such as 2026-09-01.
  static let dayFormat = Date.ISO8601FormatStyle().year().month().day()
}
