/// Encodes `Encodable` values as documents.
///
/// ```swift
/// struct Film: Codable {
///   @DocumentID var id: String? = nil
///   var title: String
///   var released: Date?
/// }
///
/// let document = try DocumentEncoder().encode(Film(title: "Metropolis"))
/// let film = try DocumentDecoder().decode(Film.self, from: document)
/// ```
///
/// ``WriteTransaction/put(_:id:)-6qtg3`` and ``Snapshot/value(_:id:)`` do the same with stored
/// documents. The value must encode itself as an object: a structure, a class, an enumeration with
/// payloads, or a dictionary with texts as keys. A property marked with ``DocumentID`` is the
/// document's ID, one marked with ``DocumentRevision`` its revision. Names that begin with an
/// underscore are reserved.
///
/// Texts, truth values, whole numbers within `Int64` and `UInt64`, finite floating-point numbers,
/// arrays and nested objects are stored as such. Types beyond JSON have one form: a `Date` is a
/// text in ISO 8601, in UTC, rounded to milliseconds (`2026-03-01T12:00:00.000Z`); `Data` is a text
/// in base64; `Decimal`, `UUID` and `URL` are texts. A ``Value`` is stored as the value that it
/// represents. A `Set`, and a `Dictionary` whose keys are not names, is an array in an order that
/// is the same in every process.
///
/// The documents of a ``DocumentCodable`` type have its document type under `type`.
///
/// The stored form is written while the value encodes itself, without intermediate JSON text or a
/// tree of values.
public struct DocumentEncoder {
  /// Values that types can read from the encoder during encoding.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Creates an encoder.
  public init() {}
}

extension DocumentEncoder: Sendable {}

extension DocumentEncoder {
  /// Encodes a value as a document.
  ///
  /// Takes time linear in the value's size.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - id: The document's ID; if nil, the ID of the property marked with ``DocumentID``.
  /// - Returns: A document that is not stored yet.
  /// - Throws: ``DatabaseError`` with ``DatabaseError/propertyPath`` and the codes `invalidValue`
  ///   (numbers that are not finite or too large, dates outside the years 0 to 9999, reserved
  ///   names, a property that is encoded twice, a value that is not an object), `documentTooLarge`
  ///   or `invalidDocumentID` (`id` is not the value's own ID), and any error that `encode(to:)`
  ///   throws.
  public func encode(_ value: some Encodable, id: String? = nil) throws -> Document {
    let encoded = try encodeProperties(of: value)
    return Document(
      id: try encoded.documentID(id) ?? "", revision: encoded.revision, encoded.properties)
  }

  /// Returns the properties of a value, with its metadata.
  func encodeProperties<T: Encodable>(of value: T) throws -> EncodedProperties {
    let session = EncodingSession(userInfo: userInfo)
    do {
      let part = EncodingPart(session)
      try part.encodeOutermost(value)
      if let failure = session.failure { throw failure }
      let properties = try part.finish()
      guard part.isObject else {
        throw DatabaseError(
          .invalidValue, "\(T.self) does not encode itself as an object",
          hint: "Only structures, classes, enumerations with payloads and dictionaries with texts "
            + "as keys can be documents.")
      }
      let encoded = EncodedProperties(properties: EncodedValue(properties), session)
      guard let documentType = DocumentType.of(value) else { return encoded }
      return try encoded.having(documentType: documentType, of: T.self)
    } catch {
      // An error of a call that cannot throw came first.
      throw DatabaseError.encoding(T.self, session.failure ?? error)
    }
  }
}
