/// Writes the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
  let part: EncodingPart
  let location: EncodingPart.Location

  var codingPath: [any CodingKey] { part.codingPath(of: location) }
  var count: Int { part.count(of: location) }

  mutating func encodeNil() throws { try part.addElement(to: location) { $0.addNull() } }

  mutating func encode(_ value: Bool) throws {
    try part.addElement(to: location) { $0.add(value) }
  }

  mutating func encode(_ value: String) throws {
    try part.addElement(to: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Double) throws {
    try part.addElement(to: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Float) throws {
    try part.addElement(to: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Int) throws {
    try part.addElement(to: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int8) throws {
    try part.addElement(to: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int16) throws {
    try part.addElement(to: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int32) throws {
    try part.addElement(to: location) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int64) throws {
    try part.addElement(to: location) { $0.add(value) }
  }

  mutating func encode(_ value: UInt) throws {
    try part.addElement(to: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt8) throws {
    try part.addElement(to: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt16) throws {
    try part.addElement(to: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt32) throws {
    try part.addElement(to: location) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt64) throws {
    try part.addElement(to: location) { $0.add(unsigned: value) }
  }

  mutating func encode(_ value: Int128) throws {
    try part.addElement(to: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: UInt128) throws {
    try part.addElement(to: location) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode<T: Encodable>(_ value: T) throws {
    try part.addElement(to: location, value)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy _: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    let (part, location) = part.nestedContainer(inArray: location, isObject: true)
    return KeyedEncodingContainer(KeyedWriter<NestedKey>(part: part, location: location))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let (part, location) = part.nestedContainer(inArray: location, isObject: false)
    return UnkeyedWriter(part: part, location: location)
  }

  mutating func superEncoder() -> any Encoder { part.nestedEncoder(inArray: location) }
}
