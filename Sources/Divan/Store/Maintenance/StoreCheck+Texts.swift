import DivanLog

/// What a full-text index should have, counted document by document.
struct ExpectedTexts {
  var figures: FullTextFigures
  var postingCount = 0
}

extension StoreCheck {
  /// Checks that the full-text indexes have the terms of a document, at their places.
  mutating func checkTexts(
    _ winner: StoredDocument, _ id: String, _ indexes: [IndexDefinition]
  ) throws(DatabaseError) {
    for definition in indexes {
      guard let analyser = definition.analyser,
        let terms = analyser.terms(of: EncodedValue(winner.body))
      else { continue }
      let tables = view.state.texts.tables(of: definition)
      var expected =
        texts[definition.number]
        ?? ExpectedTexts(figures: FullTextFigures(fieldCount: tables.fieldCount))
      expected.postingCount += terms.terms.count
      expected.figures.add(1, terms.lengths)
      texts[definition.number] = expected
      let view = view
      try reportingOnce(definition) { () throws(DatabaseError) in
        let isThere = try view.repairing { (_) throws(PageError) in
          try tables.have(terms, of: winner.idBytes)
        }
        guard !isThere else { return }
        throw DatabaseError(
          .damaged, "a full-text index does not have the words of the document",
          documentID: id, path: view.store.path)
      }
    }
  }

  /// Reports the first damage of a full-text index, which may concern many documents.
  private mutating func reportingOnce(
    _ definition: IndexDefinition, _ body: () throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      try body()
    } catch {
      guard error.code == .damaged else { throw error }
      if damagedTexts.insert(definition.number).inserted { report.problems.append(error) }
    }
  }

  /// Compares the counts of the full-text indexes with the documents.
  mutating func checkTextCounts() throws(DatabaseError) {
    for definition in view.state.indexes where definition.isReady && definition.analyser != nil {
      let tables = view.state.texts.tables(of: definition)
      let expected =
        texts[definition.number]
        ?? ExpectedTexts(figures: FullTextFigures(fieldCount: tables.fieldCount))
      let view = view
      try reportingOnce(definition) { () throws(DatabaseError) in
        let (figures, postingCount) = try view.repairing { (_) throws(PageError) in
          let figures = try tables.figures()
          return (figures, try tables.postingCount(withOrphans: !figures.hasOrphans))
        }
        var wanted = expected.figures
        wanted.nextNumber = figures.nextNumber
        wanted.hasOrphans = figures.hasOrphans
        guard figures != wanted || postingCount != expected.postingCount
        else { return }
        throw DatabaseError(
          .damaged,
          "the full-text index \(definition.index.name.debugDescription) has \(postingCount) "
            + "postings of \(figures.documentCount) documents, and should have "
            + "\(expected.postingCount) of \(wanted.documentCount)", path: view.store.path)
      }
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
