import DivanLog

/// A property in its stored form, to be set in an object.
struct PropertyChange {
  var key: SharedBytes
  /// The stored form of the new value; nil to remove the property.
  var value: SharedBytes?
}

extension ValueEncoder {
  /// Appends an object with some properties replaced, added or removed.
  ///
  /// All other properties are copied in their stored form, without decoding them. Costs a pass over
  /// the object's own keys, and no more for large or nested values.
  ///
  /// - Parameters:
  ///   - object: the object in its stored form.
  ///   - changes: the changes, in the order of their keys' bytes, each key once.
  ///   - writer: receives the new object.
  /// - Throws: `damaged` if the bytes are not an object; `documentTooLarge`. Then `writer` is
  ///   unchanged.
  mutating func encode(
    _ object: EncodedValue, replacing changes: [PropertyChange], into writer: inout ByteWriter
  ) throws(DatabaseError) {
    try encode(into: &writer) { (encoder) throws(DatabaseError) in
      let isWhole = object.bytes.withSpan { bytes in encoder.add(bytes, replacing: changes) }
      guard isWhole else { throw EncodedValue.damage(at: nil) }
    }
  }

  /// Adds an object with some properties changed; returns false if the bytes are not an object.
  private mutating func add(_ bytes: Span<UInt8>, replacing changes: [PropertyChange]) -> Bool {
    guard let object = ValueFormat.container(bytes, at: 0, end: bytes.count), object.isObject
    else { return false }
    var changes = changes[...]
    beginObject()
    var offset = object.start
    while offset < object.end {
      guard let (size, start) = ValueFormat.varint(bytes, at: offset, end: object.end),
        size <= object.end - start,
        let end = ValueFormat.skip(bytes, at: start + size, end: object.end)
      else { return false }
      let key = bytes.extracting(start..<start + size)
      var isReplaced = false
      while let next = changes.first {
        let order = next.key.withSpan { compare($0, key) }
        if order > 0 { break }
        isReplaced = order == 0
        add(next)
        changes = changes.dropFirst()
      }
      if !isReplaced {
        addKey(key, source: 0)
        add(stored: bytes.extracting(start + size..<end))
      }
      offset = end
    }
    for change in changes { add(change) }
    // Both sequences are sorted, so no key occurs twice unless the object is damaged.
    return endObject() == nil
  }

  private mutating func add(_ change: PropertyChange) {
    guard let value = change.value else { return }
    change.key.withSpan { addKey($0, source: 0) }
    value.withSpan { add(stored: $0) }
  }
}
