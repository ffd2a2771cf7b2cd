/// Makes `Decodable` values of documents; see ``DocumentEncoder``.
///
/// A property is found in the stored form and decoded when the type asks for it; what it does not ask
/// for costs next to nothing. Numbers are read across their kinds: `2` as a `Double`, `2.0` as an `Int`, as long
/// as nothing of a whole number is lost. A floating-point property gets the number nearest to what is stored, so
/// that whole numbers beyond 2⁵³ may be rounded in a `Double`, as any Swift literal is.
public struct DocumentDecoder: Sendable {
  /// What types can ask of the decoder while they are decoded.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// Makes a decoder.
  public init() {}
}

extension DocumentDecoder {
  /// The value of a type that a document is.
  ///
  /// - Parameters:
  ///   - type: what it is to be.
  ///   - document: where it is read from.
  /// - Returns: the value, its marked properties set.
  /// - Throws: ``DatabaseError`` with the code `mismatchedType` and ``DatabaseError/propertyPath`` if the
  ///   document does not fit the type; the `DecodingError` is ``DatabaseError/underlying``. The code
  ///   `damaged` if its bytes are no stored form, and whatever else `init(from:)` throws.
  public func decode<T: Decodable>(_ type: T.Type, from document: Document) throws -> T {
    let id = document.id
    let session = DecodingSession(
      userInfo: userInfo, id: id.isEmpty ? nil : id, revision: document.revision)
    let part = DecodingPart(session, try document.encoded().bytes)
    do {
      guard let place = part.whole(holdsMarks: true) else {
        throw part.fail(.damaged, type, 0)
      }
      return try part.decode(type, at: place)
    } catch {
      throw DatabaseError.decoding(type, error, documentID: id)
    }
  }
}

extension Document {
  /// The document that a value is, which is not stored yet; see ``DocumentEncoder``.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - id: the document's ID; if nil, that of the property marked with ``DocumentID``.
  /// - Throws: as ``DocumentEncoder/encode(_:id:)``.
  public init(encoding value: some Encodable, id: String? = nil) throws {
    self = try DocumentEncoder().encode(value, id: id)
  }

  /// The value of a type that this document is; see ``DocumentDecoder``.
  ///
  /// - Throws: as ``DocumentDecoder/decode(_:from:)``.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try DocumentDecoder().decode(type, from: self)
  }

  /// Writes a value over this document: the properties that its type knows are as the value has them,
  /// and those that it does not know stay.
  ///
  /// A type knows the properties that its coding keys can name, also those that it left out because they
  /// were nil, which are removed. A dictionary knows every property. Properties within others
  /// are not kept: a property is replaced as a whole.
  ///
  /// - Throws: as ``DocumentEncoder/encode(_:id:)``; `invalidDocumentID` if the value has another ID.
  public mutating func encode(_ value: some Encodable) throws {
    let encoded = try DocumentEncoder().encodeProperties(of: value)
    if !id.isEmpty { _ = try encoded.documentID(id) }
    replaceProperties(with: try encoded.over(try self.encoded()))
  }
}
