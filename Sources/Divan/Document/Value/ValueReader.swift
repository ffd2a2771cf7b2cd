import DivanLog

/// Reads the stored form of values (see ``ValueFormat``), checking everything, into a sink.
///
/// Open containers are kept on the reader's own stack, which never has more than
/// ``DocumentLimits/depth`` entries; apart from the sink's result, no memory grows with the input.
struct ValueReader {
  private var open: [Level] = []
  private var position = 0

  /// A container whose elements are being read.
  private struct Level {
    var container: ValueFormat.Container
    var count = 0
    /// The range of the previous key.
    var previousKey = 0..<0
  }

  /// Feeds the value in `bytes` into `sink`; returns the offset of an error, or nil.
  ///
  /// With `isCanonical`, a form that is not the canonical one is also an error.
  static func read(
    _ bytes: Span<UInt8>, isCanonical: Bool = false, into sink: inout some ValueSink & ~Copyable
  ) -> Int? {
    var reader = ValueReader()
    let isSound = reader.read(bytes, isCanonical: isCanonical, into: &sink)
    return isSound ? nil : reader.position
  }

  private mutating func read(
    _ bytes: Span<UInt8>, isCanonical: Bool, into sink: inout some ValueSink & ~Copyable
  ) -> Bool {
    if isCanonical {
      guard bytes.count <= DocumentLimits.sizeInBytes else { return false }
    }
    while true {
      let end = open.last?.container.end ?? bytes.count
      guard let begun = readOne(bytes, end: end, isCanonical: isCanonical, into: &sink) else {
        return false
      }
      if begun, !enter(&sink) { return false }
      // Close complete containers, then continue with the next element.
      while let level = open.last, position == level.container.end {
        if let count = level.container.count, count != level.count { return false }
        if level.container.count == nil, level.count > ValueFormat.stride { return false }
        if level.container.isObject { _ = sink.endObject() } else { sink.endArray() }
        open.removeLast()
      }
      if open.isEmpty { return position == bytes.count }
      guard beginElement(bytes, into: &sink) else { return false }
    }
  }

  /// The container that begins here, until its elements are read.
  private var entered: ValueFormat.Container?

  /// Reads a whole scalar, or the header of a container.
  ///
  /// Returns true for a container, false for a scalar, and nil if the bytes are invalid.
  private mutating func readOne(
    _ bytes: Span<UInt8>, end: Int, isCanonical: Bool, into sink: inout some ValueSink & ~Copyable
  ) -> Bool? {
    guard position < end else { return nil }
    let tag = bytes[position]
    if tag & 0xF0 == ValueFormat.Tag.array || tag & 0xF0 == ValueFormat.Tag.object {
      return readHeader(bytes, end: end, isCanonical: isCanonical)
    }
    guard let form = ValueFormat.form(ofTag: tag),
      let next = ValueFormat.skip(bytes, at: position, end: end)
    else { return nil }
    switch form {
    case .smallInteger: sink.add(Int64(tag))
    case .shortText, .text:
      guard addText(bytes, end: next, into: &sink) else { return nil }
    case .smallNegative: sink.add(-1 - Int64(tag & 0xF))
    case .integer:
      guard addInteger(bytes, into: &sink) else { return nil }
    case .null: sink.addNull()
    case .no: sink.add(false)
    case .yes: sink.add(true)
    case .negativeZero, .float, .double, .decimal, .scaledDecimal, .farScaledDecimal,
      // Containers are no scalars, and no doubles either.
      .emptyContainer, .container, .containerToTheEnd, .containerWithTable:
      guard let number = ValueFormat.double(bytes, at: position), number.isFinite else {
        return nil
      }
      if isCanonical {
        var form = ByteWriter(capacity: 16)
        ValueEncoder.append(number, to: &form)
        guard form.withSpan({ areEqual($0, bytes.extracting(position..<next)) }) else {
          return nil
        }
      }
      sink.add(number)
    }
    position = next
    return false
  }

  /// Adds the text that begins here and has no byte at `end`; false if it is invalid.
  @inline(__always)
  private func addText(
    _ bytes: Span<UInt8>, end: Int, into sink: inout some ValueSink & ~Copyable
  ) -> Bool {
    let tag = bytes[position]
    let width = tag < 0x80 ? 0 : Int(tag & 3) + 1
    let size = end - position - 1 - width
    if width > 0 {
      guard size >= ValueFormat.shortTextLimit, ValueFormat.width(of: UInt64(size)) == width
      else { return false }
    }
    let text = bytes.extracting(end - size..<end)
    guard firstInvalidUTF8(in: text) == nil else { return false }
    sink.add(text: text)
    return true
  }

