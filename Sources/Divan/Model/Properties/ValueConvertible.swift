/// A type that defines its own stored form, as a ``Value``.
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
/// Use it as the type of ``Persisted`` properties, also in arrays, optionals and dictionaries, and
/// wherever a `Codable` type is expected. The two requirements provide its `Codable` conformance.
public protocol ValueConvertible: Codable {
  /// Creates a value from its stored form.
  ///
  /// - Throws: any error, if the stored form is not a value of this type.
  init(storedValue: Value) throws
  /// The stored form of the value.
  var storedValue: Value { get throws }
}

extension ValueConvertible {
  /// Decodes the stored form.
  public init(from decoder: any Decoder) throws {
    try self.init(storedValue: try Value(from: decoder))
  }

  /// Encodes the stored form.
  public func encode(to encoder: any Encoder) throws { try storedValue.encode(to: encoder) }
}
