import Divan
import DivanLog

/// Reads stored values through `Codable` types.
enum FuzzCodable {
  /// Checks that valid values are read and written as valid values, and that others are rejected.
  static func read(_ encoded: EncodedValue, isCanonical: Bool) throws {
    let anything: Anything
    do {
      anything = try Document(id: "d", revision: nil, encoded).decode(Anything.self)
    } catch let error as DatabaseError {
      try expect(!isCanonical, "a sound value does not fit what takes anything: \(error)")
      try expect(error.code == .damaged || error.code == .mismatchedType, "\(error)")
      return
    }
    // Documents cannot have reserved names, and must be objects.
    guard isCanonical, encoded.kind == .object,
      let document = try? Document(encoding: anything)
    else { return }
    try expect((try? document.encoded().validate()) != nil, "encoded in a wrong form")
    try expect(
      try document.decode(Anything.self) == anything, "what was encoded reads differently")
  }

  /// A value that requests every type from its decoder.
  indirect enum Anything: Codable, Equatable {
    case null, bool(Bool), int(Int64), unsigned(UInt64), double(UInt64), text(String)
    case array([Anything])
    case object([Property])

    struct Property: Equatable {
      var name: String
      var value: Anything
    }

    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      if var elements = try? decoder.unkeyedContainer() {
        var array: [Anything] = []
        while !elements.isAtEnd { array.append(try elements.decode(Anything.self)) }
        self = .array(array)
      } else if let object = try? decoder.container(keyedBy: Key.self) {
        self = .object(
          try object.allKeys.map {
            Property(name: $0.stringValue, value: try object.decode(Anything.self, forKey: $0))
          })
      } else {
        self = try Anything(decoder.singleValueContainer())
      }
    }

    private init(_ container: any SingleValueDecodingContainer) throws {
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(String.self) {
        self = .text(value)
      } else if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Int64.self) {
        self = .int(value)
      } else if let value = try? container.decode(UInt64.self) {
        self = .unsigned(value)
      } else {
        self = .double(try container.decode(Double.self).bitPattern)
      }
    }

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .array(let array):
        var elements = encoder.unkeyedContainer()
        for element in array { try elements.encode(element) }
      case .object(let properties):
        var object = encoder.container(keyedBy: Key.self)
        for property in properties.reversed() {
          try object.encode(property.value, forKey: Key(stringValue: property.name))
        }
      default:
        var container = encoder.singleValueContainer()
        switch self {
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let bits): try container.encode(Double(bitPattern: bits))
        case .text(let value): try container.encode(value)
        default: try container.encodeNil()
        }
      }
    }
  }
}
