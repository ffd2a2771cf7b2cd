/// What storing a document does if it was changed since it was read.
///
/// ```swift
/// try database.write { try $0.put(note, onConflict: .branch) }
/// let branches = try database.snapshot().branches(of: "note")
/// ```
///
/// The same applies to a document that was not read, if there is already one with its ID.
public enum ConflictPolicy: Sendable, Hashable {
  /// It throws ``DatabaseError/Code/conflict``, and nothing is stored.
  case fail
  /// The document becomes the next revision, whatever the current one is.
  ///
  /// All properties are those of the document, and so are the attachments of a document that was
  /// read. A document that was not read keeps the attachments that the current revision has under
  /// other names.
  case overwrite
  /// The document becomes a branch beside the current revision, until the conflict is resolved: see
  /// ``Snapshot/branches(of:)``.
  ///
  /// The revision that it was changed from must be known. A document that was not read fails.
  case branch
}
