internal import DivanLog

extension DatabaseError {
  /// Creates the error that users see for a query that is not in the language.
  init(_ error: FullTextQueryError) {
    self.init(
      .invalidQuery, "the full-text query cannot be read: \(error.message)",
      hint: "Put text that is not meant as an operator into quotation marks", offset: error.offset)
  }

  /// Creates the error for postings that cannot be read.
  init(postings error: ByteError) {
    self.init(
      .damaged, "the postings of a full-text index are damaged: \(error.reason)",
      hint: "No document is lost: remove the index, and add it again")
  }
}
