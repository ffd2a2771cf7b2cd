import DivanLog

/// Writes JSON text: compact, or with line breaks and two spaces for each level.
struct JSONText: ValueSink, ~Copyable {
  private(set) var writer = ByteWriter()
  private let isPretty: Bool
  private var open: [(isObject: Bool, count: Int)] = []
  /// Whether a key was just written, whose value follows on the same line.
  private var isAfterKey = false

  init(isPretty: Bool) { self.isPretty = isPretty }

  /// The text that was written.
  var text: String { writer.withSpan { String(utf8: $0) ?? "" } }

  /// Removes the text that was written, and keeps the capacity.
  mutating func removeAll() {
    writer.removeAll()
    open.removeAll(keepingCapacity: true)
    isAfterKey = false
  }
}

extension JSONText {
  mutating func addNull() { add(word: "null") }

  mutating func add(_ value: Bool) { add(word: value ? "true" : "false") }

  mutating func add(_ value: Int64) { add(word: value.description) }

  mutating func add(unsigned value: UInt64) { add(word: value.description) }

  mutating func add(_ value: Double) { add(word: value.description) }

  mutating func add(text: Span<UInt8>) {
    beginElement()
    append(quoted: text)
  }

  mutating func beginArray() { begin(isObject: false) }

  mutating func beginObject() { begin(isObject: true) }

  mutating func endArray() { end("]") }

  mutating func endObject() -> DuplicateKey? {
    end("}")
    return nil
  }

  mutating func addKey(_ key: Span<UInt8>, source: Int) {
    beginElement()
    append(quoted: key)
    writer.append(UInt8(ascii: ":"))
    if isPretty { writer.append(UInt8(ascii: " ")) }
    isAfterKey = true
  }

  private mutating func add(word: String) {
    beginElement()
    writer.append(utf8: word)
  }

  private mutating func begin(isObject: Bool) {
    beginElement()
    open.append((isObject, 0))
    writer.append(UInt8(ascii: isObject ? "{" : "["))
  }

  private mutating func end(_ bracket: Unicode.Scalar) {
    if let level = open.popLast(), level.count > 0 { breakLine() }
    writer.append(UInt8(ascii: bracket))
  }

  /// Writes the separator between elements: a comma, a line break.
  private mutating func beginElement() {
    if isAfterKey {
      isAfterKey = false
      return
    }
    guard !open.isEmpty else { return }
    if open[open.count - 1].count > 0 { writer.append(UInt8(ascii: ",")) }
    open[open.count - 1].count += 1
    breakLine()
  }

  private mutating func breakLine() {
    guard isPretty else { return }
    writer.append(UInt8(ascii: "\n"))
    // Beyond the depth of stored values, the text would grow with the square of the depth.
    for _ in 0..<2 * min(open.count, DocumentLimits.depth) { writer.append(UInt8(ascii: " ")) }
  }

  private mutating func append(quoted text: Span<UInt8>) {
    writer.append(UInt8(ascii: "\""))
    var plainStart = 0
    while true {
      let index = JSONText.endOfPlain(text, from: plainStart)
      guard index < text.count else { break }
      let byte = text[index]
      writer.append(text.extracting(plainStart..<index))
      plainStart = index + 1
      writer.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: writer.append(UInt8(ascii: "b"))
      case 0x09: writer.append(UInt8(ascii: "t"))
      case 0x0A: writer.append(UInt8(ascii: "n"))
      case 0x0C: writer.append(UInt8(ascii: "f"))
      case 0x0D: writer.append(UInt8(ascii: "r"))
      case 0x22, 0x5C: writer.append(byte)
      default:
        writer.append(utf8: byte < 0x10 ? "u000" : "u00")
        writer.append(utf8: String(byte, radix: 16))
      }
    }
    writer.append(text.extracting(plainStart..<text.count))
    writer.append(UInt8(ascii: "\""))
  }

  /// Returns the offset of the next quotation mark, backslash or control character, or the end.
  @inline(__always)
  static func endOfPlain(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    let ones: UInt64 = 0x0101_0101_0101_0101
    while bytes.count - position >= 8 {
      // The high bit of each byte that is one of these is set. A borrow can set more bits, but only
      // above the first that is set correctly.
      let word = bytes.word(at: position)
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let found =
        (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
          | ((word &- (ones &* 0x20)) & ~word)) & (ones << 7)
      if found != 0 { return position + found.trailingZeroBitCount / 8 }
      position += 8
    }
    while position < bytes.count {
      let byte = bytes[position]
      if byte == 0x22 || byte == 0x5C || byte < 0x20 { return position }
      position += 1
    }
    return position
  }
}
