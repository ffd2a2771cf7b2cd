import DivanLog

/// A condition on the text of documents, as a filter has it.
struct FullTextCondition: Hashable, Sendable {
  var query: FullTextQuery
  /// The path of the property to search; nil for all properties of an index.
  var path: [String]?
  /// The name of the index; nil for the first one, by name, that has the property.
  var indexName: String?
}

/// A condition as a full-text index answers it.
struct FullTextRequest: Sendable {
  let fieldNames: [String]
  /// The properties to search.
  let fields: FieldSet
  /// The query; nil if it has no word.
  let expression: FullTextExpression?
  /// The terms of the query.
  private let words: AnalysedQuery

  /// Throws `invalidQuery` if the index does not have the property, or one that the query names.
  init(_ condition: FullTextCondition, of index: DocumentIndex) throws(DatabaseError) {
    guard let options = index.fullText else {
      throw DatabaseError(
        .invalidQuery, "the index \(index.name.debugDescription) is not of text",
        hint: "Create one with `DocumentIndex(_:fullText:options:)`")
    }
    let names = index.textFieldNames
    fieldNames = names
    if let path = condition.path {
      guard let field = index.textFields.firstIndex(where: { haveSameNames($0, path) }) else {
        throw DatabaseError(
          .invalidQuery,
          "the index \(index.name.debugDescription) does not have the property "
            + path.joined(separator: ".").debugDescription)
      }
      fields = .only(field, of: names.count)
    } else {
      fields = .all
    }
    expression = condition.query.expression { names.contains($0) }
    words = AnalysedQuery(expression, options.analysis)
    // A name that the index does not have is refused, whatever the documents are.
    _ = try cursor(in: TermDictionary([]))
  }

  /// Returns the matching documents, and an upper bound of the number with each ranked part.
  func cursor(
    in terms: some FullTextTerms
  ) throws(DatabaseError) -> (cursor: any MatchCursor, partCounts: [Int])? {
    guard let expression else { return nil }
    var matches = QueryMatches(terms, words, fieldNames: fieldNames)
    guard let cursor = try matches.cursor(expression, in: fields) else { return nil }
    return (cursor, matches.partCounts)
  }

  /// Returns the documents with the query's only word, with their counts, if it is a frequent one.
  func countedMatches(in terms: some FullTextTerms) throws(DatabaseError) -> CountedMatches? {
    guard case .words(let text)? = expression else { return nil }
    var matches = QueryMatches(terms, words, fieldNames: fieldNames)
    return try matches.frequentWord(text, in: fields)
  }
}

/// Whether single documents match, by making the terms of their text.
///
/// For documents that are read for another reason, such as those of a live query.
struct FullTextMatcher: Sendable {
  private let request: FullTextRequest
  private let analyser: TextAnalyser
  /// Whether the text of attachments may decide.
  let searchesAttachments: Bool

  /// Throws `invalidQuery` if the index does not have the property, or one that the query names.
  init(_ condition: FullTextCondition, of index: DocumentIndex) throws(DatabaseError) {
    request = try FullTextRequest(condition, of: index)
    analyser = TextAnalyser(index, index.fullText ?? FullTextOptions())
    let path = condition.path ?? DocumentIndex.attachmentsPath
    searchesAttachments =
      analyser.includesAttachments && haveSameNames(path, DocumentIndex.attachmentsPath)
  }

  /// Whether the attachments of a document have to be read to test it.
  func readsAttachments(of revision: IndexedRevision) -> Bool {
    searchesAttachments && analyser.readsAttachments(of: revision)
  }

  /// Whether a document matches.
  func matches(_ revision: IndexedRevision) -> Bool {
    var builder = PostingsBuilder(fieldCount: analyser.fieldCount)
    analyser.forEachTerm(of: revision) { builder.append($0, document: 0, $1) }
    guard builder.wordCount > 0 else { return false }
    // Postings in memory are read without errors, and the names were checked.
    let found = try? request.cursor(in: TermDictionary(builder.finish()))
    return found?.cursor.document == 0
  }
}
