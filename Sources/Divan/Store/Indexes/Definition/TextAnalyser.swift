import DivanLog

/// Makes the terms of documents for one full-text index.
final class TextAnalyser: Sendable {
  let fieldCount: Int
  private let paths: [[String]]
  private let conditions: [IndexCondition]
  private let filter: TermFilter

  /// The distance of positions between two elements of an array, so that no phrase joins them.
  static let elementGap = 100

  init(_ index: DocumentIndex, _ options: FullTextOptions) {
    paths = index.paths
    fieldCount = index.paths.count
    conditions = index.conditions
    filter = TermFilter(options.analysis)
  }

  /// Returns the terms of a document; nil if it has none, or does not fulfil the conditions.
  ///
  /// A value that is malformed has no terms.
  func terms(of properties: EncodedValue) -> DocumentTerms? {
    var terms = DocumentTerms(fieldCount: fieldCount)
    forEachTerm(of: properties) { terms.append($0, $1) }
    terms.sort()
    return terms.isEmpty ? nil : terms
  }

  /// Returns a cursor for ``forEachTerm(of:with:_:)``, which keeps the terms of many documents.
  func makeCursor() -> TokenCursor { TokenCursor([], filter.caching()) }

  /// Calls `body` with each term of a document and its place, in the order of places.
  func forEachTerm(of properties: EncodedValue, _ body: ([UInt8], Occurrence) -> Void) {
    var cursor = TokenCursor([], filter)
    forEachTerm(of: properties, with: &cursor, body)
  }

  /// Does the same with a cursor that was used for other documents.
  func forEachTerm(
    of properties: EncodedValue, with cursor: inout TokenCursor,
    _ body: ([UInt8], Occurrence) -> Void
  ) {
    guard fulfilsConditions(properties) else { return }
    for (field, path) in paths.enumerated() {
      var start = 0
      forEachText(at: path, of: properties) { text in
        cursor.restart(text)
        var last = -1
        while cursor.next() {
          last = cursor.position
          body(cursor.term, Occurrence(field: field, position: start + last))
        }
        start += last + 1 + TextAnalyser.elementGap
      }
    }
  }

  /// Whether two documents have the same text, and so the same terms.
  func haveSameText(_ one: EncodedValue, _ other: EncodedValue) -> Bool {
    let isIn = fulfilsConditions(one)
    guard isIn == fulfilsConditions(other) else { return false }
    return !isIn
      || paths.allSatisfy { path in
        do throws(DatabaseError) {
          return try IndexEntries.property(path, of: one)?.bytes
            == IndexEntries.property(path, of: other)?.bytes
        } catch {
          return false
        }
      }
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
