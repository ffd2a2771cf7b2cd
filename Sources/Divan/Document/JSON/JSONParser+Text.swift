import DivanLog

extension JSONParser {
  /// Moves past a text and returns the range of its bytes, or nil if it has escapes.
  ///
  /// A text with escapes is decoded into `unescaped`.
  mutating func parseText(_ bytes: Span<UInt8>) throws(DatabaseError) -> Range<Int>? {
    position += 1
    let start = position
    skipPlain(bytes)
    guard position < bytes.count else { throw error("A text does not end", bytes) }
    // Offsets within a document have 32 bits, so no single text may exceed them.
    guard position - start <= textSizeLimit else { throw DocumentLimits.sizeError }
    if bytes[position] == UInt8(ascii: "\"") {
      position += 1
      return start..<position - 1
    }
    unescaped.removeAll(keepingCapacity: true)
    var plainStart = start
    while true {
      for index in plainStart..<position { unescaped.append(bytes[index]) }
      guard unescaped.count <= textSizeLimit else { throw DocumentLimits.sizeError }
      guard position < bytes.count else { throw error("A text does not end", bytes) }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return nil
      case UInt8(ascii: "\\"): try parseEscape(bytes)
      default: throw error("A text contains a control character", bytes)
      }
      plainStart = position
      skipPlain(bytes)
    }
  }

  /// Moves to the next quotation mark, backslash or control character, or to the end.
  @inline(__always)
  private mutating func skipPlain(_ bytes: Span<UInt8>) {
    position = JSONText.endOfPlain(bytes, from: position)
  }

  /// Moves past an escape, and appends the character that it represents.
  private mutating func parseEscape(_ bytes: Span<UInt8>) throws(DatabaseError) {
    let start = position
    guard bytes.count - position >= 2 else { throw error("A text does not end", bytes) }
    position += 2
    switch bytes[start + 1] {
    case UInt8(ascii: "\""): unescaped.append(0x22)
    case UInt8(ascii: "\\"): unescaped.append(0x5C)
    case UInt8(ascii: "/"): unescaped.append(0x2F)
    case UInt8(ascii: "b"): unescaped.append(0x08)
    case UInt8(ascii: "f"): unescaped.append(0x0C)
    case UInt8(ascii: "n"): unescaped.append(0x0A)
    case UInt8(ascii: "r"): unescaped.append(0x0D)
    case UInt8(ascii: "t"): unescaped.append(0x09)
    case UInt8(ascii: "u"):
      guard var code = parseFourDigits(bytes) else {
        position = start
        throw error("An escape lacks its four hexadecimal digits", bytes)
      }
      if code & 0xFC00 == 0xD800, skip(UInt8(ascii: "\\"), bytes), skip(UInt8(ascii: "u"), bytes),
        let low = parseFourDigits(bytes), low & 0xFC00 == 0xDC00
      {
        code = 0x10000 + (code & 0x3FF) << 10 + (low & 0x3FF)
      }
      guard let scalar = Unicode.Scalar(code) else {
        position = start
        throw error("An escape is half of a surrogate pair", bytes)
      }
      unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default:
      position = start
      throw error("The escape is unknown", bytes)
    }
  }

  private mutating func parseFourDigits(_ bytes: Span<UInt8>) -> UInt32? {
    guard bytes.count - position >= 4 else { return nil }
    var code: UInt32 = 0
    for index in position..<position + 4 {
      switch bytes[index] {
      case let byte where byte >= 0x30 && byte <= 0x39: code = code << 4 | UInt32(byte - 0x30)
      case let byte where byte >= 0x41 && byte <= 0x46: code = code << 4 | UInt32(byte - 0x37)
      case let byte where byte >= 0x61 && byte <= 0x66: code = code << 4 | UInt32(byte - 0x57)
      default: return nil
      }
    }
    position += 4
    return code
  }
}
