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
  /// Whether a change may concern the terms of a document.
  private func needsTerms(from old: IndexedContent, to new: IndexedContent) -> Bool {
    guard definition.isReady, let one = old.revision, let other = new.revision else { return true }
    return !analyser.haveSameText(one, other)
  }

  /// Whether adding a change needs the text of attachments that the document had, and has.
  func readsAttachments(
    from old: IndexedContent, to new: IndexedContent
  ) -> (old: Bool, new: Bool) {
    guard analyser.includesAttachments, needsTerms(from: old, to: new) else {
      return (false, false)
    }
    return (
      old.revision.map { analyser.readsAttachments(of: $0) } ?? false,
      new.revision.map { analyser.readsAttachments(of: $0) } ?? false
    )
  }

  func addChange(
    from old: IndexedContent, to new: IndexedContent, in version: Version,
    to change: inout IndexChange
  ) throws(PageError) {
    guard needsTerms(from: old, to: new) else { return }
    let known: FullTextEdit.Old
    switch old {
    case .none: known = .terms(nil)
    case .revision(let revision):
      let isKnown = !analyser.readsAttachments(of: revision) || revision.attachments.isWhole
      known = isKnown ? .terms(analyser.terms(of: revision)) : .unknown
    case .unreadable: known = .unknown
    }
    let terms = new.revision.flatMap { analyser.terms(of: $0) }
    // The index may lack terms of an attachment that could not be read.
    if definition.isReady, !analyser.includesAttachments, case .terms(let old) = known,
      old == terms
    {
      return
    }
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
      _ id: SharedBytes, _ revision: IndexedRevision, to version: inout Version
    ) throws(PageError) {
      batch.add(id, revision)
      if batch.isFull { try batch.move(to: &version.texts) }
    }

    mutating func finish(in version: inout Version) throws(PageError) {
      try batch.move(to: &version.texts)
    }
  }
}
