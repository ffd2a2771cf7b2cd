import DivanLog

/// One result of a live query.
///
/// It never changes: a document that changes gets another row.
final class LiveRow: Sendable {
  /// The bytes by which it is sorted, which include the document's ID and are therefore unique.
  let key: [UInt8]
  let id: String
  /// The document's winning revision.
  let revision: RevisionID
  /// The content of the document, if the row is shown and its ID is not enough.
  let content: (any AnyObject & Sendable)?

  init(_ key: [UInt8], _ id: String, _ revision: RevisionID, _ content: (any AnyObject & Sendable)?)
  {
    self.key = key
    self.id = id
    self.revision = revision
    self.content = content
  }

  /// Returns the row with other content.
  func with(_ content: (any AnyObject & Sendable)?) -> LiveRow {
    LiveRow(key, id, revision, content)
  }

  /// Returns the key of the result that has a rank, counted from 0.
  static func key(ofRank rank: Int, _ id: SharedBytes) -> [UInt8] {
    var key: [UInt8] = []
    for shift in stride(from: 56, through: 0, by: -8) {
      key.append(UInt8(truncatingIfNeeded: rank >> shift))
    }
    return key + id.array
  }

  /// Compares two keys: returns less than zero, zero, or more, as the first precedes the second.
  static func order(_ a: [UInt8], _ b: [UInt8]) -> Int { compare(a.span, b.span) }
}

/// The content that is shown of a document.
final class LiveContent<Content: Sendable>: Sendable {
  let content: Content

  init(_ content: Content) { self.content = content }
}
