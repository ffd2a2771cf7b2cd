import DivanLog

extension WriteTransaction {
  /// Returns the place of an index's record.
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
          ? "that index is being made just now" : "there is another index of that name",
        hint: found.index == index
          ? "Wait until it is made" : "Remove it first, or choose another name", path: store.path)
    }
    let kept = IndexDefinition(index: index, number: nextCommit, isReady: false)
    try append(
      IndexDefinitionRecord(
        name: SharedBytes(utf8: index.name), superseded: try locator(of: index.name), kept: kept))
    return kept
  }

  /// Marks an index as complete and ready for use.
  func finish(_ kept: IndexDefinition) throws(DatabaseError) {
    try state.requireBeingMade(kept, path: store.path)
    let ready = IndexDefinition(index: kept.index, number: kept.number, isReady: true)
    try append(
      IndexDefinitionRecord(
        name: SharedBytes(utf8: kept.index.name), superseded: try locator(of: kept.index.name),
        kept: ready))
  }
}
