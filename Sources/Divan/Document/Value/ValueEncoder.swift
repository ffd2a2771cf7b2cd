package import DivanLog

/// Writes values in their stored form (see ``ValueFormat``, and `docs/FILE_FORMAT.md`).
///
/// Reuse one to encode many values: it keeps its buffers.
package struct ValueEncoder: ValueSink, ~Copyable {
  /// The destination: the caller's writer while a value is encoded.
  private var writer = ByteWriter(capacity: 16)
  /// The offset in `writer` of the value.
  private var start = 0
  /// The open container, or, outside of all, an object that takes one value.
  private var container = Container.outside
  private var outer: [Container] = []
  /// The properties of the open objects, and every sixteenth element of the open arrays.
  private var elements: [Element] = []
  private var scratch = ByteWriter()

  fileprivate struct Container {
    var isObject: Bool
    /// Whether the heads of the keys do not prove that these are strictly ascending.
    var mayBeUnsorted = false
    /// The offsets from `start` of the tag and of the first element.
    var tag: Int
    var content: Int
    var count = 0
    /// The index in `elements` of its first element.
    var firstElement: Int

    static let outside = Container(isObject: true, tag: 0, content: 0, firstElement: 0)
  }

  /// A property or element: its beginning and end, from `start`, and its source.
  private struct Element {
    var begin: UInt32
    var end: UInt32 = 0
    var source: Int
    /// The first eight bytes of a property's key, as a number with the same order.
    var head: UInt64 = 0
  }

  /// Creates an encoder.
  package init() {}
}

extension ValueEncoder {
  /// Appends the stored form of `value`.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` for a double that is not finite, with its path;
  ///   ``DatabaseError/Code/documentTooLarge``. In that case `writer` is unchanged.
  package mutating func encode(
    _ value: Value, into writer: inout ByteWriter
  ) throws(DatabaseError) {
    try encode(into: &writer) { (encoder) throws(DatabaseError) in
      try ValueWalk.feed(value, into: &encoder, .stored)
    }
  }

  /// Returns the stored form of `value`.
  package static func encode(_ value: Value) throws(DatabaseError) -> SharedBytes {
    var encoder = ValueEncoder()
    var writer = ByteWriter()
    try encoder.encode(value, into: &writer)
    return writer.sharedCopy
  }

  /// Appends the one value that `body` adds to `writer`.
  ///
  /// If it throws, `writer` is unchanged.
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

  /// Begins a value in the encoder's own buffer; `isNested` if it will be a part of another.
  mutating func begin(isNested: Bool) {
    writer.removeAll()
    writer.reserve(512)
    start = 0
    container = .outside
    outer.removeAll(keepingCapacity: true)
    elements.removeAll(keepingCapacity: true)
    outer.reserveCapacity(8)
    elements.reserveCapacity(24)
    if isNested { outer.append(.outside) }
  }

  /// Returns the stored form of a value that becomes a part of another.
  mutating func nestedForm(of value: Value) throws(DatabaseError) -> SharedBytes {
    begin(isNested: true)
    try ValueWalk.feed(value, into: &self, .stored)
    return bytes
  }

  /// The bytes that were added since ``begin(isNested:)``.
  var bytes: SharedBytes { writer.sharedCopy }

  /// The number of bytes that were added so far; it grows only if something is added.
  var size: Int { writer.count - start }

  /// The first byte that was added, if any.
  var firstByte: UInt8? { size > 0 ? writer[start] : nil }

  /// A position to which the encoder can be restored.
  struct Savepoint {
    fileprivate var container: Container
    fileprivate var outerCount: Int
    fileprivate var elementCount: Int
    fileprivate var byteCount: Int
  }

  /// The current position of the encoder.
  var savepoint: Savepoint {
    Savepoint(
      container: container, outerCount: outer.count, elementCount: elements.count,
      byteCount: writer.count)
  }

  /// Removes everything that was added since a savepoint, whose container must still be open.
  mutating func restore(_ savepoint: Savepoint) {
    container = savepoint.container
    outer.removeLast(outer.count - savepoint.outerCount)
    elements.removeLast(elements.count - savepoint.elementCount)
    writer.truncate(to: savepoint.byteCount)
  }

  /// Adds a value in its stored form, as a part of another.
  mutating func add(stored value: Span<UInt8>) {
    noteElement()
    writer.append(value)
  }

  /// Removes and returns the elements of the open array.
  mutating func removeElements() -> SharedBytes {
    let begin = start + container.content
    let removed = writer.copy(from: begin)
    writer.truncate(to: begin)
    elements.removeLast(elements.count - container.firstElement)
    container.count = 0
    return removed
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

  /// Counts an element of the open array, if one is open.
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
  /// Appends the unique form of a double.
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
      // Reserves space for the size, which usually has one byte.
      writer.append(0 as UInt8)
    }
    outer.append(container)
    container = Container(
      isObject: isObject, tag: tag, content: writer.count - start, firstElement: elements.count)
  }

  mutating func addKey(_ key: Span<UInt8>, source: Int) {
    let head = ValueEncoder.head(of: key)
    if container.count > 0, elements[elements.count - 1].head >= head {
      container.mayBeUnsorted = true
    }
    elements.append(
      Element(begin: UInt32(writer.count - start), source: source, head: head))
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

  /// Returns the first eight bytes of a key, padded with zeros, as a number with the same order.
  private static func head(of key: Span<UInt8>) -> UInt64 {
    if key.count >= 8 { return key.word(at: 0).byteSwapped }
    var head: UInt64 = 0
    for index in key.indices { head |= UInt64(key[index]) << UInt64(56 - 8 * index) }
    return head
  }

  /// Sorts the properties of an object by their keys.
  private mutating func sort(_ object: Container) -> DuplicateKey? {
    guard object.mayBeUnsorted else { return nil }
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

    sortElements(from: object.firstElement)
    for index in elements.indices.dropFirst(object.firstElement + 1) {
      if compareKeys(elements[index - 1], elements[index]) == 0 {
        let (a, b) = (elements[index - 1], elements[index])
        return duplicate(a.begin < b.begin ? b : a)
      }
    }
    scratch.removeAll()
    for index in object.firstElement..<elements.count {
      let element = elements[index]
      elements[index].begin = UInt32(object.content + scratch.count)
      scratch.append(writer, start + Int(element.begin)..<start + Int(element.end))
    }
    writer.overwriteEnd(with: scratch)
    return nil
  }

  private mutating func sortElements(from first: Int) {
    guard elements.count - first <= 32 else {
      var sorted = Array(elements[first...])
      sorted.sort { compareKeys($0, $1) < 0 }
      elements.replaceSubrange(first..., with: sorted)
      return
    }
    // Insertion sort is the fastest for so few.
    for index in first + 1..<elements.count {
      let element = elements[index]
      var position = index
      while position > first, compareKeys(elements[position - 1], element) > 0 {
        elements[position] = elements[position - 1]
        position -= 1
      }
      elements[position] = element
    }
  }

  private func compareKeys(_ a: Element, _ b: Element) -> Int {
    if a.head != b.head { return a.head < b.head ? -1 : 1 }
    return writer.withSpan { bytes in
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

  /// Writes the container's header, now that its size is known.
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
    DatabaseError(.documentTooLarge, "The document exceeds \(sizeInBytes) bytes")
  }

  static func depthError(_ limit: Int = DocumentLimits.depth, path: String) -> DatabaseError {
    DatabaseError(
      .documentTooLarge,
      "Arrays and objects are nested more than \(limit) deep\(PropertyPath.phrase(path))")
  }
}
