/// A model's pending changes of undeclared properties and of attachments, which few models have.
///
/// Invariant: `undeclared` and `attachments` contain only differences from the document. `bases` is
/// used only for properties that are still changed.
struct PendingChanges {
  /// Undeclared properties as they were set, by key; nil to remove one.
  var undeclared: ByteKeyed<Value?> = [:]
  /// The base values of changed properties, by key; nil if there was no value.
  ///
  /// They are recorded when the model takes over another version of the document.
  var bases: ByteKeyed<EncodedValue?> = [:]
  /// Attachments as they were set, by name; nil to remove one.
  var attachments: ByteKeyed<Document.Attachment?> = [:]
  /// The attachments with which a new model was created.
  var givenAttachments: Document.Attachments = [:]
  /// The document's attachments when they were first read; nil before that.
  var originalAttachments: Document.Attachments?

  var isChanged: Bool { !undeclared.isEmpty || !attachments.isEmpty }
}
