import DivanLog

/// Bytes of values whose byte order is an order of values: the keys of indexes and of views.
///
/// Null comes first, then false, true, numbers by their size, texts, arrays element by element, and
/// objects property by property, in the order of the bytes of their names, the name before the
/// value. Numbers that are equal have the same bytes, also if only one is written as a whole
/// number. FILE_FORMAT.md §10
///
///     10  null     20  false     21  true
///     30  a number: its nearest double, in ten bytes with the difference of the number from it
///     40  a text, in its ``TextOrder``. By bytes: the UTF-8 with each 00 as 00 FF, and 00 00.
///         Collated: the weights of the letters, 00, the marks, with a 02 after the marks of each
///         letter up to the last one with marks, 00, the forms without the small letters at the
///         end, 00; and then 00 if these identify the text, else 01 and the text by its bytes
///     50  an array: the elements, 00
///     60  an object: for each property its name as a text and its value, 00
///
/// The bytes of a value are never a prefix of the bytes of another. So the bytes that follow them
/// do not affect the order, and no two keys are the same.
struct CollationKey: ~Copyable {
  private var writer: ByteWriter
  private let order: TextOrder
  private var depth = 0

  init(_ order: TextOrder, behind beginning: [UInt8] = []) {
    writer = ByteWriter(capacity: 64)
    writer.append(beginning)
    self.order = order
  }

  enum Tag {
    /// Ends texts, arrays and objects; less than any byte that could follow.
    static let end: UInt8 = 0
    static let null: UInt8 = 0x10
    static let no: UInt8 = 0x20
    static let yes: UInt8 = 0x21
    static let number: UInt8 = 0x30
    static let text: UInt8 = 0x40
    static let array: UInt8 = 0x50
    static let object: UInt8 = 0x60
  }

  /// Ends the marks of one letter, and denotes a small letter: the least value of both levels.
  private static let plain: UInt8 = 2

  /// Returns the bytes of a value.
  ///
  /// Parts nested deeper than any document allows are omitted.
  static func bytes(of value: Value, _ order: TextOrder) -> [UInt8] {
    var key = CollationKey(order)
    key.append(value)
    return key.bytes
  }

  /// Appends the bytes of a value.
  mutating func append(_ value: Value) {
    // Feeding a value unchanged never throws.
    try? ValueWalk.feed(value, into: &self, .unchanged)
  }

  /// All bytes that were appended.
  var bytes: [UInt8] { writer.array }

  /// Returns the bytes of a value in its stored form.
  static func bytes(
    of value: EncodedValue, _ order: TextOrder
  ) throws(DatabaseError) -> [UInt8] {
    try value.bytes.withSpan { (bytes) throws(DatabaseError) in
      try CollationKey.bytes(ofStored: bytes, order)
    }
  }

  /// Returns the bytes for the stored form of a value.
  static func bytes(
    ofStored value: Span<UInt8>, _ order: TextOrder
  ) throws(DatabaseError) -> [UInt8] {
    var key = CollationKey(order)
    let damage = ValueReader.read(value, into: &key)
    if damage != nil { throw EncodedValue.damage(at: damage) }
    return key.writer.array
  }

  /// The number of bytes of the values that were added.
  var count: Int { writer.count }

  /// Whether a part of these bytes is null.
  func isNull(_ range: Range<Int>) -> Bool {
    range.count == 1 && writer[range.lowerBound] == Tag.null
  }

  /// Appends a range of these bytes to another writer.
  func append(_ range: Range<Int>, to other: inout ByteWriter) { other.append(writer, range) }

  /// Removes the values that were added, also an incomplete one, and keeps the capacity.
  mutating func removeAll() {
    writer.removeAll()
    depth = 0
  }

  /// Returns the bytes with which all texts begin that have a given prefix.
  ///
  /// With the order of ``Collation``, accents and capitals are ignored.
  static func prefix(ofTexts text: String, _ order: TextOrder) -> [UInt8] {
    var key = CollationKey(order)
    key.writer.append(Tag.text)
    switch order {
    case .bytes: withUTF8(of: text) { key.appendEscaped($0) }
    case .collated: for weight in CollationText.letters(of: text) { key.append(weight) }
    }
    return key.writer.array
  }

  /// Returns the tag of a value; for both truth values, that of false.
  static func tag(of value: Value) -> UInt8 {
    switch value {
    case .null: Tag.null
    case .bool: Tag.no
    case .int, .unsigned, .double: Tag.number
    case .string: Tag.text
    case .array: Tag.array
    case .object: Tag.object
    }
  }
}

// MARK: - Numbers

extension CollationKey {
  /// A number in a form that can be compared with any other.
  struct Number {
    /// The bits of the nearest double, in the order of numbers.
    var nearest: UInt64
    /// The difference of the number from the nearest double.
    ///
    /// Rounding never exchanges two numbers, and numbers that round to the same double differ from
    /// it by at most 1,024; so this decides only among these.
    var residue = 0

    init(_ number: Double) {
      // The two zeros are equal.
      let bits = number == 0 ? 0 : number.bitPattern
      // Negative numbers are in the reverse order of their bits, and less than all others.
      nearest = bits >> 63 == 1 ? ~bits : bits | 1 << 63
    }

