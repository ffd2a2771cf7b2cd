/// A type of your own that says itself how it is stored, as a ``Value``.
///
/// ```swift
/// struct Color: ValueConvertible {
///   var red, green, blue: UInt8
///
///   init(storedValue: Value) throws { … }
///   var storedValue: Value { get throws { .string("#…") } }
/// }
/// ```
///
/// It may then be the type of ``Persisted`` properties, in arrays, optionals and dictionaries too, and stand
/// wherever something is `Codable`: by these two requirements it encodes and decodes itself.
public protocol ValueConvertible: Codable {
  /// Makes the value of what is stored.
  ///
  /// - Throws: anything, if that is no value of this type.
  init(storedValue: Value) throws
  /// What is stored for the value.
  var storedValue: Value { get throws }
}

extension ValueConvertible {
  /// Reads what is stored.
  public init(from decoder: any Decoder) throws {
    try self.init(storedValue: try Value(from: decoder))
  }

  /// Writes what is to be stored.
  public func encode(to encoder: any Encoder) throws { try storedValue.encode(to: encoder) }
}
