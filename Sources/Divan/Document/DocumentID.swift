import DivanLog

/// Marks the property of a `Codable` type that is the document's ID.
///
/// ```swift
/// struct Film: Codable {
///   @DocumentID var id: String? = nil
///   var title: String
/// }
/// ```
///
/// The property is not stored among the others: it is the ID under which the document is stored,
/// and is set when one is read. It is nil until then; storing a value without an ID gives it a new
/// one (see ``WriteTransaction/put(_:id:)-6qtg3``). In other formats, and deeper inside a document,
/// it is a text like others.
///
/// With `= nil`, the memberwise initializer of a structure takes the ID as a text. Without, it
/// takes a `DocumentID`.
///
/// IDs are texts that are not empty, take at most ``DocumentLimits/documentIDSizeInBytes`` bytes of
/// UTF-8 and do not begin with an underscore. The exception is `_design/` and a name, which
/// documents from CouchDB may have; such a document is handled like any other. IDs are compared and
/// ordered by their bytes.
@propertyWrapper
public struct DocumentID: Sendable {
  private var property: MetadataProperty<String>

  /// The document's ID; nil if it has none yet.
  public var wrappedValue: String? {
    get { property.value }
    set { property = MetadataProperty(newValue) }
  }

  /// Creates the ID of a document; nil for a document that has none yet.
  public init(wrappedValue: String? = nil) { property = MetadataProperty(wrappedValue) }

  /// Sets the ID of the object that has this property, or removes it again.
  func assign(_ id: String?) { property.assign(id) }
}

extension DocumentID {
  /// Checks that `id` is valid as the ID of a document.
  ///
  /// - Throws: ``DatabaseError/Code/invalidDocumentID`` with the reason.
  public static func validate(_ id: String) throws(DatabaseError) {
    let size = id.utf8.count
    guard size > 0 else { throw DatabaseError(.invalidDocumentID, "The document ID is empty") }
    guard size <= DocumentLimits.documentIDSizeInBytes else {
      throw DatabaseError(
        .invalidDocumentID,
        "The document ID has \(size) bytes; at most \(DocumentLimits.documentIDSizeInBytes) are allowed"
      )
    }
    guard id.utf8.first != 0x5F || isOfDesign(id) else {
      throw DatabaseError(
        .invalidDocumentID, "The document ID begins with an underscore", documentID: id)
    }
  }
}

extension DocumentID {
  /// Whether an ID is that of a CouchDB design document.
  private static func isOfDesign(_ id: String) -> Bool {
    let prefix = "_design/"
    return id.utf8.count > prefix.utf8.count && id.utf8.starts(with: prefix.utf8)
  }
}

/// The rules for the names of properties.
package enum PropertyNames {
  /// Checks that no top-level property begins with an underscore: those names are reserved.
  ///
  /// - Throws: ``DatabaseError/Code/invalidValue`` with the name of the property.
  package static func validate(_ properties: Value.Object) throws(DatabaseError) {
    for key in properties.keys where key.utf8.first == 0x5F { throw reserved(key) }
  }

  /// Checks the properties of an object in its stored form.
  package static func validate(_ properties: EncodedValue) throws(DatabaseError) {
    // Keys are sorted, so those that begin with an underscore are adjacent. Reading the keys in
    // order finds the first of them.
    let reservedKey = properties.bytes.withSpan { bytes -> String? in
      guard let object = ValueFormat.container(bytes, at: 0, end: bytes.count), object.isObject
      else { return nil }
      var position = object.start
      while position < object.end {
        guard let (size, start) = ValueFormat.varint(bytes, at: position, end: object.end),
          size <= object.end - start,
          let end = ValueFormat.skip(bytes, at: start + size, end: object.end)
        else { return nil }
        if size > 0, bytes[start] == 0x5F {
          return String(utf8: bytes.extracting(start..<start + size))
        }
        if size > 0, bytes[start] > 0x5F { return nil }
        position = end
      }
      return nil
    }
    if let reservedKey { throw reserved(reservedKey) }
  }

  static func reserved(_ key: String) -> DatabaseError {
    DatabaseError(
      .invalidValue,
      "The property \(key.excerpt.debugDescription) begins with an underscore, which is reserved",
      hint: "Only names at the top of a document are reserved; inside it they are free.")
  }
}
