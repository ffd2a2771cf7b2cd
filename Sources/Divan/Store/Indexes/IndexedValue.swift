import DivanLog

/// A value in a form whose bytes are in the order of values.
///
/// Null comes first, then false, true, numbers by their size, texts by the bytes of their UTF-8, arrays element
/// by element, and objects by their properties in the order of their names. Numbers that are equal have the
/// same bytes, also if one is written as a whole number and the other is not. FILE_FORMAT.md §10
///
/// What would take more than ``cutSize`` bytes is cut there, and a hash of the rest follows: such values are in
/// their order only as far as they are not cut, and equal if these bytes are, but for the odds of a
/// collision of SHA-256.
///
/// No value's bytes begin with all bytes of another one, so that whatever stands behind them in a key
/// makes no difference to the order, and no two keys are the same.
struct IndexedValue: Hashable, Sendable {
  let bytes: [UInt8]
  /// Whether something was cut off.
  let isCut: Bool

  /// How much of a value stays that is cut; what is not longer is whole.
  static let cutSize = 168
  /// The size in bytes of what was cut; everything else is shorter.
  static let sizeLimit = cutSize + 32

  init(_ value: Value) {
    let whole = IndexedValue.whole(value)
    isCut = whole.count > IndexedValue.cutSize
    if isCut {
      let rest = SharedBytes(copying: Array(whole[IndexedValue.cutSize...]))
      bytes = whole.prefix(IndexedValue.cutSize) + SHA256.digest(of: rest).bytes
    } else {
      bytes = whole
    }
  }

  /// The bytes of a value of which nothing is cut off.
  static func whole(_ value: Value) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.appendIndexed(value, depth: 0)
    return writer.sharedCopy.array
  }

  /// What the bytes of all values of a value's type begin with, the lower half of the byte left out.
  static func type(of value: Value) -> UInt8 {
    switch value {
    case .null: Tag.null
    case .bool: Tag.no
    case .int, .unsigned, .double: Tag.number
    case .string: Tag.text
    case .array: Tag.array
    case .object: Tag.object
    }
  }

  /// The bytes with which all texts begin that begin with a text, as far as they are not cut; without its end.
  static func prefix(ofTexts text: String) -> [UInt8] {
    Array(wholePrefix(ofTexts: text).prefix(IndexedValue.cutSize))
  }

  /// How many bytes that would be, if nothing were cut.
  static func prefixSize(ofTexts text: String) -> Int { wholePrefix(ofTexts: text).count }

  private static func wholePrefix(ofTexts text: String) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.append(Tag.text)
    writer.appendEscaped(text)
    return writer.sharedCopy.array
  }

  fileprivate enum Tag {
    /// Ends texts, arrays and objects; below all that could follow.
    static let end: UInt8 = 0
    static let null: UInt8 = 0x10
    static let no: UInt8 = 0x20
    static let yes: UInt8 = 0x21
    static let number: UInt8 = 0x30
    static let text: UInt8 = 0x40
    static let array: UInt8 = 0x50
    static let object: UInt8 = 0x60
  }
}

extension ByteWriter {
  fileprivate mutating func appendIndexed(_ value: Value, depth: Int) {
    typealias Tag = IndexedValue.Tag
    // No document has anything deeper, and whoever asks must not make this recurse without bound.
    switch value {
    case .null: append(Tag.null)
    case .bool(let isSo): append(isSo ? Tag.yes : Tag.no)
    case .int(let number): appendIndexed(whole: Int128(number))
    case .unsigned(let number): appendIndexed(whole: Int128(number))
    case .double(let number): appendIndexed(number: number, residue: 0)
    case .string(let text):
      append(Tag.text)
      appendEscaped(text)
      appendEnd()
    case .array(let elements):
      append(Tag.array)
      if depth < DocumentLimits.depth {
        for element in elements { appendIndexed(element, depth: depth + 1) }
      }
      append(Tag.end)
    case .object(let object):
      append(Tag.object)
      if depth < DocumentLimits.depth {
        for (key, value) in object.sorted(by: { compareUTF8($0.key, $1.key) < 0 }) {
          append(Tag.text)
          appendEscaped(key)
          appendEnd()
          appendIndexed(value, depth: depth + 1)
        }
      }
      append(Tag.end)
    }
  }

  /// A whole number: the nearest `Double`, and how much it is more than that.
  ///
  /// Rounding never exchanges two numbers, and those that round to the same one differ by 1,024 at most from
  /// it; so the residue decides only among these.
  private mutating func appendIndexed(whole number: Int128) {
    let nearest = Double(number)
    appendIndexed(number: nearest, residue: Int(number - Int128(nearest)))
  }

  private mutating func appendIndexed(number: Double, residue: Int) {
    append(IndexedValue.Tag.number)
    // The two zeros are equal.
    let bits = number == 0 ? 0 : number.bitPattern
    // Negative numbers are in the reverse order of their bits, and below all others.
    let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
    append(ordered.bigEndian)
    append(UInt16(0x8000 + residue).bigEndian)
  }

  /// A text's UTF-8, so that no end is found in it.
  fileprivate mutating func appendEscaped(_ text: String) {
    for byte in text.utf8 {
      append(byte)
      if byte == 0 { append(0xFF as UInt8) }
    }
  }

  private mutating func appendEnd() {
    append(IndexedValue.Tag.end)
    append(IndexedValue.Tag.end)
  }
}
