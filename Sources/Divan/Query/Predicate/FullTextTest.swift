import DivanLog

/// A condition on text with the index that answers it, for tests of single documents.
///
/// It is an object, because filters and plans pass it on.
final class FullTextTest: Sendable {
  let definition: IndexDefinition
  private let matcher: FullTextMatcher

  init(_ condition: FullTextCondition, _ definition: IndexDefinition) throws(DatabaseError) {
    self.definition = definition
    matcher = try FullTextMatcher(condition, of: definition.index)
  }

  /// Whether a document is in the index, and its text matches.
  ///
  /// - Throws: The error of an attachment that cannot be read.
  func accepts(_ row: borrowing QueryRow) throws(DatabaseError) -> Bool {
    var revision = IndexedRevision(EncodedValue(row.properties))
    if matcher.searchesAttachments {
      revision.attachments = try row.attachedTexts()
      if matcher.readsAttachments(of: revision) {
        try revision.attachments.read(of: row.id.text)
      }
    }
    return matcher.matches(revision)
  }

  /// Whether the text of attachments may decide.
  var searchesAttachments: Bool { matcher.searchesAttachments }
}

extension FullTextCondition: CustomStringConvertible {
  /// The condition as text, as filters are described.
  var description: String {
    let subject = path.map { $0.joined(separator: ".") } ?? "text"
    let place = indexName.map { " in index \($0.debugDescription)" } ?? ""
    return "\(subject) matches \(Value.string(query.text).json)\(place)"
  }
}

extension FilterExpression {
  /// Whether the filter has a condition on text, which an index must define.
  var searchesText: Bool {
    switch self {
    case .fullText: true
    case .not(let part): part.searchesText
    case .and(let parts), .or(let parts): parts.contains(where: \.searchesText)
    // Conditions on elements have none.
    case .all, .nothing, .test, .anyElement, .everyElement, .custom, .refused: false
    }
  }

  /// Whether a condition on text needs the attachments of documents.
  var searchesAttachments: Bool { textTests.contains(where: \.searchesAttachments) }

  /// The indexes of its conditions on text, in the order of the conditions.
  var textIndexes: [IndexDefinition] { textTests.map(\.definition) }

  private var textTests: [FullTextTest] {
    switch self {
    case .fullText(_, let test): test.map { [$0] } ?? []
    case .not(let part): part.textTests
    case .and(let parts), .or(let parts): parts.flatMap(\.textTests)
    case .all, .nothing, .test, .anyElement, .everyElement, .custom, .refused: []
    }
  }
}
