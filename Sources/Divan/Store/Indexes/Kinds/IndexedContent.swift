import DivanLog

/// The content of a document that indexes have.
enum IndexedContent {
  /// The document does not exist or is deleted.
  case none
  /// The properties of its winning revision.
  case properties(EncodedValue)
  /// The properties cannot be read.
  case unreadable

  var properties: EncodedValue? {
    if case .properties(let properties) = self { properties } else { nil }
  }
}
