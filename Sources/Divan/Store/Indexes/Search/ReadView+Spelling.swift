import DivanLog

/// The limits of looking up words.
enum FullTextSpelling {
  /// The number of words of a query that are looked up for a correction.
  static let correctedWordLimit = 32
  /// The number of documents that are read to find a word with a stem.
  static let documentLimit = 8
}

extension ReadView {
  /// Returns the full-text index with a name, which has the properties that a query names.
  func textIndex(
    named name: String, for query: FullTextQuery
  ) throws(DatabaseError) -> IndexDefinition {
    let condition = FullTextCondition(query: query, path: nil, indexName: name)
    let definition = try fullTextIndex(for: condition)
    _ = try FullTextRequest(condition, of: definition.index)
    return definition
  }

  /// Whether a document of a full-text index has a word, or the word is a stop word.
  func knows(_ word: String, in definition: IndexDefinition) throws(DatabaseError) -> Bool {
    let options = definition.index.fullText ?? FullTextOptions()
    var tokens = TokenCursor(Array(word.utf8), options.analysis, for: .query)
    guard tokens.next() else { return true }
    var search = try FullTextSearch(
      FullTextCondition(
        query: FullTextQuery(QueryLexer.quoted(word)), path: nil, indexName: definition.index.name),
      definition, in: self)
    return try search.nextID() != nil
  }

  /// Returns the words of a full-text index near another one: whole words, also with stemming.
  func suggestions(
    for word: String, in definition: IndexDefinition, limit: Int
  ) throws(DatabaseError) -> [String] {
    let terms = try fullTextSuggestions(for: word, in: definition, limit: limit)
    guard definition.index.fullText?.stemming != nil else { return terms }
    var words: [String] = []
    for term in terms {
      let found = try self.word(ofStem: term, in: definition)
      if !words.contains(where: { haveSameUTF8($0, found) }) { words.append(found) }
    }
    return words
  }

  /// Returns a word of a document, folded, that has a stem; the stem if none is found soon.
  private func word(
    ofStem stem: String, in definition: IndexDefinition
  ) throws(DatabaseError) -> String {
    // A stem has other stems, and most words begin with theirs.
    var search = try FullTextSearch(
      FullTextCondition(
        query: FullTextQuery(QueryLexer.quoted(stem) + "*"), path: nil,
        indexName: definition.index.name),
      definition, in: self)
    for _ in 0..<FullTextSpelling.documentLimit {
      guard let id = try search.nextID() else { break }
      guard let document = try self.document(try text(ofID: id)) else { continue }
      if let word = definition.index.word(ofStem: stem, in: document) { return word }
    }
    return stem
  }
}

extension DocumentIndex {
  /// Returns the first word in the text of a document that has a stem, folded; nil if there is
  /// none.
  fileprivate func word(ofStem stem: String, in document: Document) -> String? {
    guard let options = fullText?.analysis else { return nil }
    let stem = Array(stem.utf8)
    func word(in text: [UInt8]) -> String? {
      var tokens = TokenCursor(text, options)
      while tokens.next() {
        if tokens.term == stem { return DocumentIndex.folded(Array(text[tokens.range]), options) }
      }
      return nil
    }
    for path in paths {
      var value: Value? = path.first.flatMap { document[$0] }
      for name in path.dropFirst() { value = value?[name] }
      for element in value?.arrayValue ?? value.map({ [$0] }) ?? [] {
        if let text = element.stringValue, let word = word(in: Array(text.utf8)) { return word }
      }
    }
    guard fullText?.includesAttachments == true else { return nil }
    var attachments = AttachedTexts(document.attachments)
    // Another document may have the word, too, so an attachment that cannot be read is skipped.
    _ = try? attachments.readSound(of: document.id)
    for text in attachments.texts {
      if let word = word(in: text) { return word }
    }
    return nil
  }

  /// Returns a word without differences of case, but not its stem.
  private static func folded(_ word: [UInt8], _ options: AnalysisOptions) -> String? {
    var options = options
    (options.stemming, options.stopWords) = (nil, [])
    var tokens = TokenCursor(word, options)
    return tokens.next() ? String(decoding: tokens.term, as: UTF8.self) : nil
  }
}
