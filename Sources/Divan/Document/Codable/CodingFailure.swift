/// A step of a coding path into an array.
struct ElementKey: CodingKey {
  var index: Int

  init(_ index: Int) { self.index = index }
  init?(intValue: Int) { self.init(intValue) }
  init?(stringValue: String) { nil }

  var intValue: Int? { index }
  var stringValue: String { "Index \(index)" }
}

/// A coding key with any name.
struct PropertyKey: CodingKey {
  var stringValue: String

  init(_ name: String) { stringValue = name }
  init(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }

  var intValue: Int? { nil }
}

/// The key that `superEncoder()` and `superDecoder()` use.
struct SuperKey: CodingKey {
  static let name = "super"

  init() {}
  init?(intValue: Int) { nil }
  init?(stringValue: String) { if stringValue != SuperKey.name { return nil } }

  var intValue: Int? { nil }
  var stringValue: String { SuperKey.name }
}

extension PropertyPath {
  /// Returns the text form of a coding path.
  static func text(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
      if let element = key as? ElementKey {
        append(index: element.index, to: &text)
      } else {
        append(key: key.stringValue, to: &text)
      }
    }
    return text
  }
}

extension DatabaseError {
  /// Returns the error that callers get when a type fails to encode.
  ///
  /// Errors that are neither Divan's nor Swift's own are returned unchanged.
  static func encoding(_ type: Any.Type, _ error: any Error) -> any Error {
    guard let error = error as? EncodingError, case .invalidValue(_, let context) = error else {
      return error
    }
    let path = PropertyPath.text(context.codingPath)
    var result: DatabaseError
    if let own = context.underlyingError as? DatabaseError {
      result = DatabaseError(
        own.code, "\(type) cannot be stored\(PropertyPath.phrase(path)): \(own.message)",
        hint: own.hint)
    } else {
      result = DatabaseError(
        .invalidValue, "\(type) cannot be stored\(PropertyPath.phrase(path))", underlying: error)
    }
    result.propertyPath = path.isEmpty ? nil : path
    return result
  }

  /// Returns the error that callers get when a type fails to decode.
  ///
  /// Errors that are neither Divan's nor Swift's own are returned unchanged.
  static func decoding(_ type: Any.Type, _ error: any Error, documentID: String) -> any Error {
    guard let error = error as? DecodingError else { return error }
    let context: DecodingError.Context
    var steps: [any CodingKey]
    switch error {
    case .keyNotFound(let key, let found):
      context = found
      steps = found.codingPath + [key]
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
      context = found
      steps = found.codingPath
    @unknown default:
      context = DecodingError.Context(codingPath: [], debugDescription: "")
      steps = []
    }
    let path = PropertyPath.text(steps)
    var result = DatabaseError(
      .mismatchedType, "the document does not fit \(type)\(PropertyPath.phrase(path))",
      documentID: documentID.isEmpty ? nil : documentID, underlying: error)
    result.propertyPath = path.isEmpty ? nil : path
    switch context.underlyingError {
    case let typeMismatch as TypeMismatch:
      if typeMismatch == .damaged { return damaged(result) }
      result = DatabaseError(
        result.code, "\(result.message): \(context.debugDescription)",
        documentID: result.documentID, underlying: error, propertyPath: result.propertyPath)
    case let own as DatabaseError:
      result = DatabaseError(
        own.code, "\(result.message): \(own.message)", documentID: result.documentID,
        propertyPath: result.propertyPath)
    default: break
    }
    return result
  }

  private static func damaged(_ error: DatabaseError) -> DatabaseError {
    var damage = EncodedValue.damage(at: nil)
    damage.documentID = error.documentID
    damage.propertyPath = error.propertyPath
    return damage
  }
}
