import DivanLog

extension LayeredTree {
  /// Returns the tables of a full-text index in this tree.
  func tables(of definition: IndexDefinition) -> FullTextTables {
    FullTextTables(
      tree: self, keys: FullTextKeys(definition.number),
      fieldCount: definition.analyser?.fieldCount ?? definition.index.paths.count)
  }
}