  /// Adds the integer of one to eight bytes that begins here; false if it is invalid.
  @inline(__always)
  private func addInteger(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) -> Bool {
    let tag = bytes[position]
    let width = Int(tag & 7) + 1
    let isNegative = tag >= ValueFormat.Tag.negative
    guard let number = ValueFormat.integer(bytes, at: position + 1, width: width),
      ValueFormat.width(of: number) == width,
      number >= (isNegative ? 16 : ValueFormat.smallIntegerLimit)
    else { return false }
    if let small = Int64(exactly: number) {
      sink.add(isNegative ? -1 - small : small)
    } else if isNegative {
      return false
    } else {
      sink.add(unsigned: number)
    }
    return true
  }

  private mutating func readHeader(_ bytes: Span<UInt8>, end: Int, isCanonical: Bool) -> Bool? {
    guard open.count < DocumentLimits.depth,
      let container = ValueFormat.container(bytes, at: position, end: end)
    else { return nil }
    let form = bytes[position] & 0xF
    if form != 0 {
      guard container.start < container.end else { return nil }
      let hasSize = form != ValueFormat.Tag.toTheEnd
      if isCanonical, open.isEmpty, hasSize, container.count == nil { return nil }
      if hasSize {
        let width = Int(form > ValueFormat.Tag.table ? form - ValueFormat.Tag.table : form)
        let size = container.end - position - 1 - width
        guard ValueFormat.width(of: UInt64(size)) == width else { return nil }
      }
    }
    entered = container
    position = container.start
    return true
  }

  /// Begins the elements of the container whose header was read.
  private mutating func enter(_ sink: inout some ValueSink & ~Copyable) -> Bool {
    guard let container = entered else { return false }
    if container.isObject { sink.beginObject() } else { sink.beginArray() }
    open.append(Level(container: container))
    return true
  }

  /// Reads the part before an element's value: nothing in an array, the key in an object.
  private mutating func beginElement(
    _ bytes: Span<UInt8>, into sink: inout some ValueSink & ~Copyable
  ) -> Bool {
    let last = open.count - 1
    let level = open[last]
    let container = level.container
    let index = level.count
    open[last].count = index + 1
    if let count = container.count, index > 0, index % ValueFormat.stride == 0 {
      guard index < count,
        ValueFormat.start(ofRun: index / ValueFormat.stride, of: container, in: bytes) == position
      else { return false }
    }
    guard container.isObject else { return true }
    guard let (size, start) = ValueFormat.varint(bytes, at: position, end: container.end),
      size <= container.end - start
    else { return false }
    let key = bytes.extracting(start..<start + size)
    guard firstInvalidUTF8(in: key) == nil else { return false }
    if index > 0 {
      guard compare(bytes.extracting(level.previousKey), key) < 0 else { return false }
    }
    open[last].previousKey = start..<start + size
    sink.addKey(key, source: position)
    position = start + size
    return true
  }
}

extension ValueFormat {
  /// Returns the double at `offset`, which must end within the bytes; nil for another kind.
  static func double(_ bytes: Span<UInt8>, at offset: Int) -> Double? {
    guard offset < bytes.count else { return nil }
    let tag = bytes[offset]
    let exponent: Int
    let digitsStart: Int
    switch form(ofTag: tag) {
    case .negativeZero: return -0.0
    case .float:
      guard let bits = integer(bytes, at: offset + 1, width: 4) else { return nil }
      return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .double:
      return integer(bytes, at: offset + 1, width: 8).map { Double(bitPattern: $0) }
    case .decimal:
      exponent = -Int(tag - Tag.decimal) / 8
      digitsStart = offset + 1
    case .scaledDecimal:
      guard offset + 1 < bytes.count else { return nil }
      exponent = Int(Int8(bitPattern: bytes[offset + 1]))
      digitsStart = offset + 2
    case .farScaledDecimal:
      guard let bits = integer(bytes, at: offset + 1, width: 2) else { return nil }
      exponent = Int(Int16(truncatingIfNeeded: bits))
      digitsStart = offset + 3
    default: return nil
    }
    guard let digits = integer(bytes, at: digitsStart, width: Int(tag & 7) + 1) else { return nil }
    let signed = Int64(bitPattern: digits >> 1) ^ -Int64(bitPattern: digits & 1)
    guard abs(signed) < DecimalForm.digitsLimit else { return nil }
    return DecimalForm(digits: signed, exponent: exponent).number
  }
}
