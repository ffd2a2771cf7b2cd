import DivanLog

extension Version {
  /// Throws if an index was removed while it was being built.
  func requireBeingMade(_ kept: IndexDefinition, path: String) throws(DatabaseError) {
    guard !indexes.contains(kept) else { return }
    throw DatabaseError(.cancelled, "the index was removed while it was made", path: path)
  }
}
