import DivanLog

extension ReadView {
  /// Returns the revision tree of a document.
  func tree(of entry: DocumentEntry, _ id: String) throws(DatabaseError) -> RevisionTree {
    try tree(of: try newestRecord(of: entry, id))
  }

  /// Returns the revision tree of the document whose newest record this is.
  func tree(of record: DocumentRecord) throws(DatabaseError) -> RevisionTree {
    do throws(DatabaseError) {
      return try record.tree()
    } catch {
      var error = error
      error.path = environment.path
      throw error
    }
  }
}
