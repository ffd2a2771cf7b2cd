/// The words in the text of a query that may be misspelt.
///
/// These are the words to find, in quotation marks or not. Names of properties, operators, excluded
/// words, words with a star or a tilde, and words without a letter are not among them.
enum SpelledWords {
  /// Returns the bytes of each word, in order.
  ///
  /// - Parameters:
  ///   - text: The query in UTF-8.
  ///   - isField: Whether a text before a colon is the name of a property.
  /// - Returns: The ranges in the text.
  static func ranges(in text: [UInt8], isField: (String) -> Bool) -> [Range<Int>] {
    let tokens = QueryLexer.tokens(
      of: String(decoding: text, as: UTF8.self), limit: FullTextParser.tokenLimit)
    var ranges: [Range<Int>] = []
    for (index, token) in tokens.enumerated() {
      guard let content = token.content else { continue }
      let next = index + 1 < tokens.count ? tokens[index + 1] : nil
      if let next, next.isAttached {
        switch next.kind {
        case .star, .tilde: continue
        case .colon where isField(content): continue
        default: break
        }
      }
      if index > 0, tokens[index - 1].kind == .not || tokens[index - 1].kind == .minus { continue }
      let start = token.offset
      var segments = WordSegmenter(Array(text[start..<(next?.offset ?? text.count)]))
      while let segment = segments.next() {
        let range = start + segment.range.lowerBound..<start + segment.range.upperBound
        if segment.isWord, !segment.isNGramUnit, hasLetter(text[range]) { ranges.append(range) }
      }
    }
    return ranges
  }

  private static func hasLetter(_ word: ArraySlice<UInt8>) -> Bool {
    String(decoding: word, as: UTF8.self).unicodeScalars.contains { $0.properties.isAlphabetic }
  }
}

extension QueryToken {
  /// The text of a word, or of what is in quotation marks; nil for other tokens.
  fileprivate var content: String? {
    switch kind {
    case .word(let text), .quoted(let text, _): text
    default: nil
    }
  }
}
