import DivanLog

/// A `Codable` type whose documents say that they are of it, so that queries find them among others.
///
/// ```swift
/// struct Recipe: DocumentCodable {
///   @DocumentID var id: String?
///   var name: String
///   var minutes: Int
/// }
///
/// try database.write { try $0.put(Recipe(name: "Soup", minutes: 20)) }
/// let quick = try database.snapshot().find(Query<Recipe>().filter { $0.minutes < 30 })
/// ```
///
/// Whatever makes a document of a value stores the ``documentType`` under `type`, as models do, and a ``Query`` asks only
/// documents that have it. The type itself has no such property. A type that is only `Codable` is put and read by ID,
/// and its documents say nothing of it.
///
/// A type whose own coding has a key `type` must encode the document type under it: anything else would be lost, or be taken
/// for the type. Otherwise encoding a value throws ``DatabaseError/Code/invalidValue``.
///
/// An index answers such a query without reading documents that are not meant if it has the type for a condition:
/// `DocumentIndex("quick", on: "minutes", where: [.equal("type", "Recipe")])`.
///
/// Documents that were put before a type conformed, and those that other programs put, are found once they have the type: put
/// them again, or set `type` in a ``Migration``.
public protocol DocumentCodable: Codable {
  /// What documents of this type have under `type`; the type's name, unless it is declared.
  ///
  /// Declare it if the type may be renamed:
  ///
  /// ```swift
  /// static let documentType = "recipe"
  /// ```
  static var documentType: String { get }
}

extension DocumentCodable {
  /// The type's name, without those of the types and the module around it.
  public static var documentType: String { String(describing: Self.self) }
}

extension DocumentType {
  /// What a value is stored as, if its type says so.
  static func of(_ value: some Any) -> String? {
    (type(of: value) as? any DocumentCodable.Type)?.documentType
  }
}

/// Where documents have their type.
enum DocumentType {
  static let key = "type"
}

extension EncodedProperties {
  /// The properties with the type of the document among them.
  ///
  /// - Throws: `invalidValue` if the value has another property in its place.
  func having(documentType: String, of type: Any.Type) throws(DatabaseError) -> EncodedProperties {
    if isKnown(DocumentType.key) {
      if let own = try properties.string(DocumentType.key), haveSameUTF8(own, documentType) {
        return self
      }
      throw DatabaseError(
        .invalidValue,
        "\(type) codes a property as \"type\", which is not its document type "
          + documentType.debugDescription,
        hint: "Give the property another coding key, or encode the document type under it",
        propertyPath: DocumentType.key)
    }
    return try adding(DocumentType.key, .string(documentType))
  }
}
