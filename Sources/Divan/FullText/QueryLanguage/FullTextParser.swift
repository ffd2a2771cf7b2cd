/// Parses the language of full-text queries.
///
/// ```
/// query   all (OR all)*
/// all     part (AND? part)*          a part with NOT or - is excluded from the others
/// part    (NOT | -)? operand
/// operand name : operand
///         ( query )
///         NEAR ( words+ (, distance)? )
///         words
/// words   (word | "phrase") *? (~ distance)?
/// ```
///
/// `AND`, `OR`, `NOT` and `NEAR` are written in capitals. Without an operator, all words have to
/// match. A phrase is in straight or typographic quotation marks. Parts that are equal count once.
///
/// ``parse(_:)`` refuses what is not in this language. ``parseLeniently(_:typed:isField:)`` makes
/// the best of any text, for a search field: it drops what does not fit.
package struct FullTextParser {
  /// The greatest number of tokens in a query: words, operators and punctuation.
  package static let tokenLimit = 4096
  /// The greatest number of parentheses, names and operators within each other.
  package static let depthLimit = 64
  /// The greatest distance that `NEAR` can have.
  package static let distanceLimit = 10_000
  /// The greatest number of different words and phrases in a query.
  package static let partLimit = 64
  /// The greatest number of words in a phrase.
  package static let phraseLimit = 256
  /// The distance of `NEAR` without a number.
  package static let defaultDistance = 10

  private let tokens: [QueryToken]
  /// The size of the text, where its end is reported.
  private let size: Int
  /// Nil for the strict parser, which knows no names.
  private let isField: ((String) -> Bool)?
  private var index = 0
  private var depth = 0
  /// Whether the parser leaves all parentheses because there were too many.
  private var isTooDeep = false
  /// The words and phrases so far.
  private var known: Set<FullTextWords> = []

  private init(_ text: String, _ isField: ((String) -> Bool)?, isTyped: Bool = false) {
    var tokens = QueryLexer.tokens(of: text, limit: FullTextParser.tokenLimit + 1)
    if isTyped { tokens.beginLastWord(endsWithSpace: QueryLexer.endsWithSpace(text)) }
    self.tokens = isField.map { [tokens] in QueryToken.joined(tokens, isField: $0) } ?? tokens
    size = text.utf8.count
    self.isField = isField
  }

  /// Parses a query strictly.
  ///
  /// - Throws: ``FullTextQueryError`` for a text that is not in the language, for one without a
  ///   word, and for one that is beyond a limit.
  package static func parse(_ text: String) throws(FullTextQueryError) -> FullTextExpression {
    var parser = FullTextParser(text, nil)
    if parser.tokens.count > tokenLimit {
      throw FullTextQueryError(
        "the query has more than \(tokenLimit) words and signs",
        offset: parser.tokens[tokenLimit].offset)
    }
    let expression = try parser.union()
    if let token = parser.token {
      throw FullTextQueryError(
        "\(token.name) has nothing before it that it belongs to", offset: token.offset)
    }
    guard let expression else { throw FullTextQueryError("the query has no words", offset: 0) }
    return expression
  }

  /// Parses any text; nil if it has no word.
  ///
  /// Signs and operators that do not fit are left out, and quotation marks and parentheses that are
  /// open are closed at the end. Words that are excluded from nothing are left out, too. What is
  /// beyond a limit is ignored. `isField` says whether a text before a colon is the name of a
  /// property. If it is not, it is a part of the word: `key:value` is in documents, too. The last
  /// word of a text that is `typed` is the beginning of one.
  package static func parseLeniently(
    _ text: String, typed isTyped: Bool = false,
    isField: @escaping (String) -> Bool = { _ in false }
  ) -> FullTextExpression? {
    var parser = FullTextParser(text, isField, isTyped: isTyped)
    var parts: [FullTextExpression] = []
    // An error is not possible; where the strict parser throws, this one goes on.
    while parser.token != nil {
      let start = parser.index
      parser.isTooDeep = false
      if let part = try? parser.union() { parts.append(part) }
      // A sign that fits nowhere, such as a closing parenthesis.
      if parser.token != nil, parser.index == start || parser.token?.kind == .close {
        parser.index += 1
      }
    }
    return joined(parts, FullTextExpression.all)
  }

  /// Joins parts, each once; nil if there are none.
  private static func joined(
    _ parts: [FullTextExpression], _ join: ([FullTextExpression]) -> FullTextExpression
  ) -> FullTextExpression? {
    var known: Set<FullTextExpression> = []
    let different = parts.count > 1 ? parts.filter { known.insert($0).inserted } : parts
    return different.count > 1 ? join(different) : different.first
  }
}

extension FullTextParser {
  private var isLenient: Bool { isField != nil }

