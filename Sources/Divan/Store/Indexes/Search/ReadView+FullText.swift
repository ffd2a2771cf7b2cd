import DivanLog

extension ReadView {
  /// Returns the full-text index that answers a condition.
  func fullTextIndex(
    for condition: FullTextCondition
  ) throws(DatabaseError) -> IndexDefinition {
    try requireTexts()
    if let name = condition.indexName { return try index(named: name) }
    let found = state.indexes.first { definition in
      guard definition.isReady, definition.analyser != nil else { return false }
      guard let path = condition.path else { return true }
      return definition.index.textFields.contains { haveSameNames($0, path) }
    }
    guard let found else {
      let property =
        condition.path.map { " of " + $0.joined(separator: ".").debugDescription } ?? ""
      throw DatabaseError(
        .notFound, "there is no full-text index" + property,
        hint: "Declare `@Persisted(index: .fullText)`, or create one with `addIndex` and "
          + "`DocumentIndex(_:fullText:options:)`, and wait until it is built",
        path: environment.path)
    }
    return found
  }

  /// Throws if this version has no texts to search: an earlier version has none.
  func requireTexts() throws(DatabaseError) {
    guard past != nil else { return }
    throw DatabaseError(
      .invalidQuery, "a version of the past has no full-text index",
      hint: "Search the newest version, or filter with `containsText`", path: environment.path)
  }

  /// Returns the terms that may be meant by a word: “did you mean”.
  func fullTextSuggestions(
    for word: String, in definition: IndexDefinition, limit: Int
  ) throws(DatabaseError) -> [String] {
    try requireTexts()
    guard let options = definition.index.fullText else { return [] }
    var cursor = TokenCursor(Array(word.utf8), options.analysis, for: .query)
    guard cursor.next() else { return [] }
    let found = try StoredTermReader(StoredTerms(definition, in: self))
      .suggestions(for: cursor.term, limit: limit)
    return found.map { String(decoding: $0.term, as: UTF8.self) }
  }
}
