import DivanLog

/// Finds the properties of an object in its stored form by their names.
///
/// In a small object, the positions are collected once, because most properties are read, and in
/// another order than they are stored in. A larger object is searched through its table.
struct ObjectReader {
  private let object: ValueFormat.Container
  private var entries: [Entry] = []

  private struct Entry {
    /// The first eight bytes of the name, padded with zeros.
    var head: UInt64
    var name: UInt32
    var nameSize: UInt32
    var end: UInt32
  }

  init(_ object: ValueFormat.Container, in bytes: SharedBytes) throws(TypeMismatch) {
    self.object = object
    guard object.count == nil else { return }
    entries.reserveCapacity(ValueFormat.stride)
    let isSound = bytes.withSpan { bytes in
      var position = object.start
      while position < object.end {
        guard let (size, start) = ValueFormat.varint(bytes, at: position, end: object.end),
          size < object.end - start,
          let end = ValueFormat.skip(bytes, at: start + size, end: object.end),
          entries.count < ValueFormat.stride
        else { return false }
        entries.append(
          Entry(
            head: ObjectReader.head(bytes, start, size), name: UInt32(start),
            nameSize: UInt32(size), end: UInt32(end)))
        position = end
      }
      return true
    }
    guard isSound else { throw .damaged }
  }

  /// Returns the range of a property's value; nil if there is none.
  func find(_ name: String, in bytes: SharedBytes) throws(TypeMismatch) -> Range<Int>? {
    guard object.count == nil else { return try search(name, in: bytes) }
    return withUTF8(of: name) { name in
      let head = ObjectReader.head(name, 0, name.count)
      for index in entries.indices where entries[index].head == head {
        let entry = entries[index]
        let isFound =
          Int(entry.nameSize) == name.count
          && (name.count <= 8
            || bytes.withSpan { areEqual($0, at: Int(entry.name), name) })
        if isFound { return Int(entry.name + entry.nameSize)..<Int(entry.end) }
      }
      return nil
    }
  }

  private func search(_ name: String, in bytes: SharedBytes) throws(TypeMismatch) -> Range<Int>? {
    let found = withUTF8(of: name) { name in
      bytes.withSpan { ValueFormat.property(name, of: object, in: $0) }
    }
    switch found {
    case .at(let start, let end): return start..<end
    case .missing: return nil
    case .damaged: throw .damaged
    }
  }

  /// Returns the names of all properties, in order, up to the first invalid one.
  func names(in bytes: SharedBytes) -> [String] {
    var names: [String] = []
    bytes.withSpan { bytes in
      var position = object.start
      while position < object.end,
        let (size, start) = ValueFormat.varint(bytes, at: position, end: object.end),
        size <= object.end - start,
        let end = ValueFormat.skip(bytes, at: start + size, end: object.end),
        let name = String(utf8: bytes.extracting(start..<start + size))
      {
        names.append(name)
        position = end
      }
    }
    return names
  }

  @inline(__always)
  private static func head(_ bytes: Span<UInt8>, _ start: Int, _ size: Int) -> UInt64 {
    if start <= bytes.count - 8 {
      let word = bytes.word(at: start)
      return size >= 8 ? word : word & ~(~0 << UInt64(8 * size))
    }
    var head: UInt64 = 0
    for index in 0..<min(size, 8) { head |= UInt64(bytes[start + index]) << UInt64(8 * index) }
    return head
  }
}