    init(_ number: Int64) {
      let double = Double(number)
      self.init(double)
      // For numbers that round to 2^63, -2^63 is subtracted instead; differences wrap, so the
      // result is the same.
      residue = Int(number &- (Int64(exactly: double) ?? .min))
    }

    init(_ number: UInt64) {
      let double = Double(number)
      self.init(double)
      // Likewise 0 is used for 2^64.
      residue = Int(Int64(bitPattern: number &- (UInt64(exactly: double) ?? 0)))
    }

    init?(_ value: Value) {
      switch value {
      case .int(let number): self.init(number)
      case .unsigned(let number): self.init(number)
      case .double(let number): self.init(number)
      default: return nil
      }
    }

    func compare(_ other: Number) -> Int {
      if nearest != other.nearest { return nearest < other.nearest ? -1 : 1 }
      return residue - other.residue
    }
  }

  private mutating func append(_ number: Number) {
    guard hasRoom else { return }
    writer.append(Tag.number)
    writer.append(number.nearest.bigEndian)
    writer.append(UInt16(0x8000 + number.residue).bigEndian)
  }
}

// MARK: - Texts

extension CollationKey {
  private mutating func appendText(_ text: Span<UInt8>) {
    writer.append(Tag.text)
    if order == .collated, !appendLevels(text) { return }
    appendEscaped(text)
    writer.append(Tag.end)
    writer.append(Tag.end)
  }

  private mutating func append(_ weight: CollationTable.Weight) {
    if CollationTable.size(of: weight) == 1 {
      writer.append(UInt8(weight >> 24))
    } else {
      writer.append(weight.bigEndian)
    }
  }

  /// Appends letters, marks and forms, and returns whether the text itself must follow.
  private mutating func appendLevels(_ text: Span<UInt8>) -> Bool {
    let table = CollationTable.shared
    var marks: [UInt8] = []
    var forms = Forms()
    // Most texts begin with letters of one byte each, after which no marks need to be looked for.
    var start = 0
    while start < text.count, text[start] < 0x80, start + 1 == text.count || text[start + 1] < 0x80
    {
      let entry = table[UInt32(text[start])]
      append(entry.weight)
      forms.add(entry.form)
      start += 1
    }
    var reader = CollationText(at: start)
    // The number of letters between the last one that has marks and this one.
    var withoutMarks = start
    while reader.next(text, table) {
      if reader.marks.isEmpty {
        withoutMarks += 1
      } else {
        marks.append(contentsOf: repeatElement(CollationKey.plain, count: withoutMarks))
        marks.append(contentsOf: reader.marks)
        withoutMarks = 1
      }
      guard reader.weight != 0 else { continue }
      append(reader.weight)
      forms.add(reader.form)
    }
    writer.append(Tag.end)
    writer.append(marks)
    writer.append(Tag.end)
    writer.append(forms.bytes)
    writer.append(Tag.end)
    writer.append(reader.isPlain ? 0 : 1 as UInt8)
    return !reader.isPlain
  }

  /// The forms of letters, without the small letters at the end.
  private struct Forms {
    private(set) var bytes: [UInt8] = []
    /// The number of small letters after the last letter of another form.
    private var smallCount = 0

    mutating func add(_ form: UInt8) {
      guard form != CollationTable.Form.small else {
        smallCount += 1
        return
      }
      bytes.append(contentsOf: repeatElement(CollationTable.Form.small, count: smallCount))
      bytes.append(form)
      smallCount = 0
    }
  }

  /// Appends a text's UTF-8, escaped so that it contains no end marker.
  private mutating func appendEscaped(_ text: Span<UInt8>) {
    var start = 0
    for index in text.indices where text[index] == 0 {
      writer.append(text.extracting(start..<index + 1))
      writer.append(0xFF as UInt8)
      start = index + 1
    }
    writer.append(text.extracting(start..<text.count))
  }
}

// MARK: - Containers

extension CollationKey: ValueSink {
  /// Whether the next value is no deeper than any document allows.
  private var hasRoom: Bool { depth <= DocumentLimits.depth }

  private mutating func append(_ tag: UInt8) { if hasRoom { writer.append(tag) } }

  mutating func addNull() { append(Tag.null) }
  mutating func add(_ value: Bool) { append(value ? Tag.yes : Tag.no) }
  mutating func add(_ value: Int64) { append(Number(value)) }
  mutating func add(unsigned value: UInt64) { append(Number(value)) }
  mutating func add(_ value: Double) { append(Number(value)) }
  mutating func add(text: Span<UInt8>) { if hasRoom { appendText(text) } }
  mutating func addKey(_ key: Span<UInt8>, source: Int) { if hasRoom { appendText(key) } }

  mutating func beginArray() {
    append(Tag.array)
    depth += 1
  }

  mutating func beginObject() {
    append(Tag.object)
    depth += 1
  }

  mutating func endArray() { endContainer() }

  mutating func endObject() -> DuplicateKey? {
    endContainer()
    return nil
  }

  private mutating func endContainer() {
    depth -= 1
    append(Tag.end)
  }
}
