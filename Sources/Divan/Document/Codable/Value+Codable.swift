extension Value: Codable {
  /// Reads whatever stands there.
  ///
  /// Formats that do not tell `1` from `1.0` give whole numbers.
  public init(from decoder: any Decoder) throws {
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

  /// Writes what it holds.
  public func encode(to encoder: any Encoder) throws {
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

extension Value.Object: Codable {
  /// Reads all properties.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: PropertyKey.self)
    self.init(
      try container.allKeys.map { ($0.stringValue, try container.decode(Value.self, forKey: $0)) })
  }

  /// Writes all properties.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: PropertyKey.self)
    for (key, value) in self { try container.encode(value, forKey: PropertyKey(key)) }
  }
}
