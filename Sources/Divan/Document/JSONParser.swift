import DivanLog

/// Reads JSON (RFC 8259), strictly, and feeds it into a sink as it goes.
///
/// Refused is what could not be kept without loss: integers beyond `Int64` and `UInt64`, numbers that
/// overflow `Double`, keys that appear twice, halves of surrogate pairs. Open containers are kept on
/// a stack of its own.
struct JSONParser {
  /// Where reading goes on, in the bytes.
  private(set) var position: Int
  private var open: [Level] = []
  /// A text with escapes, spelled out.
  private var unescaped: [UInt8] = []

  /// An open array or object.
  private struct Level {
    var isObject: Bool
    /// The index of the current element of an array.
    var index = 0
    /// Where the current key of an object begins, after its quotation mark.
    var keyStart = 0
  }

  init(position: Int = 0) { self.position = position }
}

extension JSONParser {
  /// Feeds the one value that `bytes`, which are UTF-8, hold.
  static func parse(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    if let offset = firstInvalidUTF8(in: bytes) {
      throw DatabaseError(.invalidJSON, "JSON that is not UTF-8", offset: offset)
    }
    var parser = JSONParser()
    try parser.parseValue(bytes, into: &sink)
    parser.skipSpace(bytes)
    guard parser.position == bytes.count else {
      throw parser.error("Something follows the end of the JSON value", bytes)
    }
  }

  /// Feeds one value, and stays just past it. The bytes must be UTF-8 throughout.
  mutating func parseValue(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    while true {
      // A value is due.
      skipSpace(bytes)
      guard position < bytes.count else { throw error("JSON ends too early", bytes) }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        if let range = try parseText(bytes) {
          sink.add(text: bytes.extracting(range))
        } else {
          sink.add(text: unescaped.span)
        }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        try parseNumber(bytes, into: &sink)
      case UInt8(ascii: "{"):
        try begin(bytes, isObject: true)
        sink.beginObject()
        skipSpace(bytes)
        if position < bytes.count, bytes[position] == UInt8(ascii: "}") { break }
        try parseKey(bytes, into: &sink)
        continue
      case UInt8(ascii: "["):
        try begin(bytes, isObject: false)
        sink.beginArray()
        skipSpace(bytes)
        if position < bytes.count, bytes[position] == UInt8(ascii: "]") { break }
        continue
      case UInt8(ascii: "t"):
        try parseWord("true", bytes)
        sink.add(true)
      case UInt8(ascii: "f"):
        try parseWord("false", bytes)
        sink.add(false)
      case UInt8(ascii: "n"):
        try parseWord("null", bytes)
        sink.addNull()
      default: throw error("No JSON value begins like this", bytes)
      }
      // A value is complete, or an empty container is about to be.
      if try closeContainers(bytes, into: &sink) { return }
    }
  }

  /// Moves past the ends of containers and one comma; true if the outermost value is complete.
  private mutating func closeContainers(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) -> Bool {
    while let level = open.last {
      skipSpace(bytes)
      guard position < bytes.count else { throw error("JSON ends too early", bytes) }
      switch bytes[position] {
      case UInt8(ascii: "}") where level.isObject:
        if let duplicate = sink.endObject() {
          open.removeLast()
          throw duplicateError(duplicate, bytes)
        }
        open.removeLast()
      case UInt8(ascii: "]") where !level.isObject:
        sink.endArray()
        open.removeLast()
      case UInt8(ascii: ","):
        position += 1
        if sink.isTooLarge { throw DocumentLimits.sizeError }
        if level.isObject {
          try parseKey(bytes, into: &sink)
        } else {
          open[open.count - 1].index += 1
        }
        return false
      default:
        throw error(
          "A comma or the end of \(level.isObject ? "an object" : "an array") is missing", bytes)
      }
      position += 1
    }
    return true
  }

  private mutating func begin(_ bytes: Span<UInt8>, isObject: Bool) throws(DatabaseError) {
    guard open.count < DocumentLimits.depth else {
      var error = DocumentLimits.depthError(path: path(bytes))
      error.offset = position
      throw error
    }
    open.append(Level(isObject: isObject))
    position += 1
  }

  /// Moves past a key and the colon after it.
  private mutating func parseKey(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    skipSpace(bytes)
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
      throw error("A key is missing", bytes)
    }
    let start = position
    open[open.count - 1].keyStart = start
    if let range = try parseText(bytes) {
      sink.addKey(bytes.extracting(range), source: start)
    } else {
      sink.addKey(unescaped.span, source: start)
    }
    skipSpace(bytes)
    guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else {
      throw error("A colon is missing", bytes)
    }
    position += 1
  }

  private mutating func parseWord(
    _ word: StaticString, _ bytes: Span<UInt8>
  ) throws(DatabaseError) {
    let start = position
    for byte in "\(word)".utf8 {
      guard position < bytes.count, bytes[position] == byte else {
        position = start
        throw error("No JSON value begins like this", bytes)
      }
      position += 1
    }
  }

  @inline(__always)
  mutating func skipSpace(_ bytes: Span<UInt8>) {
    while position < bytes.count {
      let byte = bytes[position]
      guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else {
        return
      }
      position += 1
    }
  }

  /// Moves past one byte, if it comes next.
  mutating func skip(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }
}

