import DivanLog

/// The state that a model takes on once the transaction that saves it is committed.
struct SavedModel {
  let model: Model
  let properties: EncodedValue
  let attachments: Document.Attachments
  /// Whether there were external changes, after which properties must be read again.
  let isMerged: Bool
  /// The keys of the properties for which conflict resolution chose another value.
  let resolved: [String]
  /// The properties with the model's values for `resolved`; nil if that is empty.
  let mine: EncodedValue?
  /// The pending changes that are part of the document.
  private let pendingChanges: PendingChanges?

  /// Records the document that a model is about to be saved as.
  init(
    _ model: Model, as document: Document, _ properties: EncodedValue, isMerged: Bool,
    resolved: [String] = [], mine: EncodedValue? = nil
  ) {
    self.model = model
    self.properties = properties
    self.isMerged = isMerged
    self.resolved = resolved
    self.mine = mine
    attachments = document.attachments
    pendingChanges = model.pendingChanges
  }
}

// Changes that are made while the model is being saved by another thread.

extension SavedModel {
  /// Begins to note changes of the model, which the transaction will not contain.
  func beginSaving() {
    model.isBeingSaved = true
    model.hookDirtyProperties()
  }

  func endSaving() {
    model.isBeingSaved = false
    // Also those that were changed during the save.
    if model.hasFailedToSave { return model.hookDirtyProperties() }
    for location in model.modelClass.locations {
      model.setFlags(model.flags(at: location) & ~PropertyFlags.hooked, at: location)
    }
  }

  /// The numbers of the properties that were changed since the model was encoded.
  var propertiesChangedAgain: Set<Int> {
    guard model.isBeingSaved else { return [] }
    let changed = model.modelClass.locations.lazy.filter { location in
      model.flags(at: location) & (PropertyFlags.dirty | PropertyFlags.hooked)
        == PropertyFlags.dirty
    }
    return Set(changed.map(\.index))
  }

  /// The pending changes that the saved document does not have; nil if there are none.
  ///
  /// These are differences between what the model shows and the saved document, also where a
  /// change that the document has was taken back in the meantime.
  var pendingChangesLeft: PendingChanges? {
    guard model.isBeingSaved, model.pendingChanges != nil || pendingChanges != nil else {
      return nil
    }
    let (before, now) = (pendingChanges ?? PendingChanges(), model.pendingChanges)
    var left = PendingChanges()
    // Not in a set, which would take names for one that differ only in their bytes.
    for key in before.undeclared.keys.map({ $0 }) + (now?.undeclared.keys.map { $0 } ?? []) {
      let shown = now?.undeclared[key] ?? (try? model.storedProperties?.property(key)?.decode())
      let saved = try? properties.property(key)?.decode()
      if shown != saved { left.undeclared[key] = .some(shown) }
    }
    let original = now?.originalAttachments ?? before.originalAttachments ?? [:]
    for name in before.attachments.keys.map({ $0 }) + (now?.attachments.keys.map { $0 } ?? []) {
      let shown = now?.attachments[name] ?? original[name]
      if shown != attachments[name] { left.attachments[name] = .some(shown) }
    }
    guard left.isChanged else { return nil }
    left.originalAttachments = attachments
    return left
  }
}
