import DivanLog
@_spi(_Unicode) import Swift

/// Searches texts for another text: at the beginning, anywhere, at the end, or for a pattern.
///
/// A search takes time linear in the text's size; for a pattern, at most that times the size of the
/// pattern, which is bounded. No text can therefore make it slow.
struct TextMatcher: Sendable {
  private let kind: ComparisonOperator.TextMatch
  private let ignored: TextDifferences
  private let needle: [UInt8]
  /// For each prefix of the needle, the length of its longest proper prefix that is also a suffix
  /// (Knuth, Morris and Pratt).
  private let borders: [Int]
  /// The parts of a pattern between its asterisks.
  private let pieces: [[UInt8]]

  /// The maximum size of a pattern in bytes.
  static let patternSizeLimit = 256

  init(_ kind: ComparisonOperator.TextMatch, _ text: String, _ ignored: TextDifferences) {
    self.kind = kind
    self.ignored = ignored
    needle = TextMatcher.folded(text, ignored)
    borders = kind == .anywhere ? TextMatcher.borders(of: needle) : []
    pieces =
      kind == .pattern
      ? needle.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
      : []
  }

  /// Whether the text with these UTF-8 bytes matches.
  func matches(_ text: Span<UInt8>) -> Bool {
    if ignored.isEmpty { return matchesFolded(text) }
    if let folded = TextMatcher.foldedASCII(text, ignored) { return matchesFolded(folded.span) }
    return matchesFolded(TextMatcher.folded(String(validUTF8: text), ignored).span)
  }

  private func matchesFolded(_ text: Span<UInt8>) -> Bool {
    switch kind {
    case .beginning: areEqual(text, at: 0, needle.span)
    case .end:
      text.count >= needle.count && areEqual(text, at: text.count - needle.count, needle.span)
    case .anywhere: contains(text)
    case .whole: areEqual(text, needle.span)
    case .pattern: matchesPattern(text)
    }
  }

  private func contains(_ text: Span<UInt8>) -> Bool {
    guard !needle.isEmpty else { return true }
    var matched = 0
    var position = 0
    while position < text.count {
      let byte = text[position]
      while matched > 0, needle[matched] != byte { matched = borders[matched - 1] }
      if needle[matched] == byte { matched += 1 }
      if matched == needle.count { return true }
      position += 1
    }
    return false
  }

  private static func borders(of needle: [UInt8]) -> [Int] {
    var borders = [Int](repeating: 0, count: needle.count)
    for index in needle.indices.dropFirst() {
      var length = borders[index - 1]
      while length > 0, needle[length] != needle[index] { length = borders[length - 1] }
      borders[index] = needle[length] == needle[index] ? length + 1 : 0
    }
    return borders
  }

  // MARK: Patterns

  /// Whether the whole text matches the pattern.
  ///
  /// The first piece must begin the text, and the last must end it. Each of the others is matched
  /// where it occurs first, because a later occurrence could leave too little room for the rest.
  private func matchesPattern(_ text: Span<UInt8>) -> Bool {
    guard let first = pieces.first, let last = pieces.last,
      var position = end(of: first, in: text, at: 0)
    else { return false }
    if pieces.count == 1 { return position == text.count }
    for piece in pieces.dropFirst().dropLast() {
      var found: Int?
      while found == nil, position <= text.count {
        found = end(of: piece, in: text, at: position)
        if found == nil { position += 1 }
      }
      guard let found else { return false }
      position = found
    }
    guard let start = beginning(of: last, in: text) else { return false }
    return start >= position
  }

  /// Returns the end of a piece that begins at an offset; nil if it is not there.
  private func end(of piece: [UInt8], in text: Span<UInt8>, at offset: Int) -> Int? {
    var position = offset
    for byte in piece {
      guard position < text.count else { return nil }
      if byte == UInt8(ascii: "?") {
        // One scalar, which must not begin in the middle of another.
        guard !isContinuation(text[position]) else { return nil }
        position += 1
        while position < text.count, isContinuation(text[position]) { position += 1 }
      } else {
        guard text[position] == byte else { return nil }
        position += 1
      }
    }
    return position
  }

  /// Returns the beginning of a piece that ends the text; nil if it does not.
  private func beginning(of piece: [UInt8], in text: Span<UInt8>) -> Int? {
    var position = text.count
    for byte in piece.reversed() {
      guard position > 0 else { return nil }
      position -= 1
      if byte == UInt8(ascii: "?") {
        while position > 0, isContinuation(text[position]) { position -= 1 }
      } else if text[position] != byte {
        return nil
      }
    }
    return position
  }

  private func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  // MARK: Folding

  /// Returns a text without ignored differences, in UTF-8.
  static func folded(_ text: String, _ ignored: TextDifferences) -> [UInt8] {
    guard !ignored.isEmpty else { return Array(text.utf8) }
    var folding = TextFolding(ignored)
    for scalar in text.unicodeScalars { folding.append(scalar) }
    return folding.finish()
  }

  /// Returns an ASCII text without ignored differences; nil for other texts.
  private static func foldedASCII(_ text: Span<UInt8>, _ ignored: TextDifferences) -> [UInt8]? {
    var folded: [UInt8] = []
    folded.reserveCapacity(text.count)
    for index in text.indices {
      let byte = text[index]
      guard byte < 0x80 else { return nil }
      let isCapital = byte >= 0x41 && byte <= 0x5A
      folded.append(isCapital && ignored.contains(.letterCase) ? byte | 0x20 : byte)
    }
    return folded
  }
}
