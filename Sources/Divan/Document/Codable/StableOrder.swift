import DivanLog

/// Collections whose order differs between processes, and which encode themselves as arrays.
///
/// They are stored in the order of their elements' stored form, so that equal values have equal
/// bytes.
private protocol UnorderedCollection {
  /// Returns a value that encodes the collection in that order; nil if it already has an order.
  func inStableOrder(_ session: EncodingSession) throws -> (any Encodable)?
}

/// Returns the value to encode instead of one without an order of its own; nil for other values.
func inStableOrder<T: Encodable>(_ value: T, _ session: EncodingSession) -> (any Encodable)? {
  // Most types are excluded by their size, which costs nothing.
  guard MemoryLayout<T>.size == MemoryLayout<Set<Int>>.size,
    let unordered = value as? any UnorderedCollection
  else { return nil }
  // An element that cannot be encoded fails again where the path to it is known.
  return try? unordered.inStableOrder(session)
}

/// Whether the values of a type are such collections.
func isUnordered(_ type: Any.Type) -> Bool { type is any UnorderedCollection.Type }

extension Set: UnorderedCollection where Element: Encodable {
  func inStableOrder(_ session: EncodingSession) throws -> (any Encodable)? {
    try map { (bytes: try storedForm($0, session), element: $0) }
      .sorted { compare($0.bytes, $1.bytes) < 0 }.map(\.element)
  }
}

extension Dictionary: UnorderedCollection where Key: Encodable, Value: Encodable {
  func inStableOrder(_ session: EncodingSession) throws -> (any Encodable)? {
    // These are objects, whose properties have an order.
    if Key.self == String.self || Key.self == Int.self
      || Key.self is any CodingKeyRepresentable.Type
    {
      return nil
    }
    let sorted = try map { (bytes: try storedForm($0.key, session), pair: $0) }
      .sorted { compare($0.bytes, $1.bytes) < 0 }
    return Pairs(pairs: sorted.map { ($0.pair.key, $0.pair.value) })
  }
}

/// A dictionary in the form in which it encodes itself: an array of alternating keys and values.
private struct Pairs<Key: Encodable, Value: Encodable>: Encodable {
  let pairs: [(Key, Value)]

  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for (key, value) in pairs {
      try container.encode(key)
      try container.encode(value)
    }
  }
}

private func storedForm(_ value: some Encodable, _ session: EncodingSession) throws -> SharedBytes {
  var encoder = ValueEncoder()
  encoder.begin(isNested: true)
  if try EncodingPage.write(value, to: &encoder) { return encoder.bytes }
  let part = EncodingPart(propertyOf: EncodingSession(userInfo: session.userInfo))
  try part.encodeOutermost(value)
  return try part.finish()
}
