import DivanLog

extension Version {
  /// Throws if an index was removed while it was being built.
  func requireBuilding(_ definition: IndexDefinition, path: String) throws(DatabaseError) {
    guard !indexes.contains(definition) else { return }
    throw DatabaseError(.cancelled, "the index was removed while it was being built", path: path)
  }
}
