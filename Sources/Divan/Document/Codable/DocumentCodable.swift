import DivanLog

/// A `Codable` type whose documents are stored with its name, so that queries find them.
///
/// ```swift
/// struct Recipe: DocumentCodable {
///   @DocumentID var id: String? = nil
///   var name: String
///   var minutes: Int
/// }
///
/// try database.write { try $0.put(Recipe(name: "Soup", minutes: 20)) }
/// let quick = try database.snapshot().find(Query<Recipe>().filter { $0.minutes < 30 })
/// ```
///
/// Every call that encodes a value as a document stores the ``documentType`` under `type`, as
/// models do, and a ``Query`` reads only documents that have it. The type itself has no such
/// property. A type that is only `Codable` is put and read by ID, and its documents do not record
/// the type.
///
/// A type whose own coding has a key `type` must encode the document type under it: any other value
/// would be lost, or be mistaken for the type. Otherwise encoding a value throws
/// ``DatabaseError/Code/invalidValue``.
///
/// An index answers such a query without reading documents of other types if it has the type for a
/// condition: `DocumentIndex("quick", on: "minutes") { $0["type"] == "Recipe" }`.
///
/// Documents that were put before a type conformed, and documents of other programs, are found once
/// they have the type: put them again, or set `type` in a ``Migration``.
public protocol DocumentCodable: Codable, SendableMetatype {
  /// The value of `type` in documents of this type; by default, the type's name.
  ///
  /// Declare it if the type may be renamed:
  ///
  /// ```swift
  /// static let documentType = "recipe"
  /// ```
  static var documentType: String { get }
}

extension DocumentCodable {
  /// The type's name, without the names of enclosing types and the module.
  public static var documentType: String { String(describing: Self.self) }
}

extension DocumentType {
  /// Returns the document type of a value; nil if its type has none.
  static func of(_ value: some Any) -> String? {
    (type(of: value) as? any DocumentCodable.Type)?.documentType
  }
}

/// The property that stores a document's type.
enum DocumentType {
  static let key = "type"
}

extension EncodedProperties {
  /// Returns the properties with the document type added.
  ///
  /// - Throws: `invalidValue` if the value has another property with this name.
  func having(documentType: String, of type: Any.Type) throws(DatabaseError) -> EncodedProperties {
    if isKnown(DocumentType.key) {
      if let own = try properties.string(DocumentType.key), haveSameUTF8(own, documentType) {
        return self
      }
      throw DatabaseError(
        .invalidValue,
        "\(type) encodes another value as \"type\" than its document type "
          + documentType.debugDescription,
        hint: "Give the property another coding key, or encode the document type under it",
        propertyPath: DocumentType.key)
    }
    return try adding(DocumentType.key, .string(documentType))
  }
}
