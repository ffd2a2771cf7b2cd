/// A property that was changed in a model and elsewhere, to different values: see
/// ``ModelContext/conflictHandler``.
public struct ModelConflict {
  /// The model that is being saved.
  public let model: Model
  /// The property's name in the document.
  public let key: String
  /// What both were changed from; nil if there was nothing.
  public let base: Value?
  /// What the model has; nil if it has nothing.
  public let mine: Value?
  /// What the document has now; nil if it has nothing.
  public let theirs: Value?

  /// What becomes of the property.
  public enum Resolution: Sendable, Equatable {
    /// It becomes what the model has.
    case mine
    /// It stays what the document has, and the model takes that over.
    case theirs
    /// It becomes this; nil takes it away.
    case value(Value?)
    /// Nothing is saved: ``DatabaseError/Code/conflict``.
    case refuse
  }
}

@available(*, unavailable)
extension ModelConflict: Sendable {}

extension ModelConflict {
  var error: DatabaseError {
    DatabaseError(
      .conflict, "the property \(key.debugDescription) was changed here and elsewhere",
      hint:
        "Refresh the context and save again, revert the model, or set the context's `conflictHandler`",
      documentID: model.id, propertyPath: key)
  }
}

extension Model {
  /// The keys of the properties that were changed and not saved.
  final var changedKeys: [String] {
    modelClass.places.filter { isDirty($0) }.map(\.key)
      + (extras?.undeclared.keys.sorted() ?? [])
  }

  /// Remembers what changed properties were changed from, before the model takes over another document that has
  /// something else for them.
  final func rememberBases(before next: EncodedValue) {
    var bases = extras?.bases ?? [:]
    for key in changedKeys where bases[key] == nil {
      do throws(DatabaseError) {
        let old = try body?.property(key)
        if try next.property(key)?.bytes != old?.bytes { bases[key] = .some(old) }
      } catch {
        // A document that cannot be read is told of when the model is saved.
      }
    }
    guard !bases.isEmpty else { return }
    var extras = extras ?? ModelExtras()
    extras.bases = bases
    self.extras = extras
  }

  /// Lets what was changed here win over all that was taken over by now.
  final func settleConflicts() { extras?.bases = [:] }
}

extension ModelCoder {
  /// Finds the properties that were changed here and elsewhere, and what becomes of them.
  ///
  /// - Returns: what is to be stored other than what the model has, by the properties' keys.
  /// - Throws: ``DatabaseError/Code/conflict`` for the first that nobody resolves.
  static func resolveConflicts(
    of model: Model, base: EncodedValue, current: EncodedValue, result: EncodedValue
  ) throws -> ByteKeyed<Value?> {
    var resolved: ByteKeyed<Value?> = [:]
    for key in model.changedKeys {
      let theirs = try current.property(key)
      let mine = try result.property(key)
      let before: EncodedValue?
      if let remembered = model.extras?.bases[key] {
        before = remembered
      } else {
        before = try base.property(key)
      }
      if theirs?.bytes == before?.bytes || theirs?.bytes == mine?.bytes { continue }
      let conflict = ModelConflict(
        model: model, key: key, base: try before?.decode(), mine: try mine?.decode(),
        theirs: try theirs?.decode())
      switch model.core?.handle?.conflictHandler?(conflict) ?? .refuse {
      case .mine: continue
      case .theirs: resolved[key] = .some(conflict.theirs)
      case .value(let value): resolved[key] = .some(value)
      case .refuse: throw conflict.error
      }
    }
    return resolved
  }
}
