package import DivanLog

// MARK: - Values

extension Value {
  /// Reads JSON text.
  ///
  /// Text that cannot be represented without loss is rejected: integers outside `Int64` and
  /// `UInt64`, numbers that overflow `Double`, duplicate keys, halves of surrogate pairs. Other
  /// decimals become the nearest `Double`.
  ///
  /// - Throws: ``DatabaseError/Code/invalidJSON``, with the path to the property in the message and
  ///   the byte in ``DatabaseError/offset``; ``DatabaseError/Code/documentTooLarge`` if arrays and
  ///   objects are nested more than ``DocumentLimits/depth`` deep.
  public init(json text: String) throws(DatabaseError) {
    self = try withUTF8(of: text) { (bytes) throws(DatabaseError) in try Value(json: bytes) }
  }

  /// Reads JSON text in UTF-8; see ``init(json:)``.
  public init(json bytes: some Collection<UInt8>) throws(DatabaseError) {
    self = try Value(json: Array(bytes).span)
  }

  /// Reads JSON text in UTF-8 that has documents in it, so that it may be nested deeper than one.
  package init(json bytes: some Collection<UInt8>, depthLimit: Int) throws(DatabaseError) {
    self = try Value(json: Array(bytes).span, depthLimit: depthLimit)
  }

  private init(
    json bytes: Span<UInt8>, depthLimit: Int = DocumentLimits.depth
  ) throws(DatabaseError) {
    var builder = ValueBuilder()
    try JSONParser.parse(bytes, depthLimit: depthLimit, into: &builder)
    // The parser added one whole value, or threw.
    self = builder.value ?? .null
  }

  /// This value as compact JSON text.
  ///
  /// A double that is not finite, which cannot be stored either, is written as null.
  public var json: String { json(isPretty: false) }

  /// This value as JSON text with a line for each element.
  ///
  /// A double that is not finite, which cannot be stored either, is written as null.
  public var prettyJSON: String { json(isPretty: true) }

  private func json(isPretty: Bool) -> String {
    var text = JSONText(isPretty: isPretty)
    // Without checks nothing throws.
    try? ValueWalk.feed(self, into: &text, .none)
    return text.text
  }
}

extension Value: CustomStringConvertible {
  /// A string as it is, without quotation marks; any other value as compact JSON text.
  ///
  /// Use ``json`` for text that can be parsed.
  public var description: String { stringValue ?? json }
}

extension Value: CustomDebugStringConvertible {
  /// This value as compact JSON text, as in the description of an array of values.
  public var debugDescription: String { json }
}

// MARK: - Stored values

extension EncodedValue {
  /// This value as compact JSON text.
  package func json() throws(DatabaseError) -> String {
    var text = JSONText(isPretty: false)
    let damage = bytes.withSpan { ValueReader.read($0, into: &text) }
    guard damage == nil else { throw EncodedValue.damage(at: damage) }
    return text.text
  }
}

extension ValueEncoder {
  /// Returns the stored form of the value of a JSON text in UTF-8, without building the value.
  ///
  /// - Throws: The same errors as ``Value/init(json:)``, and
  ///   ``DatabaseError/Code/documentTooLarge`` for the size.
  package static func encode(json bytes: SharedBytes) throws(DatabaseError) -> SharedBytes {
    var encoder = ValueEncoder()
    var writer = ByteWriter(capacity: bytes.count)
    try encoder.encode(into: &writer) { (encoder) throws(DatabaseError) in
      try bytes.withSpan { (bytes) throws(DatabaseError) in
        try JSONParser.parse(bytes, into: &encoder)
      }
    }
    return writer.sharedCopy
  }
}
