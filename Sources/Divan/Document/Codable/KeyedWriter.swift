/// Writes the properties of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let part: EncodingPart
  let place: EncodingPart.Place

  var codingPath: [any CodingKey] { part.codingPath(of: place) }

  mutating func encodeNil(forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.addNull() }
  }

  mutating func encode(_ value: Bool, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(value) }
  }

  mutating func encode(_ value: String, forKey key: Key) throws {
    try part.addProperty(key, of: place) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Double, forKey key: Key) throws {
    try part.addProperty(key, of: place) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Float, forKey key: Key) throws {
    try part.addProperty(key, of: place) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Int, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int8, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int16, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int32, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int64, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(value) }
  }

  mutating func encode(_ value: UInt, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt8, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt16, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt32, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt64, forKey key: Key) throws {
    try part.addProperty(key, of: place) { $0.add(unsigned: value) }
  }

  mutating func encode(_ value: Int128, forKey key: Key) throws {
    try part.addProperty(key, of: place) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: UInt128, forKey key: Key) throws {
    try part.addProperty(key, of: place) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try part.addProperty(key, of: place, value)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy _: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let (part, place) = part.nestedContainer(key, in: place, isObject: true)
    return KeyedEncodingContainer(KeyedWriter<NestedKey>(part: part, place: place))
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    let (part, place) = part.nestedContainer(key, in: place, isObject: false)
    return UnkeyedWriter(part: part, place: place)
  }

  mutating func superEncoder() -> any Encoder { part.nestedEncoder(SuperKey(), in: place) }

  mutating func superEncoder(forKey key: Key) -> any Encoder {
    part.nestedEncoder(key, in: place)
  }
}