// MARK: - Texts

extension JSONParser {
  /// Moves past a text, and returns where its bytes lie; or nil if it had escapes and is now spelled
  /// out in `unescaped`.
  private mutating func parseText(_ bytes: Span<UInt8>) throws(DatabaseError) -> Range<Int>? {
    position += 1
    let start = position
    skipPlain(bytes)
    guard position < bytes.count else { throw error("A text does not end", bytes) }
    // Offsets within a document have 32 bits, so that no single text may be out of bounds.
    guard position - start <= DocumentLimits.sizeInBytes else { throw DocumentLimits.sizeError }
    if bytes[position] == UInt8(ascii: "\"") {
      position += 1
      return start..<position - 1
    }
    unescaped.removeAll(keepingCapacity: true)
    var plainStart = start
    while true {
      for index in plainStart..<position { unescaped.append(bytes[index]) }
      guard unescaped.count <= DocumentLimits.sizeInBytes else { throw DocumentLimits.sizeError }
      guard position < bytes.count else { throw error("A text does not end", bytes) }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return nil
      case UInt8(ascii: "\\"): try parseEscape(bytes)
      default: throw error("A control character stands in a text", bytes)
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

  /// Moves past an escape, and appends what it stands for.
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
      throw error("There is no such escape", bytes)
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

// MARK: - Numbers

extension JSONParser {
  /// Moves past a number and feeds it.
  private mutating func parseNumber(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    let start = position
    let isNegative = skip(UInt8(ascii: "-"), bytes)
    let wholeStart = position
    var digits: UInt64 = 0
    var isExact = true
    parseDigits(bytes, &digits, &isExact)
    let wholeCount = position - wholeStart
    guard wholeCount > 0, wholeCount == 1 || bytes[wholeStart] != UInt8(ascii: "0") else {
      position = start
      throw error("A number has no digits, or begins with a needless zero", bytes)
    }
    var exponent = 0
    var isWhole = true
    if skip(UInt8(ascii: "."), bytes) {
      isWhole = false
      let fractionStart = position
      parseDigits(bytes, &digits, &isExact)
      exponent = fractionStart - position
      guard exponent < 0 else { throw error("A digit is missing after the point", bytes) }
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      exponent += try parseExponent(bytes)
    }
    if isWhole {
      try addInteger(
        digits, isExact: isExact, isNegative: isNegative, start: start, bytes, into: &sink)
    } else {
      let number = try double(
        digits, exponent, isExact: isExact, isNegative: isNegative, start: start, bytes)
      sink.add(number)
    }
  }

  /// Moves past digits and appends them to `digits`, unless they no longer fit.
  @inline(__always)
  private mutating func parseDigits(
    _ bytes: Span<UInt8>, _ digits: inout UInt64, _ isExact: inout Bool
  ) {
    while position < bytes.count {
      let digit = bytes[position] &- UInt8(ascii: "0")
      guard digit <= 9 else { return }
      let (tenfold, overflow) = digits.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tenfold.addingReportingOverflow(UInt64(digit))
      if overflow || carry { isExact = false }
      digits = sum
      position += 1
    }
  }

  private mutating func parseExponent(_ bytes: Span<UInt8>) throws(DatabaseError) -> Int {
    position += 1
    let isNegative = skip(UInt8(ascii: "-"), bytes)
    if !isNegative { _ = skip(UInt8(ascii: "+"), bytes) }
    let start = position
    var exponent = 0
    while position < bytes.count {
      let digit = bytes[position] &- UInt8(ascii: "0")
      guard digit <= 9 else { break }
      // Larger ones are told apart by the slow way, from the text.
      if exponent < 100_000 { exponent = exponent * 10 + Int(digit) }
      position += 1
    }
    guard position > start else { throw error("A digit is missing in an exponent", bytes) }
    return isNegative ? -exponent : exponent
  }

  private mutating func addInteger(
    _ digits: UInt64, isExact: Bool, isNegative: Bool, start: Int, _ bytes: Span<UInt8>,
    into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    if isExact, let small = Int64(exactly: digits) {
      // JSON's -0 is a number of which only a double keeps the sign.
      if isNegative, small == 0 { sink.add(-0.0) } else { sink.add(isNegative ? -small : small) }
    } else if isExact, !isNegative {
      sink.add(unsigned: digits)
    } else if isExact, digits == 1 << 63 {
      sink.add(Int64.min)
    } else {
      position = start
      throw error(
        "An integer is outside the ranges of Int64 and UInt64", bytes,
        hint: "Written with a fraction (1.0) or as a text it can be stored.")
    }
  }

  private mutating func double(
    _ digits: UInt64, _ exponent: Int, isExact: Bool, isNegative: Bool, start: Int,
    _ bytes: Span<UInt8>
  ) throws(DatabaseError) -> Double {
    if isExact, digits < 1 << 53, exponent >= -22, exponent <= 22 {
      // Both factors are exact, so that the one operation rounds correctly.
      let power = DecimalForm.powersOfTen[abs(exponent)]
      let number = exponent < 0 ? Double(digits) / power : Double(digits) * power
      return isNegative ? -number : number
    }
    let text = String(utf8: bytes.extracting(start..<position)) ?? ""
    guard let number = Double(text), number.isFinite else {
      position = start
      throw error("A number is too large for a double", bytes)
    }
    return number
  }
}

// MARK: - Errors

extension JSONParser {
  /// An error at `position`, with the path to it.
  func error(_ what: String, _ bytes: Span<UInt8>, hint: String? = nil) -> DatabaseError {
    DatabaseError(
      .invalidJSON, what + PropertyPath.phrase(path(bytes)), hint: hint, offset: position)
  }

  private func duplicateError(_ duplicate: DuplicateKey, _ bytes: Span<UInt8>) -> DatabaseError {
    var path = path(bytes)
    PropertyPath.append(key: duplicate.key, to: &path)
    return DatabaseError(
      .invalidJSON, "A key appears twice in one object\(PropertyPath.phrase(path))",
      offset: duplicate.source)
  }

  /// The way to what is being read.
  private func path(_ bytes: Span<UInt8>) -> String {
    var path = ""
    for level in open {
      if !level.isObject {
        PropertyPath.append(index: level.index, to: &path)
      } else if level.keyStart > 0, let key = key(at: level.keyStart, bytes) {
        PropertyPath.append(key: key, to: &path)
      }
    }
    return path
  }

  /// The key that begins at `start`, or nil if it is what is wrong.
  private func key(at start: Int, _ bytes: Span<UInt8>) -> String? {
    var parser = JSONParser(position: start)
    guard let range = try? parser.parseText(bytes) else {
      return parser.position > start + 1 ? String(utf8: parser.unescaped.span) : nil
    }
    return String(utf8: bytes.extracting(range))
  }
}
