import DivanLog

/// Makes the terms of documents for one full-text index.
final class TextAnalyser: Sendable {
  let fieldCount: Int
  /// Whether the text of attachments is a field, which is the last one.
  let includesAttachments: Bool
  private let paths: [[String]]
  private let conditions: [IndexCondition]
  private let filter: TermFilter

  /// The distance of positions between two elements of an array, or two attachments, so that no
  /// phrase joins them.
  static let elementGap = 100

  init(_ index: DocumentIndex, _ options: FullTextOptions) {
    paths = index.paths
    fieldCount = index.textFields.count
    includesAttachments = options.includesAttachments
    conditions = index.conditions
    filter = TermFilter(options.analysis)
  }

  /// Returns the terms of a document; nil if it has none, or does not fulfil the conditions.
  ///
  /// A value that is malformed has no terms, and neither has an attachment that was not read.
  func terms(of revision: IndexedRevision) -> DocumentTerms? {
    var terms = DocumentTerms(fieldCount: fieldCount)
    forEachTerm(of: revision) { terms.append($0, $1) }
    terms.sort()
    return terms.isEmpty ? nil : terms
  }

  /// Returns a cursor for ``forEachTerm(of:with:_:)``, which keeps the terms of many documents.
  func makeCursor() -> TokenCursor { TokenCursor([], filter.caching()) }

  /// Calls `body` with each term of a document and its place, in the order of places.
  func forEachTerm(of revision: IndexedRevision, _ body: ([UInt8], Occurrence) -> Void) {
    var cursor = TokenCursor([], filter)
    forEachTerm(of: revision, with: &cursor, body)
  }

  /// Does the same with a cursor that was used for other documents.
  func forEachTerm(
    of revision: IndexedRevision, with cursor: inout TokenCursor,
    _ body: ([UInt8], Occurrence) -> Void
  ) {
    guard fulfilsConditions(revision.properties) else { return }
    var start = 0
    func add(_ text: [UInt8], to field: Int) {
      cursor.restart(text)
      var last = -1
      while cursor.next() {
        last = cursor.position
        body(cursor.term, Occurrence(field: field, position: start + last))
      }
      start += last + 1 + TextAnalyser.elementGap
    }
    for (field, path) in paths.enumerated() {
      start = 0
      forEachText(at: path, of: revision.properties) { add($0, to: field) }
    }
    guard includesAttachments else { return }
    start = 0
    for text in revision.attachments.texts { add(text, to: paths.count) }
  }

  /// Whether two documents have the same text, and so the same terms.
  ///
  /// Attachments are compared by their digests, without reading them.
  func haveSameText(_ one: IndexedRevision, _ other: IndexedRevision) -> Bool {
    let isIn = fulfilsConditions(one.properties)
    guard isIn == fulfilsConditions(other.properties) else { return false }
    guard isIn else { return true }
    if includesAttachments, !one.attachments.haveSameText(as: other.attachments) { return false }
    return paths.allSatisfy {
      IndexEntries.haveSameBytes(at: $0, one.properties, other.properties)
    }
  }

  /// Whether the terms of a document are those of attachments, too, which have to be read first.
  func readsAttachments(of revision: IndexedRevision) -> Bool {
    includesAttachments && !revision.attachments.isEmpty && fulfilsConditions(revision.properties)
  }

  private func fulfilsConditions(_ properties: EncodedValue) -> Bool {
    conditions.allSatisfy { $0.isFulfilled(by: properties) }
  }

  private func forEachText(
    at path: [String], of properties: EncodedValue, _ body: ([UInt8]) -> Void
  ) {
    guard let value = try? IndexEntries.property(path, of: properties)?.decode() else { return }
    switch value {
    case .string(let text): body(Array(text.utf8))
    case .array(let elements):
      for case .string(let text) in elements { body(Array(text.utf8)) }
    default: break
    }
  }
}

/// The terms of one document, each with its places.
struct DocumentTerms: Equatable {
  /// A term and its places in ascending order.
  struct Term: Equatable {
    let term: [UInt8]
    fileprivate(set) var occurrences: [Occurrence]
  }

  /// The terms in the order of their bytes, once they are sorted.
  private(set) var terms: [Term] = []
  /// The number of terms in each property, with repetitions.
  private(set) var lengths: [Int]
  private var table = TermTable(slotCount: 64)

  init(fieldCount: Int) { lengths = Array(repeating: 0, count: fieldCount) }

  var isEmpty: Bool { terms.isEmpty }

  fileprivate mutating func append(_ term: [UInt8], _ occurrence: Occurrence) {
    lengths[occurrence.field] += 1
    let number = table.number(of: term)
    if number == terms.count {
      terms.append(Term(term: term, occurrences: [occurrence]))
    } else {
      terms[number].occurrences.append(occurrence)
    }
  }

  fileprivate mutating func sort() {
    terms.sort { $0.term.lexicographicallyPrecedes($1.term) }
  }

  /// Whether both have the same terms at the same places.
  static func == (one: DocumentTerms, other: DocumentTerms) -> Bool {
    one.terms == other.terms && one.lengths == other.lengths
  }
}
