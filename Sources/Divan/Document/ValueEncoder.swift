import DivanLog

/// Writes values in their stored form (see ``ValueFormat``); to be used for many of them in turn.
struct ValueEncoder: ValueSink, ~Copyable {
  /// What is written to: the caller's writer while a value is encoded.
  private var writer = ByteWriter(capacity: 16)
  /// Where in `writer` the value begins.
  private var start = 0
  /// The container that is open, or outside of all an object that takes one value.
  private var container = Container.outside
  private var outer: [Container] = []
  /// The properties of the open objects, and each sixteenth element of the open arrays.
  private var elements: [Element] = []
  private var scratch = ByteWriter()

  private struct Container {
    var isObject: Bool
    /// Where the tag stands, and where the first element does; offsets from `start`.
    var tag: Int
    var content: Int
    var count = 0
    /// Where its elements begin in `elements`.
    var firstElement: Int

    static let outside = Container(isObject: true, tag: 0, content: 0, firstElement: 0)
  }

  /// A property or element: where it begins and ends, from `start`, and where it came from.
  private struct Element {
    var begin: UInt32
    var end: UInt32 = 0
    var source: Int
  }
}

extension ValueEncoder {
  /// Appends to `writer` what `body` adds, which is one value.
  ///
  /// If it throws, `writer` is as it was.
  mutating func encode(
    into writer: inout ByteWriter,
    _ body: (inout ValueEncoder) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    swap(&self.writer, &writer)
    defer { swap(&self.writer, &writer) }
    start = self.writer.count
    container = .outside
    outer.removeAll(keepingCapacity: true)
    elements.removeAll(keepingCapacity: true)
    do throws(DatabaseError) {
      try body(&self)
      guard !isTooLarge else { throw DocumentLimits.sizeError }
    } catch {
      self.writer.truncate(to: start)
      throw error
    }
  }

  var isTooLarge: Bool { writer.count - start > DocumentLimits.sizeInBytes }

  mutating func addNull() { addTag(ValueFormat.Tag.null) }

  mutating func add(_ value: Bool) {
    addTag(value ? ValueFormat.Tag.yes : ValueFormat.Tag.no)
  }

  mutating func add(_ value: Int64) {
    if value >= 0 { return add(unsigned: UInt64(value)) }
    let distance = UInt64(-1 - value)
    if distance < 16 {
      addTag(ValueFormat.Tag.smallNegative + UInt8(distance))
    } else {
      add(tag: ValueFormat.Tag.negative, number: distance)
    }
  }

  mutating func add(unsigned value: UInt64) {
    if value < ValueFormat.smallIntegerLimit {
      addTag(UInt8(value))
    } else {
      add(tag: ValueFormat.Tag.positive, number: value)
    }
  }

  mutating func add(_ value: Double) {
    noteElement()
    ValueEncoder.append(value, to: &writer)
  }

  mutating func add(text: Span<UInt8>) {
    if text.count < ValueFormat.shortTextLimit {
      addTag(ValueFormat.Tag.shortText + UInt8(text.count))
    } else {
      let size = UInt64(text.count)
      let width = ValueFormat.width(of: size)
      addTag(ValueFormat.Tag.text + UInt8(width - 1))
      ValueEncoder.append(size, width: width, to: &writer)
    }
    writer.append(text)
  }

  private mutating func addTag(_ tag: UInt8) {
    noteElement()
    writer.append(tag)
  }

  private mutating func add(tag: UInt8, number: UInt64) {
    let width = ValueFormat.width(of: number)
    addTag(tag + UInt8(width - 1))
    ValueEncoder.append(number, width: width, to: &writer)
  }

  /// Counts an element of the array that is open, if one is.
  @inline(__always)
  private mutating func noteElement() {
    guard !container.isObject else { return }
    if container.count % ValueFormat.stride == 0, container.count > 0 {
      elements.append(Element(begin: UInt32(writer.count - start), source: 0))
    }
    container.count += 1
  }

  static func append(_ number: UInt64, width: Int, to writer: inout ByteWriter) {
    let end = writer.count + width
    writer.append(number)
    writer.truncate(to: end)
  }
}

// MARK: - Doubles

extension ValueEncoder {
  /// Appends the one form of a double.
  static func append(_ value: Double, to writer: inout ByteWriter) {
    if value == 0, value.sign == .minus {
      writer.append(ValueFormat.Tag.negativeZero)
      return
    }
    let begin = writer.count
    if let decimal = DecimalForm(value) { append(decimal, to: &writer) }
    let decimalSize = writer.count > begin ? writer.count - begin : Int.max
    if decimalSize > 5, Double(Float(value)) == value {
      writer.truncate(to: begin)
      writer.append(ValueFormat.Tag.float)
      writer.append(Float(value).bitPattern)
    } else if decimalSize > 9 {
      writer.append(ValueFormat.Tag.double)
      writer.append(value.bitPattern)
    }
  }

  /// Appends the decimal if it takes less than the nine bytes of any double.
  private static func append(_ decimal: DecimalForm, to writer: inout ByteWriter) {
    let digits = UInt64(bitPattern: decimal.digits << 1 ^ decimal.digits >> 63)
    let width = ValueFormat.width(of: digits)
    switch decimal.exponent {
    case -2...0:
      writer.append(
        ValueFormat.Tag.decimal + UInt8(8 * -decimal.exponent) + UInt8(width - 1))
    case -128...127:
      guard width <= 6 else { return }
      writer.append(ValueFormat.Tag.scaledDecimal + UInt8(width - 1))
      writer.append(Int8(decimal.exponent))
    default:
      guard width <= 5 else { return }
      writer.append(ValueFormat.Tag.farScaledDecimal + UInt8(width - 1))
      writer.append(Int16(decimal.exponent))
    }
    append(digits, width: width, to: &writer)
  }
}

