/// The ID of a revision without successors.
///
/// ```swift
/// let leaves = try database.snapshot().leafRevisions(of: "note")
/// let hasConflict = leaves.count { !$0.isDeleted } > 1
/// ```
public struct LeafRevision: Sendable, Hashable, Identifiable {
  /// The revision's ID.
  public let id: RevisionID
  /// A Boolean value that indicates whether the document is deleted in this revision.
  public let isDeleted: Bool

  /// Creates a leaf revision from the data of another store.
  public init(id: RevisionID, isDeleted: Bool) {
    self.id = id
    self.isDeleted = isDeleted
  }
}
