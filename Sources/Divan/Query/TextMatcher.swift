import DivanLog
@_spi(_Unicode) import Swift

/// Looks for a text in others: at their beginning, anywhere, at their end, or for a pattern.
///
/// Looking takes time linear in the text's size; for a pattern at most that times the size of the pattern, which is
/// bounded. So no text makes it slow.
struct TextMatcher: Sendable {
  private let place: FilterTest.TextPlace
  private let ignored: TextDifferences
  private let needle: [UInt8]
  /// Of each beginning of the needle, how long its longest proper beginning is that it also ends with
  /// (Knuth, Morris and Pratt).
  private let borders: [Int]
  /// What stands between the asterisks of a pattern.
  private let pieces: [[UInt8]]

  /// The greatest size of a pattern in bytes.
  static let patternSizeLimit = 256

  init(_ place: FilterTest.TextPlace, _ text: String, _ ignored: TextDifferences) {
    self.place = place
    self.ignored = ignored
    needle = TextMatcher.folded(text, ignored)
    borders = place == .anywhere ? TextMatcher.borders(of: needle) : []
    pieces =
      place == .pattern
      ? needle.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
      : []
  }

  /// Whether the text with these bytes, which are UTF-8, is one.
  func matches(_ text: Span<UInt8>) -> Bool {
    if ignored.isEmpty { return matchesFolded(text) }
    if let folded = TextMatcher.foldedASCII(text, ignored) { return matchesFolded(folded.span) }
    return matchesFolded(TextMatcher.folded(String(validUTF8: text), ignored).span)
  }

  private func matchesFolded(_ text: Span<UInt8>) -> Bool {
    switch place {
    case .beginning: areEqual(text, at: 0, needle.span)
    case .end:
      text.count >= needle.count && areEqual(text, at: text.count - needle.count, needle.span)
    case .anywhere: contains(text)
    case .whole: areEqual(text, needle.span)
    case .pattern: looksAlike(text)
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

  /// The first piece begins the text and the last one ends it; of the others each is taken where it stands first, since
  /// taking a later one could leave no more room for the rest.
  private func looksAlike(_ text: Span<UInt8>) -> Bool {
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

  /// Where a piece ends that begins at an offset; nil if it does not stand there.
  private func end(of piece: [UInt8], in text: Span<UInt8>, at offset: Int) -> Int? {
    var position = offset
    for byte in piece {
      guard position < text.count else { return nil }
      if byte == UInt8(ascii: "?") {
        // One scalar, which does not begin in the middle of another.
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

  /// Where a piece begins that ends the text; nil if it does not.
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

  /// A text without what is ignored, in UTF-8.
  static func folded(_ text: String, _ ignored: TextDifferences) -> [UInt8] {
    guard !ignored.isEmpty else { return Array(text.utf8) }
    var folding = TextFolding(ignored)
    for scalar in text.unicodeScalars { folding.append(scalar) }
    return folding.finish()
  }

  /// The same of a text of ASCII only; nil for others.
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
