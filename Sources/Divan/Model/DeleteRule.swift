/// What becomes of the other end of a reference when a model is deleted.
///
/// It is declared where models are found: at ``Inverse`` for those that refer to the deleted one, and at
/// ``Persisted`` for those that the deleted one refers to. ``Model/delete()`` follows it, in one transaction;
/// who deletes a document without its model decides by themselves.
///
/// Models that refer to the deleted one count if they do in the context or if their documents do; those that it refers to
/// itself, if it does in the context.
public enum DeleteRule: Sendable, Hashable {
  /// Nothing: a reference to a document that is gone reads as nil, or is left out of an array.
  case none
  /// References to the deleted model are taken out of the documents that have them.
  case nullify
  /// The models at the other end are deleted, too, each by its own rules.
  case cascade
  /// The model is not deleted while there is any at the other end that is not deleted with it:
  /// ``DatabaseError/Code/stillReferenced``.
  case deny
}

extension DeleteRule {
  /// What a wrapper says of it; where nothing else is declared, nothing is to be done for references that go with
  /// their document.
  @usableFromInline var _flags: UInt16 {
    switch self {
    case .none, .nullify: 0
    case .cascade: PropertyFlags.cascading
    case .deny: PropertyFlags.denying
    }
  }
}

extension DatabaseError.Code {
  /// A ``DeleteRule/deny`` keeps a model from being deleted.
  public static let stillReferenced = Self("stillReferenced")
}
