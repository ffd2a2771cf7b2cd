/// A property with an unsaved and an external change to different values.
///
/// ```swift
/// context.conflictHandler = { conflict in
///   conflict.key == "text" ? .mine : .theirs
/// }
/// ```
///
/// See ``ModelContext/conflictHandler``.
public struct ModelConflict {
  /// The model that is being saved.
  public let model: Model
  /// The property's key in the document.
  public let key: String
  /// The value before both changes; nil if there was none.
  public let base: Value?
  /// The value in the model; nil if there is none.
  public let mine: Value?
  /// The value in the document now; nil if there is none.
  public let theirs: Value?

  /// How to resolve the conflict.
  ///
  /// A handler for a counter can keep what both sides have added:
  ///
  /// ```swift
  /// let added = (conflict.mine?.intValue ?? 0) - (conflict.base?.intValue ?? 0)
  /// return .value(Value((conflict.theirs?.intValue ?? 0) + added))
  /// ```
  public enum Resolution: Sendable, Equatable {
    /// Store the model's value.
    case mine
    /// Keep the document's value, which the model takes over.
    case theirs
    /// Store this value; nil removes the property.
    case value(Value?)
    /// Save nothing, and throw ``DatabaseError/Code/conflict``.
    case reject
  }
}

@available(*, unavailable)
extension ModelConflict: Sendable {}

extension ModelConflict {
  var error: DatabaseError {
    DatabaseError(
      .conflict, "the property \(key.debugDescription) has both an unsaved and an external change",
      hint:
        "To keep the unsaved value, refresh the context and save again; to keep the external one, "
        + "revert the model; to decide by code, set the context's `conflictHandler`",
      documentID: model.id, propertyPath: key)
  }
}

extension ModelCoder {
  /// Finds the properties with conflicting external changes, and resolves them.
  ///
  /// - Returns: the values to store in place of the model's, by the properties' keys.
  /// - Throws: ``DatabaseError/Code/conflict`` for the first property that the handler does not
  ///   resolve.
  static func resolveConflicts(
    of model: Model, base: EncodedValue, current: EncodedValue, result: EncodedValue
  ) throws -> ByteKeyed<Value?> {
    var resolved: ByteKeyed<Value?> = [:]
    for key in model.changedKeys {
      let theirs = try current.property(key)
      let mine = try result.property(key)
      let before: EncodedValue?
      if let recorded = model.pendingChanges?.bases[key] {
        before = recorded
      } else {
        before = try base.property(key)
      }
      if theirs?.bytes == before?.bytes || theirs?.bytes == mine?.bytes { continue }
      let conflict = ModelConflict(
        model: model, key: key, base: try before?.decode(), mine: try mine?.decode(),
        theirs: try theirs?.decode())
      switch model.core?.handle?.conflictHandler?(conflict) ?? .reject {
      case .mine: continue
      case .theirs: resolved[key] = .some(conflict.theirs)
      case .value(let value): resolved[key] = .some(value)
      case .reject: throw conflict.error
      }
    }
    return resolved
  }
}
