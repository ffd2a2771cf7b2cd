/// Writes the properties of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let part: EncodingPart
  let location: EncodingPart.Location

  var codingPath: [any CodingKey] { part.codingPath(of: location) }

  mutating func encodeNil(forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.addNull() }
  }

  mutating func encode(_ value: Bool, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(value) }
  }

  mutating func encode(_ value: String, forKey key: Key) throws {
    try part.addProperty(key, of: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Double, forKey key: Key) throws {
    try part.addProperty(key, of: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Float, forKey key: Key) throws {
    try part.addProperty(key, of: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Int, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int8, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int16, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int32, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int64, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(value) }
  }

  mutating func encode(_ value: UInt, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt8, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt16, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt32, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt64, forKey key: Key) throws {
    try part.addProperty(key, of: location) { $0.add(unsigned: value) }
  }

  mutating func encode(_ value: Int128, forKey key: Key) throws {
    try part.addProperty(key, of: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: UInt128, forKey key: Key) throws {
    try part.addProperty(key, of: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try part.addProperty(key, of: location, value)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy _: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let (part, location) = part.nestedContainer(key, in: location, isObject: true)
    return KeyedEncodingContainer(KeyedWriter<NestedKey>(part: part, location: location))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    let (part, location) = part.nestedContainer(key, in: location, isObject: false)
    return UnkeyedWriter(part: part, location: location)
  }

  mutating func superEncoder() -> any Encoder { part.nestedEncoder(SuperKey(), in: location) }

  mutating func superEncoder(forKey key: Key) -> any Encoder {
    part.nestedEncoder(key, in: location)
  }
}
