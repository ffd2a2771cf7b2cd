import DivanLog

extension WriteTransaction {
  /// Returns the locator of an index's record.
  func locator(of name: String) throws(DatabaseError) -> RecordLocator? {
    try view.locator(in: \.catalog, CatalogKey.index(SharedBytes(utf8: name)))
  }

  /// Makes an index follow all writes from now on; returns nil if it exists already.
  func begin(_ index: DocumentIndex) throws(DatabaseError) -> IndexDefinition? {
    if let found = state.indexes.first(where: { haveSameUTF8($0.index.name, index.name) }) {
      if found.index == index, found.isReady { return nil }
      throw DatabaseError(
        .alreadyExists,
        found.index == index
          ? "that index is being built" : "there is already another index with that name",
        hint: found.index == index
          ? "Wait until the build has ended" : "Remove it first, or choose another name",
        path: store.path)
    }
    let definition = IndexDefinition(index: index, number: nextCommit, isReady: false)
    try append(
      IndexDefinitionRecord(
        name: SharedBytes(utf8: index.name), superseded: try locator(of: index.name),
        definition: definition))
    return definition
  }

  /// Gives a full-text index that is ready other weights, on which its terms do not depend.
  ///
  /// Returns false if there is no such index.
  func reweigh(_ index: DocumentIndex) throws(DatabaseError) -> Bool {
    let found = state.indexes.first { $0.isReady && $0.index.hasSameTerms(as: index) }
    guard let found else { return false }
    try append(
      IndexDefinitionRecord(
        name: SharedBytes(utf8: index.name), superseded: try locator(of: index.name),
        definition: IndexDefinition(index: index, number: found.number, isReady: true)))
    return true
  }

  /// Marks an index as complete and ready for use.
  func finish(_ definition: IndexDefinition) throws(DatabaseError) {
    try state.requireBuilding(definition, path: store.path)
    let ready = IndexDefinition(index: definition.index, number: definition.number, isReady: true)
    try append(
      IndexDefinitionRecord(
        name: SharedBytes(utf8: definition.index.name),
        superseded: try locator(of: definition.index.name),
        definition: ready))
  }
}
