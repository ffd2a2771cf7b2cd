extension DatabaseError {
  /// Creates the error that users see for a query that is not in the language.
  init(_ error: FullTextQueryError) {
    self.init(
      .invalidQuery, "the full-text query cannot be read: \(error.message)",
      hint: "Put text that is not meant as an operator into quotation marks", offset: error.offset)
  }
}
