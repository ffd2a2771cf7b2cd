import DivanLog

extension FullTextIndex {
  func makeCheck(_ view: ReadView) -> any IndexCheck { Check(index: self, view: view) }

  /// What the index should have, counted document by document.
  private struct Check: IndexCheck {
    private let index: FullTextIndex
    private let view: ReadView
    private let tables: FullTextTables
    private var figures: FullTextFigures
    private var postingCount = 0
    private var isSound = true
    /// Whether the words of every document are known.
    private var isComplete = true

    init(index: FullTextIndex, view: ReadView) {
      self.index = index
      self.view = view
      tables = view.state.texts.tables(of: index.definition)
      figures = FullTextFigures(fieldCount: tables.fieldCount)
    }

    /// Checks that the index has the terms of a document, at their places.
    ///
    /// It reports the first damage only, because one page may concern many documents.
    mutating func check(_ document: StoredDocument, _ id: String) throws(DatabaseError) {
      guard let revision = try readRevision(document),
        let terms = index.analyser.terms(of: revision)
      else { return }
      postingCount += terms.terms.count
      figures.add(1, terms.lengths)
      guard isSound else { return }
      do throws(DatabaseError) {
        try require(terms, of: document, id)
      } catch {
        if error.code == .damaged { isSound = false }
        throw error
      }
    }

    /// Returns what the index should have of a document; nil if an attachment cannot be read.
    ///
    /// The check of the attachments reports it.
    private mutating func readRevision(
      _ document: StoredDocument
    ) throws(DatabaseError) -> IndexedRevision? {
      do throws(DatabaseError) {
        return try view.indexedRevision(document, for: index.analyser)
      } catch {
        guard error.concernsAttachmentAlone else { throw error }
        isComplete = false
        return nil
      }
    }

    private func require(
      _ terms: DocumentTerms, of document: StoredDocument, _ id: String
    ) throws(DatabaseError) {
      let tables = tables
      let isThere = try view.repairing { (_) throws(PageError) in
        try tables.have(terms, of: document.idBytes)
      }
      guard !isThere else { return }
      throw DatabaseError(
        .damaged, "a full-text index does not have the words of the document",
        documentID: id, path: view.environment.path)
    }

    /// Compares the counts of the index with those of the documents.
    func finish() throws(DatabaseError) {
      guard isSound, isComplete else { return }
      let tables = tables
      let (found, foundCount) = try view.repairing { (_) throws(PageError) in
        let figures = try tables.figures()
        return (figures, try tables.postingCount(withOrphans: !figures.hasOrphans))
      }
      var wanted = figures
      wanted.nextNumber = found.nextNumber
      wanted.hasOrphans = found.hasOrphans
      guard found != wanted || foundCount != postingCount else { return }
      throw DatabaseError(
        .damaged,
        "the full-text index \(index.definition.index.name.debugDescription) has \(foundCount) "
          + "postings of \(found.documentCount) documents, and should have "
          + "\(postingCount) of \(wanted.documentCount)", path: view.environment.path)
    }
  }
}

extension FullTextTables {
  /// Whether the index has exactly these lengths of a document, and its terms at their places.
  fileprivate func have(_ terms: DocumentTerms, of id: SharedBytes) throws(PageError) -> Bool {
    guard let number = try number(of: id), try self.id(of: number) == id,
      try lengths(around: number).new[number] == terms.lengths
    else { return false }
    for term in terms.terms {
      guard let block = try block(of: term.term, with: number) else { return false }
      let found = try decoding { () throws(ByteError) in
        var cursor = try PostingsCursor(
          block.postings.bytes, first: block.first, fieldCount: fieldCount)
        cursor.advance(to: number)
        var found: [Occurrence] = []
        if cursor.document == number { try cursor.appendOccurrences(to: &found) }
        return found
      }
      guard found == term.occurrences else { return false }
    }
    return true
  }

  /// Counts the postings, of which orphans count only if there should be none.
  ///
  /// The blocks of a term must not overlap.
  fileprivate func postingCount(withOrphans: Bool) throws(PageError) -> Int {
    let start = keys.start(of: .terms)
    var scan = tree.scan(from: .inclusive(start), to: .end(ofPrefix: start))
    var isLive: [UInt64: TextLengths] = [:]
    var count = 0
    var last: (term: [UInt8], end: UInt64)?
    while let item = try scan.next() {
      guard let block = try block(item) else { continue }
      if let last, last.term == block.term, last.end >= block.first {
        throw PageError.damaged(page: 0, reason: "two blocks of a full-text index overlap")
      }
      last = (block.term, block.first + block.postings.header.last)
      var cursor = try decoding { () throws(ByteError) in
        try PostingsCursor(block.postings.bytes, first: block.first, fieldCount: fieldCount)
      }
      while cursor.document != DocumentNumber.end {
        let number = cursor.document
        let slot = number / FullTextKeys.lengthsPerBlock
        if isLive[slot] == nil { isLive[slot] = try lengths(around: number).new }
        if withOrphans || isLive[slot]?[number] != nil { count += 1 }
        cursor.advance(to: number + 1)
      }
    }
    return count
  }
}
