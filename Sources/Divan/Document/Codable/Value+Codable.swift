import DivanLog

extension Value: Codable {
  /// Reads a value of any kind.
  ///
  /// Formats that do not distinguish `1` from `1.0` yield whole numbers.
  public init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Value.codingDepthLimit else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: decoder.codingPath,
          debugDescription: "the values are nested more than \(Value.codingDepthLimit) deep"))
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([Value].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode(Object.self))
    }
  }

  /// Writes the value that this represents.
  public func encode(to encoder: any Encoder) throws {
    guard encoder.codingPath.count <= Value.codingDepthLimit else {
      throw EncodingError.invalidValue(
        self,
        EncodingError.Context(
          codingPath: encoder.codingPath,
          debugDescription: "the values are nested more than \(Value.codingDepthLimit) deep"))
    }
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension Value {
  /// The maximum depth of values in other formats, which are read and written recursively.
  private static let codingDepthLimit = DocumentLimits.depth
}

extension Value.Object: Codable {
  /// Reads all properties.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: PropertyKey.self)
    self.init(
      try container.allKeys.map { ($0.stringValue, try container.decode(Value.self, forKey: $0)) })
  }

  /// Writes all properties.
  public func encode(to encoder: any Encoder) throws {
    // Other formats may keep properties in dictionaries, which treat equal-looking keys as the
    // same.
    if !(encoder is SlotEncoder), let key = keyThatLooksLikeAnother {
      throw EncodingError.invalidValue(
        self,
        EncodingError.Context(
          codingPath: encoder.codingPath + [PropertyKey(key)],
          debugDescription:
            "Swift treats two keys of the object as equal, and only one of them would be kept"
        ))
    }
    var container = encoder.container(keyedBy: PropertyKey.self)
    for (key, value) in self { try container.encode(value, forKey: PropertyKey(key)) }
  }

  private var keyThatLooksLikeAnother: String? {
    // Of two such keys, neither is ASCII only.
    var known: Set<String> = []
    return keys.first { key in
      key.utf8.contains { $0 >= 0x80 } && !known.insert(key).inserted
    }
  }
}
