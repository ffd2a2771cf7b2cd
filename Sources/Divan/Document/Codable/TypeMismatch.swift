/// The reason why a stored value is not of the type that was requested.
enum TypeMismatch: Error, Hashable {
  case missing
  case null
  /// A value of another kind.
  case kind(EncodedValue.Kind?)
  /// A number that the type cannot represent.
  case range
  /// A text that does not have the form that the type requires.
  case form
  case tooDeep
  /// Keys that Swift treats as equal, where each of them has a value.
  case keysLookAlike
  case damaged
}

extension TypeMismatch {
  /// The error that `Decodable` types expect.
  func error(
    _ type: Any.Type, _ path: [any CodingKey], key: (any CodingKey)? = nil
  ) -> DecodingError {
    let steps = key.map { path + [$0] } ?? path
    func context(_ message: String, _ steps: [any CodingKey]) -> DecodingError.Context {
      DecodingError.Context(
        codingPath: steps, debugDescription: message, underlyingError: self)
    }
    switch self {
    case .missing:
      let message = "the value is missing; \(type) is expected"
      guard let key else { return .valueNotFound(type, context(message, steps)) }
      return key is ElementKey
        ? .valueNotFound(type, context("the array ends; \(type) is expected", steps))
        : .keyNotFound(key, context(message, path))
    case .null:
      return .valueNotFound(type, context("the value is null; \(type) is expected", steps))
    case .kind(let kind):
      let name = kind.map(TypeMismatch.name) ?? "of another kind"
      return .typeMismatch(type, context("the value is \(name); \(type) is expected", steps))
    case .range:
      return .dataCorrupted(context("the number does not fit \(type)", steps))
    case .form:
      return .dataCorrupted(context("the text is not a valid \(type)", steps))
    case .tooDeep:
      return .dataCorrupted(context("values decode each other without end", steps))
    case .keysLookAlike:
      return .dataCorrupted(
        context("\(type) treats two keys as the same; read it as Value.Object", steps))
    case .damaged:
      return .dataCorrupted(context("the bytes are not a stored value", steps))
    }
  }

  private static func name(of kind: EncodedValue.Kind) -> String {
    switch kind {
    case .null: "null"
    case .bool: "a truth value"
    case .integer: "a whole number"
    case .double: "a number with a fraction"
    case .string: "a text"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
