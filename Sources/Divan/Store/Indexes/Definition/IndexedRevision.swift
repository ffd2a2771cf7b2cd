import DivanLog

/// What indexes have of a revision.
struct IndexedRevision: Sendable {
  let properties: EncodedValue
  /// The attachments with text; none unless an index includes attachments.
  var attachments = AttachedTexts.none

  init(_ properties: EncodedValue, _ attachments: AttachedTexts = .none) {
    self.properties = properties
    self.attachments = attachments
  }
}
