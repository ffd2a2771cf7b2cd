/// The reason why a stored value is not of the type that was requested.
enum TypeMismatch: Error, Hashable {
  case missing
  case null
  /// A value of another kind.
  case kind(EncodedValue.Kind?)
  /// A number that the type cannot hold.
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
      let message = "there is none, where \(type) is expected"
      guard let key else { return .valueNotFound(type, context(message, steps)) }
      return key is ElementKey
        ? .valueNotFound(type, context("the array ends, where \(type) is expected", steps))
        : .keyNotFound(key, context(message, path))
    case .null:
      return .valueNotFound(type, context("null, where \(type) is expected", steps))
    case .kind(let kind):
      let name = kind.map(TypeMismatch.name) ?? "something else"
      return .typeMismatch(type, context("\(name), where \(type) is expected", steps))
    case .range:
      return .dataCorrupted(context("a number that \(type) cannot hold", steps))
    case .form:
      return .dataCorrupted(context("a text that is no \(type)", steps))
    case .tooDeep:
      return .dataCorrupted(context("values decode each other without end", steps))
    case .keysLookAlike:
      return .dataCorrupted(
        context("keys that \(type) takes for the same; read it as Value.Object", steps))
    case .damaged:
      return .dataCorrupted(context("the bytes are no stored form", steps))
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
