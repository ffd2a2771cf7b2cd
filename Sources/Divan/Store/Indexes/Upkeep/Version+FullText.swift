import DivanLog

extension Version {
  /// Returns the changes of full-text indexes for a change of a document.
  func textEdits(
    of id: SharedBytes, from old: IndexedContent, to new: IndexedContent,
    in indexes: [IndexDefinition]
  ) throws(PageError) -> [FullTextEdit] {
    var edits: [FullTextEdit] = []
    for definition in indexes {
      guard let analyser = definition.analyser else { continue }
      if definition.isReady, let one = old.properties, let other = new.properties,
        analyser.haveSameText(one, other)
      {
        continue
      }
      let known: FullTextEdit.Old
      switch old {
      case .none: known = .terms(nil)
      case .properties(let properties): known = .terms(analyser.terms(of: properties))
      case .unreadable: known = .unknown
      }
      let terms = new.properties.flatMap { analyser.terms(of: $0) }
      if definition.isReady, case .terms(let old) = known, old == terms { continue }
      var edit = try FullTextEdit(texts.tables(of: definition))
      try edit.replace(id, known, with: terms, isWhole: definition.isReady)
      edits.append(edit)
    }
    return edits
  }
}
