import DivanLog

/// Reads the properties of an object.
struct KeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let part: DecodingPart
  let location: DecodingPart.Location
  let object: ObjectReader

  var codingPath: [any CodingKey] { part.codingPath(depth: location.pathDepth) }

  /// The keys of the properties that `Key` can name.
  var allKeys: [Key] {
    object.names(in: part.bytes).compactMap { name in
      // A key may also be made of a text with other bytes, by which the property is not found.
      Key(stringValue: name).flatMap { haveSameUTF8($0.stringValue, name) ? $0 : nil }
    }
  }

  /// Returns the range of a property's value; nil if there is none.
  private func find(_ key: Key) throws(TypeMismatch) -> Range<Int>? {
    try object.find(key.stringValue, in: part.bytes)
  }

  @inline(__always)
  private func value<T>(
    _ key: Key, _ read: (Range<Int>) throws(TypeMismatch) -> T
  ) throws -> T {
    do throws(TypeMismatch) {
      guard let range = try find(key) else { throw .missing }
      return try read(range)
    } catch {
      throw part.fail(error, T.self, location.pathDepth, key: key)
    }
  }

  @inline(__always)
  private func optional<T>(
    _ key: Key, _ read: (Range<Int>) throws(TypeMismatch) -> T
  ) throws -> T? {
    do throws(TypeMismatch) {
      guard let range = try find(key), !part.isNull(range) else { return nil }
      return try read(range)
    } catch {
      throw part.fail(error, T.self, location.pathDepth, key: key)
    }
  }

  /// Returns the range of the value of a property, which must exist.
  private func range(of key: Key, _ type: Any.Type) throws -> Range<Int> {
    do throws(TypeMismatch) {
      guard let range = try find(key) else { throw .missing }
      return range
    } catch {
      throw part.fail(error, type, location.pathDepth, key: key)
    }
  }

  func contains(_ key: Key) -> Bool { (try? find(key)) != nil }

  func decodeNil(forKey key: Key) throws -> Bool {
    try value(key) { range in part.isNull(range) }
  }

  func decode(_: Bool.Type, forKey key: Key) throws -> Bool {
    try value(key) { (range) throws(TypeMismatch) in try part.bool(range) }
  }

  func decode(_: String.Type, forKey key: Key) throws -> String {
    try value(key) { (range) throws(TypeMismatch) in try part.string(range) }
  }

  func decode(_: Double.Type, forKey key: Key) throws -> Double {
    try value(key) { (range) throws(TypeMismatch) in try part.double(range) }
  }

  func decode(_: Float.Type, forKey key: Key) throws -> Float {
    try value(key) { (range) throws(TypeMismatch) in try part.float(range) }
  }

  func decode(_: Int.Type, forKey key: Key) throws -> Int {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int8.Type, forKey key: Key) throws -> Int8 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int16.Type, forKey key: Key) throws -> Int16 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int32.Type, forKey key: Key) throws -> Int32 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int64.Type, forKey key: Key) throws -> Int64 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt.Type, forKey key: Key) throws -> UInt {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int128.Type, forKey key: Key) throws -> Int128 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try value(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if location.hasMetadata, part.isMetadata(type) { return part.metadata(type) }
    return try part.decode(type, range(of: key, type), of: location, key: key)
  }

  func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? {
    try optional(key) { (range) throws(TypeMismatch) in try part.bool(range) }
  }

  func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? {
    try optional(key) { (range) throws(TypeMismatch) in try part.string(range) }
  }

  func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
    try optional(key) { (range) throws(TypeMismatch) in try part.double(range) }
  }

  func decodeIfPresent(_: Float.Type, forKey key: Key) throws -> Float? {
    try optional(key) { (range) throws(TypeMismatch) in try part.float(range) }
  }

  func decodeIfPresent(_: Int.Type, forKey key: Key) throws -> Int? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: Int8.Type, forKey key: Key) throws -> Int8? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: Int16.Type, forKey key: Key) throws -> Int16? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: Int32.Type, forKey key: Key) throws -> Int32? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: Int64.Type, forKey key: Key) throws -> Int64? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt.Type, forKey key: Key) throws -> UInt? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: Int128.Type, forKey key: Key) throws -> Int128? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent(_: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try optional(key) { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    if location.hasMetadata, part.isMetadata(type) { return part.metadata(type) }
    guard let range = try optional(key, { range in range }) else { return nil }
    return try part.decode(type, range, of: location, key: key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy _: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try nestedDecoder(key, [String: Any].self).container(keyedBy: NestedKey.self)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nestedDecoder(key, [Any].self).unkeyedContainer()
  }

  private func nestedDecoder(_ key: Key, _ type: Any.Type) throws -> LocationDecoder {
    try LocationDecoder(
      part.part(range(of: key, type), codingPath + [key]), callDepth: location.callDepth,
      hasMetadata: false)
  }

  func superDecoder() throws -> any Decoder {
    part.session.keys?.noteKnown(SuperKey.name, at: part.start(of: location))
    return try superDecoder(of: SuperKey())
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(of: key) }

  private func superDecoder(of key: some CodingKey) throws -> any Decoder {
    let range: Range<Int>?
    do throws(TypeMismatch) {
      range = try object.find(key.stringValue, in: part.bytes)
    } catch {
      throw part.fail(error, Any.self, location.pathDepth, key: key)
    }
    return try LocationDecoder(
      part.part(range, codingPath + [key]), callDepth: location.callDepth,
      hasMetadata: location.hasMetadata)
  }
}
