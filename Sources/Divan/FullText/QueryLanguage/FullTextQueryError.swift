/// The reason why a full-text query is refused, and where in its text.
package struct FullTextQueryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, in a sentence without its end.
  package let message: String
  /// The place in the query, in bytes of UTF-8.
  package let offset: Int

  package init(_ message: String, offset: Int) {
    (self.message, self.offset) = (message, offset)
  }

  /// The message and the place.
  package var description: String { "\(message) (at byte \(offset) of the query)" }
}
