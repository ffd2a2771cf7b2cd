import DivanLog

/// Parses JSON (RFC 8259) strictly, and feeds it into a sink.
///
/// Text that cannot be represented without loss is rejected: integers beyond `Int64` and `UInt64`,
/// numbers that overflow `Double`, duplicate keys, halves of surrogate pairs. Open containers are
/// kept on the parser's own stack.
struct JSONParser {
  /// The offset of the next byte to read.
  var position: Int
  private var open: [Level] = []
  /// The current text with its escapes decoded.
  var unescaped: [UInt8] = []
  /// The maximum number of bytes of a single text.
  let textSizeLimit: Int
  /// The maximum depth of arrays and objects.
  private let depthLimit: Int

  /// An open array or object.
  private struct Level {
    var isObject: Bool
    /// The index of the current element of an array.
    var index = 0
    /// The offset of the current key of an object, after its quotation mark.
    var keyStart = 0
  }

  init(
    position: Int = 0, textSizeLimit: Int = DocumentLimits.sizeInBytes,
    depthLimit: Int = DocumentLimits.depth
  ) {
    self.position = position
    self.textSizeLimit = textSizeLimit
    self.depthLimit = depthLimit
  }
}

extension JSONParser {
  /// Feeds the single value in `bytes`, which are UTF-8.
  ///
  /// `textSizeLimit` is below 2³², for sinks that count in 32 bits.
  static func parse(
    _ bytes: Span<UInt8>, textSizeLimit: Int = DocumentLimits.sizeInBytes,
    depthLimit: Int = DocumentLimits.depth,
    into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    if let offset = firstInvalidUTF8(in: bytes) {
      throw DatabaseError(.invalidJSON, "The JSON text is not valid UTF-8", offset: offset)
    }
    var parser = JSONParser(textSizeLimit: textSizeLimit, depthLimit: depthLimit)
    try parser.parseValue(bytes, into: &sink)
    parser.skipSpace(bytes)
    guard parser.position == bytes.count else {
      throw parser.error("Something follows the end of the JSON value", bytes)
    }
  }

  /// Feeds one value, and stops just after it.
  ///
  /// The bytes must be UTF-8 throughout.
  mutating func parseValue(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) {
    while true {
      // A value must follow.
      skipSpace(bytes)
      guard position < bytes.count else { throw error("The JSON text ends too early", bytes) }
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

  /// Moves past container ends and one comma; true if the outermost value is complete.
  private mutating func closeContainers(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) throws(DatabaseError) -> Bool {
    while let level = open.last {
      skipSpace(bytes)
      guard position < bytes.count else { throw error("The JSON text ends too early", bytes) }
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
    guard open.count < depthLimit else {
      var error = DocumentLimits.depthError(depthLimit, path: path(bytes))
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

// MARK: - Errors

extension JSONParser {
  /// Returns an error at `position`, with the path to it.
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

  /// Returns the path to the value that is being read.
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

  /// Returns the key that begins at `start`, or nil if the key itself is invalid.
  private func key(at start: Int, _ bytes: Span<UInt8>) -> String? {
    var parser = JSONParser(position: start)
    guard let range = try? parser.parseText(bytes) else {
      return parser.position > start + 1 ? String(utf8: parser.unescaped.span) : nil
    }
    return String(utf8: bytes.extracting(range))
  }
}
