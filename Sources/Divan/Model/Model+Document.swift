import DivanLog
import Observation

// Support for the properties of a model, and its association with a document.

extension Model {
  /// Returns the property with a number; nil if the class could not discover its properties.
  ///
  /// Discovery fails if the client's module is compiled without reflection metadata.
  final func property(_ index: Int) -> (any ModelProperty)? {
    if index < modelClass.properties.count { return modelClass.properties[index] }
    if !isUndiscovered {
      isUndiscovered = true
      report(unknownProperties)
    }
    return nil
  }

  /// The error of a model whose properties could not be discovered, and which cannot be saved.
  final var unknownProperties: DatabaseError {
    DatabaseError(
      .invalidModelClass, "the properties of \(type(of: self)) could not be discovered",
      hint: "Compile its module without -disable-reflection-metadata", documentID: documentID)
  }

  /// Loads a value into its wrapper; returns whether it must be removed after the read.
  @usableFromInline @inline(never)
  final func _prepareToRead(_ index: Int, _ flags: PropertyFlags.Bits) -> Bool {
    // Most observed properties need nothing but a notification.
    guard flags & PropertyFlags.slowToRead == PropertyFlags.observed else {
      return prepareIncomplete(index, flags)
    }
    noteAccess(ofProperty: index)
    return false
  }

  /// Prepares a read that needs more than a notification.
  ///
  /// Separate, because reads that only notify must not set up more than they need.
  @inline(never)
  private final func prepareIncomplete(_ index: Int, _ flags: PropertyFlags.Bits) -> Bool {
    // `property(_:)` reports an unknown property.
    guard let property = property(index) else { return false }
    if flags & PropertyFlags.incomplete != 0 { property.prepareToRead(self) }
    if flags & PropertyFlags.recording != 0 { PropertyRecorder.current.get()?.note(index) }
    if flags & PropertyFlags.observed != 0 { noteAccess(ofProperty: index) }
    return flags & PropertyFlags.reference != 0
  }

  /// Whether a property has an unsaved change.
  final func isDirty(_ location: PropertyLocation) -> Bool {
    flags(at: location) & PropertyFlags.dirty != 0
  }

  /// Returns the range of a property's value in a document's properties; nil if there is none.
  final func storedRange(of key: SharedBytes, in properties: EncodedValue) -> Range<Int>? {
    do throws(DatabaseError) {
      return try key.withSpan { (key) throws(DatabaseError) in try properties.propertyRange(key) }
    } catch {
      report(error)
      return nil
    }
  }

  /// Records that the value of a property was changed.
  final func noteChange(at location: PropertyLocation) {
    let flags = flags(at: location)
    var cleared = PropertyFlags.unreadable | PropertyFlags.unloaded
    if isBeingSaved { cleared |= PropertyFlags.hooked }
    setFlags((flags | PropertyFlags.dirty | PropertyFlags.replaced) & ~cleared, at: location)
    if flags & PropertyFlags.dirty == 0 || hasFailedToSave { noteChange() }
  }

  /// Records that a property became dirty.
  final func noteChange() {
    if hasFailedToSave { core?.scheduleRetry(self) }
    guard !isChanged else { return }
    announcing(ModelObservation.statePath) { isChanged = true }
    if state != .deleted { core?.noteUnsaved(self) }
  }

  /// Reports an error that reading a property cannot throw to the context.
  final func report(_ error: DatabaseError) {
    var error = error
    error.documentID = documentID
    core?.handle?.report(error)
  }

  /// Makes a reference to a model, inserting the model into its context if it is in none.
  final func reference(to target: Model, as type: Model.Type) -> ModelReference {
    guard let core else { return ModelReference(id: target.id, target: target) }
    core.insert(target, referredToAs: type)
    return ModelReference(id: target.id, target: nil)
  }

  /// Associates the model with a document, from which its properties are loaded when needed.
  final func attach(_ storedProperties: EncodedValue, state: State) {
    self.storedProperties = storedProperties
    self.state = state
    upgradedFrom = nil
    pendingChanges = nil
    isChanged = false
    if modelClass.hasReferences {
      references = [:]
      referenceLists = [:]
    }
    for location in modelClass.locations {
      setFlags(
        flags(at: location) & PropertyFlags.replaced | initialFlags(at: location)
          | PropertyFlags.unloaded, at: location)
    }
  }

  /// Takes over the current version of the document; unsaved changes stay.
  ///
  /// - Parameters:
  ///   - storedProperties: the document's properties.
  ///   - resolved: the keys of changed properties that conflict resolution set to other values.
  final func rebase(on storedProperties: EncodedValue, resolved: [String] = []) {
    announcing(pathsChanged(by: storedProperties, resolved)) {
      self.storedProperties = storedProperties
      // An upgrade that was not saved still has its version.
      if !isChanged { upgradedFrom = nil }
      state = .stored
      forgetOriginalAttachments()
      for property in modelClass.properties where !property.isDirty(in: self) {
        property.readAgain(in: self)
      }
    }
  }

  /// The observation paths of the properties with unsaved changes.
  final var dirtyPaths: [ModelObservation.Path] {
    modelClass.properties.filter { $0.isDirty(in: self) }.map { $0.observationPath(in: self) }
  }

  /// The observation paths that change when the model takes over a version of the document.
  private func pathsChanged(
    by next: EncodedValue, _ resolved: [String]
  ) -> [ModelObservation.Path] {
    let changed = modelClass.properties.filter { property in
      property.isDirty(in: self)
        ? resolved.contains { haveSameUTF8($0, property.key) }
        : (try? storedProperties?.property(property.key)?.bytes)
          != (try? next.property(property.key)?.bytes)
    }
    return changed.map { $0.observationPath(in: self) }
      + [ModelObservation.statePath, ModelObservation.undeclaredPath]
  }
}
