import DivanLog

/// A sink that splits the JSON of a line into reserved members and properties.
///
/// Members that begin with an underscore become a value. All others go directly into the stored
/// form of the properties, which is never decoded.
struct ImportSink: ~Copyable {
  private var properties = ValueEncoder()
  private var reserved = ValueBuilder()
  /// The number of open containers.
  private var depth = 0
  /// Whether the next value belongs to a member that begins with an underscore.
  private var isReserved = false
  private var isObject = false
}

extension ImportSink {
  /// Reads a line.
  mutating func read(
    _ text: SharedBytes, sizeLimit: Int
  ) throws(DatabaseError) -> (properties: EncodedValue, reserved: Value.Object) {
    properties.begin(isNested: false)
    reserved = ValueBuilder()
    depth = 0
    isReserved = false
    isObject = false
    do throws(DatabaseError) {
      try text.withSpan { (text) throws(DatabaseError) in
        try JSONParser.parse(text, textSizeLimit: sizeLimit, into: &self)
      }
    } catch {
      var error = error
      error.column = error.offset.map { $0 + 1 }
      error.offset = nil
      throw error
    }
    guard isObject, let reserved = reserved.value?.objectValue else {
      throw DatabaseError(
        .invalidJSON, "the line is not an object",
        hint: "Each line is one document: put each element of an array on its own line")
    }
    guard !properties.isTooLarge else { throw DocumentLimits.sizeError }
    return (EncodedValue(properties.bytes), reserved)
  }
}

extension ImportSink: ValueSink {
  var isTooLarge: Bool { properties.isTooLarge }

  mutating func addNull() {
    if isReserved { reserved.addNull() } else { properties.addNull() }
  }

  mutating func add(_ value: Bool) {
    if isReserved { reserved.add(value) } else { properties.add(value) }
  }

  mutating func add(_ value: Int64) {
    if isReserved { reserved.add(value) } else { properties.add(value) }
  }

  mutating func add(unsigned value: UInt64) {
    if isReserved { reserved.add(unsigned: value) } else { properties.add(unsigned: value) }
  }

  mutating func add(_ value: Double) {
    if isReserved { reserved.add(value) } else { properties.add(value) }
  }

  mutating func add(text: Span<UInt8>) {
    if isReserved { reserved.add(text: text) } else { properties.add(text: text) }
  }

  mutating func beginArray() {
    if isReserved { reserved.beginArray() } else { properties.beginArray() }
    depth += 1
  }

  mutating func endArray() {
    depth -= 1
    if isReserved { reserved.endArray() } else { properties.endArray() }
  }

  mutating func beginObject() {
    if depth == 0 {
      isObject = true
      reserved.beginObject()
    }
    if isReserved { reserved.beginObject() } else { properties.beginObject() }
    depth += 1
  }

  mutating func endObject() -> DuplicateKey? {
    depth -= 1
    guard depth == 0 else { return isReserved ? reserved.endObject() : properties.endObject() }
    // The whole line is an object in both.
    let duplicate = reserved.endObject()
    return properties.endObject() ?? duplicate
  }

  mutating func addKey(_ key: Span<UInt8>, source: Int) {
    if depth == 1 { isReserved = key.count > 0 && key[0] == 0x5F }
    if isReserved {
      reserved.addKey(key, source: source)
    } else {
      properties.addKey(key, source: source)
    }
  }
}
