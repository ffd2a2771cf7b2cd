import DivanLog

/// The content of a document that indexes have.
enum IndexedContent {
  /// The document does not exist or is deleted.
  case none
  /// The winning revision.
  case revision(IndexedRevision)
  /// The winning revision cannot be read.
  case unreadable

  var revision: IndexedRevision? {
    if case .revision(let revision) = self { revision } else { nil }
  }
}
