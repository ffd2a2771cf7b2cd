extension Model {
  /// The types of documents of the class, the present one first; empty if they store none.
  static var allDocumentTypes: [String] {
    documentType.map { [$0] + earlierDocumentTypes } ?? []
  }
}
