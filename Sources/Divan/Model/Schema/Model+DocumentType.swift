import DivanLog

extension Model {
  /// Throws if documents of the class cannot be told from those of other classes.
  static func requireDocumentType() throws(DatabaseError) {
    guard documentType == nil else { return }
    throw DatabaseError(
      .invalidModelClass,
      "nothing was deleted: \(self) has no document type, so the query concerns every document",
      hint:
        "Give the class a document type, or delete with `includingOtherClasses: true` what the query matches"
    )
  }

  /// The types of documents of the class, the present one first; empty if they store none.
  ///
  /// A subclass with a type of its own inherits the declaration of earlier types, but not the
  /// documents of its superclass.
  static var allDocumentTypes: [String] {
    guard let documentType else { return [] }
    let inherited =
      superclasses
      .filter { $0.documentType.map { !haveSameUTF8($0, documentType) } ?? false }
      .flatMap(\.earlierDocumentTypes)
    return [documentType]
      + earlierDocumentTypes.filter { name in
        !haveSameUTF8(name, documentType) && !inherited.contains { haveSameUTF8($0, name) }
      }
  }
}
