extension QueryExecution {
  /// Appends the document of a result.
  ///
  /// It is created in place: a document is large, and passing it on would copy it.
  func add(
    _ candidate: borrowing QueryCandidate, to documents: inout [Document]
  ) throws(DatabaseError) {
    try view.checkText(ofID: candidate.id)
    documents.append(view.document(of: try record(of: candidate)))
  }
}
