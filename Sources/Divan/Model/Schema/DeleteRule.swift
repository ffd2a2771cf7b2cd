/// What happens to the other end of a reference when a model is deleted.
///
/// ```swift
/// final class TodoList: Model {
///   @Persisted var name: String
///   @Inverse(\Todo.list, onDelete: .cascade) var todos: [Todo]
/// }
/// ```
///
/// Declare it with ``Inverse`` for models that refer to the deleted one, and with ``Persisted`` for
/// models that the deleted one refers to. ``Model/delete()`` applies it in one transaction.
/// Deleting a document without its model applies no rules.
///
/// A model that refers to the deleted one counts if it does so in the context or in its stored
/// document. A model that the deleted one refers to counts if the reference is in the context.
public enum DeleteRule: Sendable, Hashable {
  /// Nothing happens: a reference to a deleted document reads as nil, and arrays leave it out.
  case noAction
  /// References to the deleted model are removed from the documents that contain them.
  ///
  /// Declared with ``Persisted`` it is the same as ``noAction``: the references are in the deleted
  /// document.
  case nullify
  /// The models at the other end are deleted too, each by its own rules.
  case cascade
  /// The model cannot be deleted while the other end has a model that is not deleted with it.
  ///
  /// Deleting it then throws ``DatabaseError/Code/deleteDenied``.
  case deny
}

extension DeleteRule {
  /// The flags of a wrapper with this rule.
  ///
  /// `nullify` needs none: the references are removed together with the document.
  @usableFromInline var _flags: PropertyFlags.Bits {
    switch self {
    case .noAction, .nullify: 0
    case .cascade: PropertyFlags.cascading
    case .deny: PropertyFlags.denying
    }
  }

  /// Creates the rule of a wrapper with these flags.
  init(flags: PropertyFlags.Bits) {
    self =
      if flags & PropertyFlags.denying != 0 {
        .deny
      } else if flags & PropertyFlags.cascading != 0 {
        .cascade
      } else {
        .noAction
      }
  }

  /// Whether it does something, declared with ``Inverse``, about models that refer to the deleted
  /// one.
  var concernsSources: Bool {
    switch self {
    case .noAction: false
    case .nullify, .cascade, .deny: true
    }
  }

  /// Whether it does something, declared with ``Persisted``, about models that the deleted one
  /// refers to.
  var concernsTargets: Bool {
    switch self {
    case .noAction, .nullify: false
    case .cascade, .deny: true
    }
  }

  /// Whether references to the deleted model are removed from the documents that contain them.
  var removesReferences: Bool {
    switch self {
    case .nullify: true
    case .noAction, .cascade, .deny: false
    }
  }
}
