/// Decodes `Decodable` values from documents; see ``DocumentEncoder``.
///
/// ```swift
/// let document = Document(id: "film:1", ["title": "Metropolis", "year": 1927])
/// let film = try DocumentDecoder().decode(Film.self, from: document)
/// ```
///
/// A property is found in the stored form and decoded when the type requests it; properties that it
/// does not request cost next to nothing. Numbers convert between kinds: `2` to a `Double`, `2.0`
/// to an `Int`, provided that a whole number loses nothing. A floating-point property gets the
/// number nearest to the stored one, so whole numbers beyond 2⁵³ may be rounded in a `Double`, like
/// any Swift literal.
public struct DocumentDecoder: Sendable {
  /// Values that types can read from the decoder during decoding.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Creates a decoder.
  public init() {}
}

extension DocumentDecoder {
  /// Decodes a value from a document.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - document: The document to decode.
  /// - Returns: The value, with its metadata properties set.
  /// - Throws: ``DatabaseError`` with the code `mismatchedType` and ``DatabaseError/propertyPath``
  ///   if the document does not fit the type; the `DecodingError` is ``DatabaseError/underlying``.
  ///   The code `damaged` if the bytes are not a valid stored form. Any other error that
  ///   `init(from:)` throws.
  public func decode<T: Decodable>(_ type: T.Type, from document: Document) throws -> T {
    let id = document.id
    let session = DecodingSession(
      userInfo: userInfo, id: id.isEmpty ? nil : id, revision: document.revision)
    return try DecodingPart(session, try document.encoded().bytes)
      .decodeWhole(type, hasMetadata: true, documentID: id)
  }
}

extension Document {
  /// Creates a document from a value, not stored yet; see ``DocumentEncoder``.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - id: The document's ID; if nil, the ID of the property marked with ``DocumentID``.
  /// - Throws: The same errors as ``DocumentEncoder/encode(_:id:)``.
  public init(encoding value: some Encodable, id: String? = nil) throws {
    self = try DocumentEncoder().encode(value, id: id)
  }

  /// Decodes a value from this document; see ``DocumentDecoder``.
  ///
  /// - Throws: The same errors as ``DocumentDecoder/decode(_:from:)``.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try DocumentDecoder().decode(type, from: self)
  }

  /// Replaces the properties that a value's type knows, and keeps all others.
  ///
  /// A type knows the properties that its coding keys can name, also those that it left out because
  /// they were nil, which are removed. A dictionary knows every property. Nested properties are not
  /// kept: a property is replaced as a whole.
  ///
  /// - Throws: The same errors as ``DocumentEncoder/encode(_:id:)``; `invalidDocumentID` if the
  ///   value has another ID.
  public mutating func encode(_ value: some Encodable) throws {
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    if !id.isEmpty { _ = try encoded.documentID(id) }
    replaceProperties(with: try encoded.over(try self.encoded()))
  }
}