  /// The next token; nil at the end.
  private var token: QueryToken? { index < tokens.count ? tokens[index] : nil }

  private mutating func accept(_ kind: QueryToken.Kind) -> Bool {
    guard token?.kind == kind else { return false }
    index += 1
    return true
  }

  /// Throws an error for the next token, or does nothing in the lenient parser.
  private func refuse(_ message: String) throws(FullTextQueryError) {
    try refuse(message, at: token?.offset ?? size)
  }

  /// Does the same for a place.
  private func refuse(_ message: String, at offset: Int) throws(FullTextQueryError) {
    if !isLenient { throw FullTextQueryError(message, offset: offset) }
  }

  private mutating func union() throws(FullTextQueryError) -> FullTextExpression? {
    var parts: [FullTextExpression] = []
    var isOpen = false
    while true {
      if let part = try intersection() {
        parts.append(part)
        isOpen = false
      } else if token?.kind == .or || isOpen {
        try refuse(isOpen ? "OR has nothing after it" : "OR has nothing before it")
      }
      guard accept(.or) else { break }
      isOpen = true
    }
    return FullTextParser.joined(parts, FullTextExpression.any)
  }

  private mutating func intersection() throws(FullTextQueryError) -> FullTextExpression? {
    var parts: [FullTextExpression] = []
    var excluded: [FullTextExpression] = []
    let start = token?.offset ?? size
    while let next = token {
      switch next.kind {
      case .and:
        index += 1
        if parts.isEmpty && excluded.isEmpty { try refuse("AND has nothing before it") }
        if !beginsPart { try refuse("AND has nothing after it") }
      case .not, .minus:
        index += 1
        if let part = try operand() {
          excluded.append(part)
        } else {
          try refuse("\(next.name) has nothing after it")
        }
      default:
        let place = index
        if let part = try operand() {
          parts.append(part)
        } else if isLenient, next.isStray {
          index += 1
        } else if !isLenient || isTooDeep || index == place {
          return try combine(parts, excluded, start)
        }
      }
    }
    return try combine(parts, excluded, start)
  }

  /// Whether a part, or a sign that excludes one, is next.
  private var beginsPart: Bool {
    switch token?.kind {
    case .and, .or, .close, .star, .colon, .comma, .tilde, nil: false
    default: true
    }
  }

  private func combine(
    _ parts: [FullTextExpression], _ excluded: [FullTextExpression], _ start: Int
  ) throws(FullTextQueryError) -> FullTextExpression? {
    if parts.isEmpty, !excluded.isEmpty {
      try refuse("only excluded words are here: there is nothing to exclude them from", at: start)
    }
    guard let base = FullTextParser.joined(parts, FullTextExpression.all) else { return nil }
    guard let out = FullTextParser.joined(excluded, FullTextExpression.any) else { return base }
    return .without(base, out)
  }

  /// Parses an operand; nil if the next token begins none.
  private mutating func operand() throws(FullTextQueryError) -> FullTextExpression? {
    guard let next = token else { return nil }
    depth += 1
    defer { depth -= 1 }
    if depth > FullTextParser.depthLimit {
      try refuse("more than \(FullTextParser.depthLimit) parentheses are within each other")
      // The lenient parser goes on behind the sign, outside of all parentheses.
      isTooDeep = true
      index += 1
      return nil
    }
    switch next.kind {
    case .open: return try group()
    case .near: return try near()
    case .word(let text), .quoted(let text, _):
      if index + 1 < tokens.count, tokens[index + 1].kind == .colon, tokens[index + 1].isAttached,
        isField?(text) ?? true
      {
        return try field(text)
      }
      guard let part = try words(), try admits(part, at: next.offset) else { return nil }
      return .words(part)
    default: return nil
    }
  }

  private mutating func group() throws(FullTextQueryError) -> FullTextExpression? {
    index += 1
    let inner = try union()
    if inner == nil { try refuse("the parentheses have nothing in them") }
    if !accept(.close) { try refuse("a parenthesis is not closed") }
    return inner
  }

  private mutating func field(_ name: String) throws(FullTextQueryError) -> FullTextExpression? {
    index += 2
    let next = token
    guard let inner = try operand() else {
      if next?.kind != .open { try refuse("the property “\(name)” has no words after it") }
      return nil
    }
    return .field(name, inner)
  }

