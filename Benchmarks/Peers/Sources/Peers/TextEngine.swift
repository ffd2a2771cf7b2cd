/// A store that finds documents by the words in their text.
///
/// The texts have no accents, so that tokenizers make the same terms of them, and no stemmer is
/// used.
protocol TextEngine: Engine {
  /// Puts texts in one transaction, without flushing.
  func putTexts(_ texts: [SampleText]) throws

  /// Adds a full-text index of titles and bodies, which later changes keep.
  func addTextIndex() throws

  /// Returns the number of documents that match.
  func countTexts(_ question: TextQuestion) throws -> Int

  /// Returns the IDs of the most relevant documents, up to a number of them.
  func topTexts(_ question: TextQuestion, limit: Int) throws -> [String]

  /// Replaces the body of a document in a transaction of its own, without flushing.
  func updateText(_ id: String, body: String) throws

  /// Writes everything into the store's own files, for their size.
  func settleTexts() throws
}

/// A document with text.
struct SampleText: Sendable {
  var id: String
  var title: String
  var body: String
}

/// A query for text.
enum TextQuestion {
  /// A word.
  case word(String)
  /// Two words that a document must both have.
  case both(String, String)
  /// Two words next to each other.
  case phrase(String, String)
  /// Words that begin so.
  case prefix(String)

  /// The query in the language that Divan and FTS5 have in common.
  var text: String {
    switch self {
    case .word(let word): word
    case .both(let one, let other): "\(one) AND \(other)"
    case .phrase(let one, let other): "\"\(one) \(other)\""
    case .prefix(let start): "\(start)*"
    }
  }
}
