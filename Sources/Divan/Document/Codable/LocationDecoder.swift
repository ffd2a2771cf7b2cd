import DivanLog

/// Reads any value: the decoder for `init(from:)`, and the container for single values.
struct LocationDecoder: Decoder, SingleValueDecodingContainer {
  let part: DecodingPart
  let location: DecodingPart.Location

  init(part: DecodingPart, location: DecodingPart.Location) {
    self.part = part
    self.location = location
  }

  /// Creates a decoder for all of a part.
  init(_ part: DecodingPart, callDepth: UInt16, hasMetadata: Bool) throws(TypeMismatch) {
    guard let location = part.whole(callDepth: callDepth, hasMetadata: hasMetadata) else {
      throw .damaged
    }
    self.init(part: part, location: location)
  }

  var codingPath: [any CodingKey] { part.codingPath(depth: location.pathDepth) }
  var userInfo: [CodingUserInfoKey: Any] { part.session.userInfo }

  func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
    do throws(TypeMismatch) {
      let container = try part.container(location.range, isObject: true)
      let object = try ObjectReader(container, in: part.bytes)
      if let keys = part.session.keys {
        keys.note(object.names(in: part.bytes), at: part.start(of: location)) { name in
          Key(stringValue: name).map { haveSameUTF8($0.stringValue, name) } ?? false
        }
      }
      return KeyedDecodingContainer(
        KeyedReader<Key>(part: part, location: location, object: object))
    } catch {
      throw part.fail(error, [String: Any].self, location.pathDepth)
    }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try UnkeyedReader(part, location)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { part.isNull(location.range) }

  @inline(__always)
  private func value<T>(_ read: (Range<Int>) throws(TypeMismatch) -> T) throws -> T {
    do throws(TypeMismatch) {
      return try read(location.range)
    } catch {
      throw part.fail(error, T.self, location.pathDepth)
    }
  }

  func decode(_: Bool.Type) throws -> Bool {
    try value { (range) throws(TypeMismatch) in try part.bool(range) }
  }

  func decode(_: String.Type) throws -> String {
    try value { (range) throws(TypeMismatch) in try part.string(range) }
  }

  func decode(_: Double.Type) throws -> Double {
    try value { (range) throws(TypeMismatch) in try part.double(range) }
  }

  func decode(_: Float.Type) throws -> Float {
    try value { (range) throws(TypeMismatch) in try part.float(range) }
  }

  func decode(_: Int.Type) throws -> Int {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int8.Type) throws -> Int8 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int16.Type) throws -> Int16 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int32.Type) throws -> Int32 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int64.Type) throws -> Int64 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt.Type) throws -> UInt {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt8.Type) throws -> UInt8 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt16.Type) throws -> UInt16 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt32.Type) throws -> UInt32 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt64.Type) throws -> UInt64 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: Int128.Type) throws -> Int128 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode(_: UInt128.Type) throws -> UInt128 {
    try value { (range) throws(TypeMismatch) in try part.integer(range) }
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try part.decode(type, at: location) }
}
