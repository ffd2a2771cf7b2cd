package import DivanLog

/// A value in its stored form; parts of it can be read without decoding the rest.
///
/// The bytes may be arbitrary: each part is checked when it is read, and an error is reported as
/// ``DatabaseError/Code/damaged``.
package struct EncodedValue: Sendable {
  /// The stored form.
  package let bytes: SharedBytes

  /// Wraps bytes, which are checked when they are read.
  package init(_ bytes: SharedBytes) { self.bytes = bytes }

  /// The stored form of an object without properties.
  package static let emptyObject = EncodedValue(SharedBytes(copying: [ValueFormat.Tag.object]))

  /// The kind of a value.
  package enum Kind: Sendable {
    case null, bool, integer, double, string, array, object
  }
}

extension EncodedValue {
  /// The kind of value, or nil if the bytes are not a value.
  package var kind: Kind? {
    bytes.isEmpty ? nil : ValueFormat.kind(ofTag: bytes[0])
  }

  /// Returns the whole value.
  package func decode() throws(DatabaseError) -> Value {
    try bytes.withSpan { (bytes) throws(DatabaseError) in try EncodedValue.decode(bytes) }
  }

  /// Returns the value whose stored form `bytes` are.
  static func decode(_ bytes: Span<UInt8>) throws(DatabaseError) -> Value {
    var builder = ValueBuilder()
    let damage = ValueReader.read(bytes, into: &builder)
    guard damage == nil, let value = builder.value else { throw EncodedValue.damage(at: damage) }
    return value
  }

  /// Checks that the bytes are the one stored form of some value, without building it.
  package func validate() throws(DatabaseError) {
    var nothing = NothingSink()
    let damage = bytes.withSpan { ValueReader.read($0, isCanonical: true, into: &nothing) }
    if damage != nil { throw EncodedValue.damage(at: damage) }
  }

  /// Returns the property `key`, or nil if there is none or this is not an object.
  package func property(_ key: String) throws(DatabaseError) -> EncodedValue? {
    try withUTF8(of: key) { (key) throws(DatabaseError) in try property(key) }
  }

  /// Returns the property whose key is these bytes; nil if there is none or this is no object.
  package func property(_ key: Span<UInt8>) throws(DatabaseError) -> EncodedValue? {
    guard let range = try propertyRange(key) else { return nil }
    return bytes.slice(range.lowerBound, range.count).map { EncodedValue($0) }
  }

  /// Returns the property `key`, decoded; nil if there is none or this is not an object.
  package func value(_ key: String) throws(DatabaseError) -> Value? {
    let range = try withUTF8(of: key) { (key) throws(DatabaseError) in try propertyRange(key) }
    guard let range else { return nil }
    return try bytes.withSpan { (bytes) throws(DatabaseError) in
      try EncodedValue.decode(bytes.extracting(range))
    }
  }

  /// Returns the range in ``bytes`` of the value of the property `key`, or nil if there is none.
  package func propertyRange(_ key: Span<UInt8>) throws(DatabaseError) -> Range<Int>? {
    try EncodedValue.range(bytes.withSpan { ValueFormat.property(key, of: $0) })
  }

  /// Returns the element at `index`, or nil if there is none or this is not an array.
  package func element(_ index: Int) throws(DatabaseError) -> EncodedValue? {
    guard index >= 0 else { return nil }
    let found = bytes.withSpan { bytes -> ValueFormat.Found in
      guard let array = ValueFormat.container(bytes, at: 0, end: bytes.count) else {
        return bytes.count > 0 && bytes[0] & 0xF0 != ValueFormat.Tag.array ? .missing : .damaged
      }
      return array.isObject ? .missing : ValueFormat.element(index, of: array, in: bytes)
    }
    guard let range = try EncodedValue.range(found) else { return nil }
    return bytes.slice(range.lowerBound, range.count).map { EncodedValue($0) }
  }

  private static func range(_ found: ValueFormat.Found) throws(DatabaseError) -> Range<Int>? {
    switch found {
    case .at(let start, let end): return start..<end
    case .missing: return nil
    case .damaged: throw damage(at: nil)
    }
  }

