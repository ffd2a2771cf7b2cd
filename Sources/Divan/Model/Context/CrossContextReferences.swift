// References to models of another context, which may belong to another database.

/// The context of the models of a class, if it is not the one that refers to them.
struct CrossContextReference {
  /// The class.
  let type: Model.Type
  /// Whether a class is this one or a subclass of it.
  let includes: (Model.Type) -> Bool
  weak var context: ModelContext?
}
