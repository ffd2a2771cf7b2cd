/// Writes any value: the encoder for `encode(to:)`, and the container for single values.
struct SlotEncoder: Encoder, SingleValueEncodingContainer {
  let part: EncodingPart
  let slot: EncodingPart.Slot

  var codingPath: [any CodingKey] { part.codingPath(of: slot) }
  var userInfo: [CodingUserInfoKey: Any] { part.session.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let location = part.container(in: slot, isObject: true, keys: type)
    return KeyedEncodingContainer(KeyedWriter<Key>(part: part, location: location))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    UnkeyedWriter(part: part, location: part.container(in: slot, isObject: false))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  mutating func encodeNil() throws { try part.fill(slot) { $0.addNull() } }

  mutating func encode(_ value: Bool) throws {
    try part.fill(slot) { $0.add(value) }
  }

  mutating func encode(_ value: String) throws {
    try part.fill(slot) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Double) throws {
    try part.fill(slot) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Float) throws {
    try part.fill(slot) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: Int) throws {
    try part.fill(slot) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int8) throws {
    try part.fill(slot) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int16) throws {
    try part.fill(slot) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int32) throws {
    try part.fill(slot) { $0.add(Int64(value)) }
  }

  mutating func encode(_ value: Int64) throws {
    try part.fill(slot) { $0.add(value) }
  }

  mutating func encode(_ value: UInt) throws {
    try part.fill(slot) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt8) throws {
    try part.fill(slot) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt16) throws {
    try part.fill(slot) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt32) throws {
    try part.fill(slot) { $0.add(unsigned: UInt64(value)) }
  }

  mutating func encode(_ value: UInt64) throws {
    try part.fill(slot) { $0.add(unsigned: value) }
  }

  mutating func encode(_ value: Int128) throws {
    try part.fill(slot) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode(_ value: UInt128) throws {
    try part.fill(slot) { (encoder) throws(DatabaseError) in
      try EncodingPage.write(value, to: &encoder)
    }
  }

  mutating func encode<T: Encodable>(_ value: T) throws { try part.fill(slot, with: value) }
}