  static func damage(at offset: Int?) -> DatabaseError {
    DatabaseError(
      .damaged, "The bytes of a document are not the stored form of a value", offset: offset)
  }
}

// MARK: - Scalars

extension EncodedValue {
  /// The whole number, if this is one that fits `Int64`.
  package var int: Int64? { bytes.withSpan { ValueFormat.int64($0, 0..<$0.count) } }

  /// The double, if this is one.
  ///
  /// It is nil for a whole number.
  package var double: Double? {
    bytes.withSpan { bytes in
      guard ValueFormat.skip(bytes, at: 0, end: bytes.count) == bytes.count,
        let number = ValueFormat.double(bytes, at: 0), number.isFinite
      else { return nil }
      return number
    }
  }

  /// The text, if this is one.
  package var string: String? {
    bytes.withSpan { bytes in
      guard let range = ValueFormat.text(bytes, 0..<bytes.count) else { return nil }
      return String(utf8: bytes.extracting(range))
    }
  }

  /// Returns the property `key` if it is a text; nil otherwise or if it is missing.
  package func string(_ key: String) throws(DatabaseError) -> String? {
    try withText(key) { String(utf8: $0) } ?? nil
  }

  /// Calls a closure with the UTF-8 bytes of the property `key`, and returns its result.
  ///
  /// Returns nil if the property is not a text or is missing.
  package func withText<R>(
    _ key: String, _ body: (Span<UInt8>) -> R
  ) throws(DatabaseError) -> R? {
    let range = try withUTF8(of: key) { (key) throws(DatabaseError) in try propertyRange(key) }
    guard let range else { return nil }
    return bytes.withSpan { bytes in
      ValueFormat.text(bytes, range).map { body(bytes.extracting($0)) }
    }
  }
}

extension ValueFormat {
  /// Finds the property `key` of the value in `bytes`; it is missing if that is not an object.
  static func property(_ key: Span<UInt8>, of bytes: Span<UInt8>) -> Found {
    guard let object = container(bytes, at: 0, end: bytes.count) else {
      return bytes.count > 0 && bytes[0] & 0xF0 != Tag.object ? .missing : .damaged
    }
    return object.isObject ? property(key, of: object, in: bytes) : .missing
  }

  /// Finds the value at a path in the value in `bytes`.
  static func value(at path: [String], of bytes: Span<UInt8>) -> Found {
    var (start, end) = (0, bytes.count)
    for name in path {
      let found = withUTF8(of: name) { property($0, of: bytes.extracting(start..<end)) }
      guard case .at(let valueStart, let valueEnd) = found else { return found }
      (start, end) = (start + valueStart, start + valueEnd)
    }
    return .at(start, end: end)
  }

  /// Returns the integer that fills `range`, if it is one that fits `Int64`.
  static func int64(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
    guard !range.isEmpty else { return nil }
    let tag = bytes[range.lowerBound]
    switch form(ofTag: tag) {
    case .smallInteger: return range.count == 1 ? Int64(tag) : nil
    case .smallNegative: return range.count == 1 ? -1 - Int64(tag & 0xF) : nil
    case .integer:
      let width = Int(tag & 7) + 1
      guard range.count == 1 + width,
        let number = integer(bytes, at: range.lowerBound + 1, width: width),
        let number = Int64(exactly: number)
      else { return nil }
      return tag < Tag.negative ? number : -1 - number
    default: return nil
    }
  }

  /// Returns the range of the bytes of the text that fills `range`, if it is one.
  static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
    guard !range.isEmpty else { return nil }
    let tag = bytes[range.lowerBound]
    let header: Int
    switch form(ofTag: tag) {
    case .shortText: header = 1
    case .text: header = 2 + Int(tag & 3)
    default: return nil
    }
    guard skip(bytes, at: range.lowerBound, end: range.upperBound) == range.upperBound else {
      return nil
    }
    return range.lowerBound + header..<range.upperBound
  }
}
