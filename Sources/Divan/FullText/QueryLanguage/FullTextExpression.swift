/// What a full-text query asks for.
///
/// ``description`` writes it in the query language, and parsing that gives an equal value.
package indirect enum FullTextExpression: Hashable, Sendable {
  /// Words that follow each other: one word, or a phrase.
  case words(FullTextWords)
  /// Words in one property, such as `title:metropolis`.
  case field(String, FullTextExpression)
  /// All of at least two expressions.
  case all([FullTextExpression])
  /// Any of at least two expressions.
  case any([FullTextExpression])
  /// The first expression, and not the second.
  case without(FullTextExpression, FullTextExpression)
  /// Words, of which at least one is given, with at most `distance` others between them.
  case near([FullTextWords], distance: Int)
}

/// A word or a phrase of a full-text query.
package struct FullTextWords: Hashable, Sendable {
  /// The text, as it was written.
  package var text: String
  /// Whether terms that begin with the last word match: `milk*`.
  package var isPrefix: Bool
  /// The edit distance within which terms match, 0 to 2: `milk~1`.
  package var maxDistance: Int

  /// Creates words.
  package init(_ text: String, isPrefix: Bool = false, maxDistance: Int = 0) {
    (self.text, self.isPrefix, self.maxDistance) = (text, isPrefix, maxDistance)
  }
}

extension FullTextWords {
  /// Whether the beginning of the last word is within the distance of nothing, and so of any term.
  package var matchesAnyTerm: Bool {
    guard isPrefix, maxDistance > 0 else { return false }
    let bytes = Array(text.utf8)
    var segments = WordSegmenter(bytes)
    var last = 0..<0
    while let segment = segments.next() {
      if segment.isWord || segment.isNGramUnit { last = segment.range }
    }
    return Array(bytes[last]).scalars.count <= maxDistance
  }
}

extension FullTextWords: CustomStringConvertible {
  /// The words in the query language.
  package var description: String {
    let isBare =
      !text.isEmpty && !QueryLexer.operators.contains(text) && text != "NEAR"
      && text.unicodeScalars.first != "-"
      && text.unicodeScalars.allSatisfy { QueryLexer.isWord($0) }
    let written = isBare ? text : QueryLexer.quoted(text)
    return written + (isPrefix ? "*" : "") + (maxDistance > 0 ? "~\(maxDistance)" : "")
  }
}

extension FullTextExpression: CustomStringConvertible {
  /// The expression in the query language.
  package var description: String {
    switch self {
    case .words(let words): words.description
    case .field(let name, let inner): FullTextWords(name).description + ":" + inner.operand
    case .all(let parts): parts.map(\.operand).joined(separator: " AND ")
    case .any(let parts): parts.map(\.operand).joined(separator: " OR ")
    case .without(let base, let excluded):
      (base.isIntersection ? base.description : base.operand) + " NOT " + excluded.operand
    case .near(let parts, let distance):
      "NEAR(\(parts.map(\.description).joined(separator: " ")), \(distance))"
    }
  }

  private var isIntersection: Bool { if case .all = self { true } else { false } }

  /// The description, in parentheses if it has operators.
  private var operand: String {
    switch self {
    case .words, .field, .near: description
    case .all, .any, .without: "(\(description))"
    }
  }
}
