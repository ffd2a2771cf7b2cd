import DivanLog

/// How stored values are read as the type of a property, by the rules of ``DocumentDecoder``.
enum PropertyType {
  /// Returns a stored value as a value of a type; nil if the type does not have it.
  static func read<V: Decodable>(_ value: Value, as _: V.Type) -> V? {
    switch value {
    case _ where V.self == Value.self: value as? V
    case .string(let text) where V.self == String.self: text as? V
    case .int(let number) where V.self == Int.self: Int(exactly: number) as? V
    case .bool(let isSo) where V.self == Bool.self: isSo as? V
    case .double(let number) where V.self == Double.self: number as? V
    default: decode(value, as: V.self)
    }
  }

  private static func decode<V: Decodable>(_ value: Value, as _: V.Type) -> V? {
    guard let stored = try? ValueEncoder.encode(value) else { return nil }
    let part = DecodingPart(DecodingSession(userInfo: [:], id: nil, revision: nil), stored)
    guard let location = part.whole(hasMetadata: false) else { return nil }
    return try? part.decode(V.self, at: location)
  }

  /// Whether stored values that differ are read as different values of a type.
  ///
  /// Other types may round numbers, as `Double` does, or read several texts as one value, as dates
  /// do. It is also false for types of which this is not known.
  static func isReadExactly(_ type: Any.Type) -> Bool {
    switch type {
    case is any FixedWidthInteger.Type, is Bool.Type, is String.Type, is Value.Type: true
    case is Optional<Int>.Type, is Optional<Bool>.Type, is Optional<String>.Type: true
    default: false
    }
  }

  /// Returns the form in which a value is stored; nil if it cannot be stored.
  static func storedForm(of value: Any) -> Value? {
    guard let value = value as? any Encodable else { return nil }
    return try? Value(queryConstant: value)
  }

  /// Whether values of a type are stored as texts that are sorted by their bytes.
  static func sortsByBytes(_ type: Any.Type) -> Bool {
    (type as? any _QueryOrdered.Type)?.sortsByBytes ?? false
  }
}
