import DivanLog

/// One result of a live query.
///
/// It never changes: a document that does gets another one.
final class LiveRow: Sendable {
  /// The bytes by which it is sorted, the document's ID included, so that no two rows have the same.
  let key: [UInt8]
  let id: String
  /// The document's winning revision.
  let revision: RevisionID
  /// What is shown of the document, if it is among what is shown and its ID is not enough.
  let content: (any AnyObject & Sendable)?

  init(_ key: [UInt8], _ id: String, _ revision: RevisionID, _ content: (any AnyObject & Sendable)?)
  {
    self.key = key
    self.id = id
    self.revision = revision
    self.content = content
  }

  /// The same with other content.
  func with(_ content: (any AnyObject & Sendable)?) -> LiveRow {
    LiveRow(key, id, revision, content)
  }

  /// Below, at or above zero, as a key comes before, is, or comes after another.
  static func order(_ a: [UInt8], _ b: [UInt8]) -> Int { compare(a.span, b.span) }
}

/// What is shown of a document.
final class LiveContent<Content: Sendable>: Sendable {
  let content: Content

  init(_ content: Content) { self.content = content }
}
