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
    let tokens = QueryToken.joined(
      QueryLexer.tokens(
        of: String(decoding: text, as: UTF8.self), limit: FullTextParser.tokenLimit),
      isField: isField)
    var ranges: [Range<Int>] = []
    /// The end of what the last hyphen or NOT excludes.
    var excludedEnd = 0
    for (index, token) in tokens.enumerated() where index >= excludedEnd {
      if token.kind == .not || token.kind == .minus {
        excludedEnd = endOfOperand(at: index + 1, tokens, isField)
      }
      guard let content = token.content else { continue }
      let next = index + 1 < tokens.count ? tokens[index + 1] : nil
      if let next, next.isAttached {
        switch next.kind {
        case .star, .tilde: continue
        case .colon where isField(content): continue
        default: break
        }
      }
      let start = token.offset
      var segments = WordSegmenter(Array(text[start..<(next?.offset ?? text.count)]))
      while let segment = segments.next() {
        let range = start + segment.range.lowerBound..<start + segment.range.upperBound
        if segment.isWord, !segment.isNGramUnit, hasLetter(text[range]) { ranges.append(range) }
      }
    }
    return ranges
  }

  /// Returns the index after a word, a group or what has a name before it.
  private static func endOfOperand(
    at start: Int, _ tokens: [QueryToken], _ isField: (String) -> Bool
  ) -> Int {
    var index = start
    while index + 1 < tokens.count, let name = tokens[index].content,
      tokens[index + 1].kind == .colon, tokens[index + 1].isAttached, isField(name)
    {
      index += 2
    }
    guard index < tokens.count else { return index }
    if tokens[index].content != nil { return index + 1 }
    if tokens[index].kind == .near { index += 1 }
    var depth = 0
    while index < tokens.count {
      switch tokens[index].kind {
      case .open: depth += 1
      case .close: depth -= 1
      default: break
      }
      // What is no operand is not excluded.
      if depth <= 0 { return depth == 0 && tokens[index].kind == .close ? index + 1 : start }
      index += 1
    }
    return index
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