  /// Parses a word or a phrase with its signs; nil if there is none, or if it is empty.
  private mutating func words() throws(FullTextQueryError) -> FullTextWords? {
    var words: FullTextWords
    let start = token?.offset ?? size
    switch token?.kind {
    case .word(let text): words = FullTextWords(text)
    case .quoted(let text, let isClosed):
      if !isClosed { try refuse("a quotation mark is not closed") }
      words = isClosed ? FullTextWords(text) : FullTextWords(openText: text)
    default: return nil
    }
    index += 1
    if let token, token.isAttached, token.kind == .star {
      index += 1
      words.isPrefix = true
    }
    if let token, token.isAttached, case .tilde(let number) = token.kind {
      if number.map({ !(1...FuzzyDistance.limit).contains($0) }) ?? true {
        try refuse("a tilde has no distance of 1 or 2 after it")
      }
      words.maxDistance = min(max(number ?? 1, 0), FuzzyDistance.limit)
      if words.matchesAnyTerm {
        try refuse("the beginning of a word is not longer than its distance, so any word matches")
        words.maxDistance = 0
      }
      index += 1
    }
    if let cut = words.cut(to: FullTextParser.phraseLimit) {
      try refuse("a phrase has more than \(FullTextParser.phraseLimit) words", at: start)
      return cut
    }
    return words
  }

  /// Whether a query may have a word or a phrase besides those before.
  private mutating func admits(
    _ words: FullTextWords, at offset: Int
  ) throws(FullTextQueryError) -> Bool {
    if known.contains(words) { return true }
    guard known.count < FullTextParser.partLimit else {
      try refuse(
        "the query has more than \(FullTextParser.partLimit) different words and phrases",
        at: offset)
      return false
    }
    known.insert(words)
    return true
  }

  private mutating func near() throws(FullTextQueryError) -> FullTextExpression? {
    index += 2
    var parts: [FullTextWords] = []
    while let next = token, let part = try words() {
      if try admits(part, at: next.offset) { parts.append(part) }
    }
    var distance = FullTextParser.defaultDistance
    if accept(.comma) {
      if case .word(let text)? = token?.kind, let number = Int(text), number >= 0,
        number <= FullTextParser.distanceLimit
      {
        distance = number
        index += 1
      } else {
        try refuse("NEAR has no distance of 0 to \(FullTextParser.distanceLimit) after its comma")
      }
    }
    if parts.isEmpty { try refuse("NEAR has no words in it") }
    if !accept(.close) {
      try refuse("the parenthesis of NEAR is not closed, or has more than words")
    }
    return parts.isEmpty ? nil : .near(parts, distance: distance)
  }
}

extension FullTextWords {
  /// Creates words after a quotation mark that is not closed, where a star may be the last sign.
  fileprivate init(openText text: String) {
    var scalars = text.unicodeScalars
    var isPrefix = false
    while scalars.last == "*" {
      scalars.removeLast()
      isPrefix = true
    }
    self.init(String(scalars), isPrefix: isPrefix)
  }

  /// Returns the first words, without signs, if there are more; nil if there are not.
  fileprivate func cut(to count: Int) -> FullTextWords? {
    guard text.utf8.count > count else { return nil }
    let bytes = Array(text.utf8)
    var segments = WordSegmenter(bytes)
    var found = 0
    while let segment = segments.next() {
      guard segment.isWord || segment.isNGramUnit else { continue }
      found += 1
      guard found > count else { continue }
      let start = String(decoding: bytes[..<segment.range.lowerBound], as: UTF8.self)
      return FullTextWords(start, maxDistance: maxDistance)
    }
    return nil
  }
}

extension [QueryToken] {
  /// Adds a star to the last word of a text that is being typed, if no space ends the word.
  fileprivate mutating func beginLastWord(endsWithSpace: Bool) {
    if endsWithSpace { return }
    // A quotation mark that has nothing after it.
    if let end = last, end.isAttached, case .quoted(let text, _) = end.kind, text.isEmpty {
      removeLast()
    }
    switch last?.kind {
    case .word?: break
    case .quoted(let text, _)?: if QueryLexer.endsWithSpace(text) { return }
    default: return
    }
    append(QueryToken(kind: .star, offset: last?.offset ?? 0, isAttached: true))
  }
}

/// The edit distances of the query language.
private enum FuzzyDistance {
  static let limit = 2
}

extension QueryToken {
  /// Whether the token is a sign that begins no operand and ends none.
  fileprivate var isStray: Bool {
    switch kind {
    case .colon, .star, .comma, .tilde: true
    default: false
    }
  }

  /// The token as it is called in errors.
  fileprivate var name: String {
    switch kind {
    case .word(let text), .quoted(let text, _): "“\(text)”"
    case .and: "AND"
    case .or: "OR"
    case .not: "NOT"
    case .minus: "the hyphen"
    case .near: "NEAR"
    case .open: "an opening parenthesis"
    case .close: "a closing parenthesis"
    case .colon: "the colon"
    case .star: "the star"
    case .comma: "the comma"
    case .tilde: "the tilde"
    }
  }
}
