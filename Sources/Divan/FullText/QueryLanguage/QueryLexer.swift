/// A part of a full-text query, and where it begins.
struct QueryToken: Equatable {
  enum Kind: Equatable {
    case word(String)
    /// A text in quotation marks, and whether its end was there.
    case quoted(String, isClosed: Bool)
    case and, or, not
    /// A hyphen before a word.
    case minus
    /// `NEAR` with a parenthesis after it, which is a token of its own.
    case near
    case open, close, colon, star, comma
    /// A tilde, and the number after it.
    case tilde(Int?)
  }

  let kind: Kind
  /// The offset of its first byte.
  let offset: Int
  /// Whether no space is between it and the token before.
  let isAttached: Bool
}

/// Splits the text of a full-text query into tokens, whatever the text is.
///
/// Words follow UAX #29, as those of an index do: a comma between digits (`1,000`) and a quotation
/// mark between letters of Hebrew (`צה"ל`) are in a word, so text that was copied from a document
/// is found.
struct QueryLexer {
  static let operators: Set<String> = ["AND", "OR", "NOT"]

  private let text: [Unicode.Scalar]
  private var index = 0
  /// The offset of the scalar at ``index``, in bytes.
  private var offset = 0

  /// Splits a text into tokens, up to a number of them.
  static func tokens(of text: String, limit: Int) -> [QueryToken] {
    var lexer = QueryLexer(text: Array(text.unicodeScalars))
    var tokens: [QueryToken] = []
    while tokens.count < limit, let token = lexer.next() { tokens.append(token) }
    return tokens
  }

  private init(text: [Unicode.Scalar]) { self.text = text }

  /// Whether a scalar can be in a word that is not in quotation marks.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\"", "“", "”", "„", "(", ")", ":", "*", "~", ",": false
    default: !scalar.properties.isWhitespace && scalar.value > 0x20
    }
  }

  /// Whether the last scalar of a text is a space or another separator.
  static func endsWithSpace(_ text: String) -> Bool {
    text.unicodeScalars.last.map { !isToken($0) } ?? false
  }

  /// A text in quotation marks; those in the text are doubled.
  static func quoted(_ text: String) -> String {
    var quoted = String.UnicodeScalarView()
    quoted.append("\"")
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted.append(scalar) }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }

  private mutating func take() -> Unicode.Scalar {
    let scalar = text[index]
    index += 1
    offset += UTF8.width(scalar)
    return scalar
  }

  private mutating func next() -> QueryToken? {
    let start = index
    while index < text.count, !QueryLexer.isToken(text[index]) { _ = take() }
    guard index < text.count else { return nil }
    let (isAttached, begin) = (index == start && index > 0, offset)
    return QueryToken(kind: nextKind(), offset: begin, isAttached: isAttached)
  }

  private static func isToken(_ scalar: Unicode.Scalar) -> Bool {
    !scalar.properties.isWhitespace && scalar.value > 0x20
  }

  private mutating func nextKind() -> QueryToken.Kind {
    let first = text[index]
    switch first {
    case "(": return single(.open)
    case ")": return single(.close)
    case ":": return single(.colon)
    case "*": return single(.star)
    case ",": return single(.comma)
    case "~": return tilde()
    case "\"", "“", "”", "„": return quotation()
    case "-" where index + 1 < text.count && beginsOperand(text[index + 1]): return single(.minus)
    default: return word()
    }
  }

  private func beginsOperand(_ scalar: Unicode.Scalar) -> Bool {
    QueryLexer.isWord(scalar) && scalar != "-" || scalar == "\"" || scalar == "“" || scalar == "("
      || scalar == "„"
  }

  private mutating func single(_ kind: QueryToken.Kind) -> QueryToken.Kind {
    _ = take()
    return kind
  }

  private mutating func tilde() -> QueryToken.Kind {
    _ = take()
    var number: Int?
    while index < text.count, ("0"..."9").contains(text[index]) {
      number = min((number ?? 0) * 10 + Int(take().value) - 48, 1000)
    }
    return .tilde(number)
  }

  /// A text to the next quotation mark, except that two straight ones are one that is in the text.
  private mutating func quotation() -> QueryToken.Kind {
    let isStraight = take() == "\""
    var content = String.UnicodeScalarView()
    while index < text.count {
      let scalar = take()
      let endsHere = isStraight ? scalar == "\"" : scalar == "”" || scalar == "“" || scalar == "\""
      guard endsHere, !isWithinWord(index - 1) else {
        content.append(scalar)
        continue
      }
      guard isStraight, index < text.count, text[index] == "\"" else {
        return .quoted(String(content), isClosed: true)
      }
      content.append(take())
    }
    return .quoted(String(content), isClosed: false)
  }

  private mutating func word() -> QueryToken.Kind {
    var scalars = String.UnicodeScalarView()
    while index < text.count, QueryLexer.isWord(text[index]) || isWithinWord(index) {
      scalars.append(take())
    }
    let word = String(scalars)
    switch word {
    case "AND": return .and
    case "OR": return .or
    case "NOT": return .not
    case "NEAR" where index < text.count && text[index] == "(": return .near
    default: return .word(word)
    }
  }
}

// MARK: Words of UAX #29

extension QueryLexer {
  /// Whether the scalar at a place is a comma or a quotation mark that does not divide a word.
  private func isWithinWord(_ place: Int) -> Bool {
    guard text[place] == "," || text[place] == "\"",
      let before = wordBreak(from: place - 1, by: -1), let after = wordBreak(from: place + 1, by: 1)
    else { return false }
    return before.joins(QueryLexer.wordBreak(of: text[place]), after)
  }

  /// The property of the next scalar in a direction that the rules do not ignore; nil if none.
  private func wordBreak(from start: Int, by step: Int) -> WordBreak? {
    var place = start
    while text.indices.contains(place) {
      let found = QueryLexer.wordBreak(of: text[place])
      if !found.isIgnored { return found }
      place += step
    }
    return nil
  }

  private static func wordBreak(of scalar: Unicode.Scalar) -> WordBreak {
    WordBreakProperties(bits: WordBreakProperties.table[scalar.value]).wordBreak
  }
}

extension QueryToken {
  /// Joins words that have a colon between them, other than names of properties with their words.
  ///
  /// `key:value` is one word by UAX #29, and where it is two, the text has them next to each other.
  static func joined(_ tokens: [QueryToken], isField: (String) -> Bool) -> [QueryToken] {
    var joined: [QueryToken] = []
    var index = 0
    while index < tokens.count {
      let token = tokens[index]
      index += 1
      guard case .word(let first) = token.kind, !isName(index - 1, tokens, isField) else {
        joined.append(token)
        continue
      }
      var text = first
      while index + 1 < tokens.count, tokens[index].kind == .colon, tokens[index].isAttached,
        tokens[index + 1].isAttached, case .word(let next) = tokens[index + 1].kind
      {
        text += ":" + next
        index += 2
      }
      joined.append(
        QueryToken(kind: .word(text), offset: token.offset, isAttached: token.isAttached))
    }
    return joined
  }

  /// Whether the token at a place is the name of a property, with a colon after it.
  private static func isName(
    _ index: Int, _ tokens: [QueryToken], _ isField: (String) -> Bool
  ) -> Bool {
    guard index + 1 < tokens.count, tokens[index + 1].kind == .colon, tokens[index + 1].isAttached,
      case .word(let name) = tokens[index].kind
    else { return false }
    return isField(name)
  }
}