// MARK: - Containers

extension ValueEncoder {
  mutating func beginArray() { begin(isObject: false) }

  mutating func beginObject() { begin(isObject: true) }

  private mutating func begin(isObject: Bool) {
    noteElement()
    let tag = writer.count - start
    writer.append(0 as UInt8)
    if !outer.isEmpty {
      // Room for the size, which most often has one byte.
      writer.append(0 as UInt8)
    }
    outer.append(container)
    container = Container(
      isObject: isObject, tag: tag, content: writer.count - start, firstElement: elements.count)
  }

  mutating func addKey(_ key: Span<UInt8>, source: Int) {
    elements.append(Element(begin: UInt32(writer.count - start), source: source))
    container.count += 1
    writer.appendVarint(key.count)
    writer.append(key)
  }

  mutating func endArray() {
    close(container)
  }

  mutating func endObject() -> DuplicateKey? {
    let object = container
    let end = UInt32(writer.count - start)
    var index = elements.count
    var next = end
    while index > object.firstElement {
      index -= 1
      elements[index].end = next
      next = elements[index].begin
    }
    if let duplicate = sort(object) { return duplicate }
    close(object)
    return nil
  }

  /// Brings the properties of an object into the order of their keys.
  private mutating func sort(_ object: Container) -> DuplicateKey? {
    var isSorted = true
    for index in elements.indices.dropFirst(object.firstElement + 1) {
      let order = compareKeys(elements[index - 1], elements[index])
      if order == 0 { return duplicate(elements[index]) }
      if order > 0 {
        isSorted = false
        break
      }
    }
    if isSorted { return nil }

    var sorted = Array(elements[object.firstElement...])
    sorted.sort { compareKeys($0, $1) < 0 }
    for index in sorted.indices.dropFirst() {
      if compareKeys(sorted[index - 1], sorted[index]) == 0 {
        let (a, b) = (sorted[index - 1], sorted[index])
        return duplicate(a.begin < b.begin ? b : a)
      }
    }
    scratch.removeAll()
    for index in sorted.indices {
      let element = sorted[index]
      sorted[index].begin = UInt32(object.content + scratch.count)
      scratch.append(writer, start + Int(element.begin)..<start + Int(element.end))
    }
    writer.overwriteEnd(with: scratch)
    elements.replaceSubrange(object.firstElement..., with: sorted)
    return nil
  }

  private func compareKeys(_ a: Element, _ b: Element) -> Int {
    writer.withSpan { bytes in
      compare(bytes.extracting(keyRange(a, bytes)), bytes.extracting(keyRange(b, bytes)))
    }
  }

  private func keyRange(_ element: Element, _ bytes: Span<UInt8>) -> Range<Int> {
    let begin = start + Int(element.begin)
    guard let (size, keyStart) = ValueFormat.varint(bytes, at: begin, end: bytes.count) else {
      return begin..<begin
    }
    return keyStart..<keyStart + size
  }

  private func duplicate(_ element: Element) -> DuplicateKey {
    let key = writer.withSpan { String(utf8: $0.extracting(keyRange(element, $0))) }
    return DuplicateKey(key: key ?? "", source: element.source)
  }

  /// Gives the container its header, now that its size is known.
  private mutating func close(_ closed: Container) {
    let base = closed.isObject ? ValueFormat.Tag.object : ValueFormat.Tag.array
    let tag = start + closed.tag
    let isOutermost = outer.count == 1
    let size = writer.count - start - closed.content
    if closed.count == 0 {
      writer.truncate(to: tag + 1)
      writer[tag] = base
    } else if closed.count > ValueFormat.stride {
      addTable(closed, base: base, size: size)
    } else if isOutermost {
      writer[tag] = base + ValueFormat.Tag.toTheEnd
    } else {
      let width = ValueFormat.width(of: UInt64(size))
      writer[tag] = base + UInt8(width)
      if width == 1 {
        writer[tag + 1] = UInt8(size)
      } else {
        scratch.removeAll()
        ValueEncoder.append(UInt64(size), width: width, to: &scratch)
        scratch.withSpan { writer.replace(tag + 1..<tag + 2, with: $0) }
      }
    }
    elements.removeLast(elements.count - closed.firstElement)
    container = outer.popLast() ?? .outside
  }

  private mutating func addTable(_ closed: Container, base: UInt8, size: Int) {
    let runs = (closed.count - 1) / ValueFormat.stride
    scratch.removeAll()
    scratch.appendVarint(closed.count)
    let countSize = scratch.count
    var width = 1
    while ValueFormat.width(of: UInt64(countSize + runs * width + size)) > width { width += 1 }
    scratch.removeAll()
    scratch.append(base + ValueFormat.Tag.table + UInt8(width))
    ValueEncoder.append(UInt64(countSize + runs * width + size), width: width, to: &scratch)
    scratch.appendVarint(closed.count)
    for run in 1...runs {
      let index = closed.isObject ? run * ValueFormat.stride : run - 1
      let offset = Int(elements[closed.firstElement + index].begin) - closed.content
      ValueEncoder.append(UInt64(offset), width: width, to: &scratch)
    }
    scratch.withSpan {
      writer.replace(start + closed.tag..<start + closed.content, with: $0)
    }
  }
}

extension DocumentLimits {
  static var sizeError: DatabaseError {
    DatabaseError(.documentTooLarge, "More than \(sizeInBytes) bytes in one document")
  }

  static func depthError(path: String) -> DatabaseError {
    DatabaseError(
      .documentTooLarge,
      "Arrays and objects are nested more than \(depth) deep\(PropertyPath.phrase(path))")
  }
}
