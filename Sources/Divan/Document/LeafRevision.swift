/// A revision that nothing was made from, by its ID.
public struct LeafRevision: Sendable, Hashable, Identifiable {
  /// The revision's ID.
  public let id: RevisionID
  /// Whether it says that the document is deleted.
  public let isDeleted: Bool

  /// Makes what another store says of a leaf.
  public init(id: RevisionID, isDeleted: Bool) {
    self.id = id
    self.isDeleted = isDeleted
  }
}
