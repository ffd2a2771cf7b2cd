import DivanLog

/// Reads the elements of an array in order.
struct UnkeyedReader: UnkeyedDecodingContainer {
  let part: DecodingPart
  let location: DecodingPart.Location
  private let array: ValueFormat.Container
  private var position: Int

  private(set) var currentIndex = 0

  init(_ part: DecodingPart, _ location: DecodingPart.Location) throws {
    self.part = part
    self.location = location
    array = try part.container(location, isObject: false)
    position = array.start
  }

  var codingPath: [any CodingKey] { part.codingPath(depth: location.pathDepth) }

  var isAtEnd: Bool { position >= array.end }

  /// The number of elements; a small array does not store it, so they are counted.
  var count: Int? {
    if let count = array.count { return count }
    var count = 0
    return part.bytes.withSpan { bytes in
      var position = array.start
      while position < array.end {
        guard let end = ValueFormat.skip(bytes, at: position, end: array.end) else { return nil }
        position = end
        count += 1
      }
      return count
    }
  }

  /// Returns the range of the next element.
  private func next() throws(TypeMismatch) -> Range<Int> {
    guard position < array.end else { throw .missing }
    let end = part.bytes.withSpan { ValueFormat.skip($0, at: position, end: array.end) }
    guard let end else { throw .damaged }
    return position..<end
  }

  private mutating func pass(_ range: Range<Int>) {
    position = range.upperBound
    currentIndex += 1
  }

  @inline(__always)
  private mutating func element<T>(
    _ read: (DecodingPart, Range<Int>) throws(TypeMismatch) -> T
  ) throws -> T {
    do throws(TypeMismatch) {
      let range = try next()
      let value = try read(part, range)
      pass(range)
      return value
    } catch {
      throw part.fail(error, T.self, location.pathDepth, key: ElementKey(currentIndex))
    }
  }

  mutating func decodeNil() throws -> Bool {
    do throws(TypeMismatch) {
      let range = try next()
      guard part.isNull(range) else { return false }
      pass(range)
      return true
    } catch {
      throw part.fail(error, Any?.self, location.pathDepth, key: ElementKey(currentIndex))
    }
  }

  mutating func decode(_: Bool.Type) throws -> Bool {
    try element { (part, range) throws(TypeMismatch) in try part.bool(range) }
  }

  mutating func decode(_: String.Type) throws -> String {
    try element { (part, range) throws(TypeMismatch) in try part.string(range) }
  }

  mutating func decode(_: Double.Type) throws -> Double {
    try element { (part, range) throws(TypeMismatch) in try part.double(range) }
  }

  mutating func decode(_: Float.Type) throws -> Float {
    try element { (part, range) throws(TypeMismatch) in try part.float(range) }
  }

  mutating func decode(_: Int.Type) throws -> Int {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: Int8.Type) throws -> Int8 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: Int16.Type) throws -> Int16 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: Int32.Type) throws -> Int32 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: Int64.Type) throws -> Int64 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt.Type) throws -> UInt {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt8.Type) throws -> UInt8 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt16.Type) throws -> UInt16 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt32.Type) throws -> UInt32 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt64.Type) throws -> UInt64 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: Int128.Type) throws -> Int128 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode(_: UInt128.Type) throws -> UInt128 {
    try element { (part, range) throws(TypeMismatch) in try part.integer(range) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let range: Range<Int>
    do throws(TypeMismatch) {
      range = try next()
    } catch {
      throw part.fail(error, type, location.pathDepth, key: ElementKey(currentIndex))
    }
    let value = try part.decode(type, range, of: location, key: ElementKey(currentIndex))
    pass(range)
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy _: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let (decoder, range) = try nestedDecoder()
    let container = try decoder.container(keyedBy: NestedKey.self)
    pass(range)
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let (decoder, range) = try nestedDecoder()
    let container = try decoder.unkeyedContainer()
    pass(range)
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let (decoder, range) = try nestedDecoder()
    pass(range)
    return decoder
  }

  private func nestedDecoder() throws -> (LocationDecoder, Range<Int>) {
    let key = ElementKey(currentIndex)
    do throws(TypeMismatch) {
      let range = try next()
      let own = part.part(range, codingPath + [key])
      return (try LocationDecoder(own, callDepth: location.callDepth, hasMetadata: false), range)
    } catch {
      throw part.fail(error, Any.self, location.pathDepth, key: key)
    }
  }
}
