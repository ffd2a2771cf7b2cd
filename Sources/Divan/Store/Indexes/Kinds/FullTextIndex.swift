import DivanLog

/// A full-text index: for each term, the documents and the places in them.
///
/// ``FullTextTables`` reads what it has, and ``FullTextEdit`` changes it.
struct FullTextIndex: IndexKind {
  let definition: IndexDefinition
  let analyser: TextAnalyser

  static var tree: WritableKeyPath<Version, LayeredTree> { \.texts }
  /// Where blocks of postings begin depends on the order of changes, which the log does not show.
  static var followsFromDocuments: Bool { false }
  static func prefix(of number: UInt64) -> [UInt8] { number.bigEndianBytes }
  static func number(ofKey key: SharedBytes) -> UInt64? { FullTextKeys.indexNumber(of: key) }

  func isOutdated(in version: Version) throws(PageError) -> Bool {
    try version.texts.tables(of: definition).figures().isOutdated
  }
}

// MARK: - Upkeep

extension FullTextIndex {
  func addChange(
    from old: IndexedContent, to new: IndexedContent, in version: Version,
    to change: inout IndexChange
  ) throws(PageError) {
    if definition.isReady, let one = old.properties, let other = new.properties,
      analyser.haveSameText(one, other)
    {
      return
    }
    let known: FullTextEdit.Old
    switch old {
    case .none: known = .terms(nil)
    case .properties(let properties): known = .terms(analyser.terms(of: properties))
    case .unreadable: known = .unknown
    }
    let terms = new.properties.flatMap { analyser.terms(of: $0) }
    if definition.isReady, case .terms(let old) = known, old == terms { return }
    var edit = try FullTextEdit(version.texts.tables(of: definition))
    try edit.replace(change.id, known, with: terms, isWhole: definition.isReady)
    change.add(edit)
  }
}

extension FullTextEdit: IndexEdit {
  func apply(to version: inout Version) { apply(to: &version.texts) }
}

// MARK: - Filling while nothing else writes

extension FullTextIndex {
  func makeFilling() -> any IndexFilling { Filling(batch: FullTextBatch(definition, analyser)) }

  private struct Filling: IndexFilling {
    var batch: FullTextBatch

    mutating func add(
      _ id: SharedBytes, _ properties: EncodedValue, to version: inout Version
    ) throws(PageError) {
      batch.add(id, properties)
      if batch.isFull { try batch.move(to: &version.texts) }
    }

    mutating func finish(in version: inout Version) throws(PageError) {
      try batch.move(to: &version.texts)
    }
  }
}
