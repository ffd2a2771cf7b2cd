import DivanLog
import Observation

// What the properties of a model ask it for, and how it comes to stand for a document.

extension Model {
  /// The property of a number; nil if the class does not know its properties.
  ///
  /// The runtime describes them, unless the client's module is compiled without that.
  final func property(_ index: Int) -> (any ModelProperty)? {
    if index < modelClass.properties.count { return modelClass.properties[index] }
    if !isUnknownToItself {
      isUnknownToItself = true
      report(unknownProperties)
    }
    return nil
  }

  /// Why nothing of the model can be stored.
  final var unknownProperties: DatabaseError {
    DatabaseError(
      .invalidModelClass, "\(type(of: self)) does not know its properties",
      hint: "Compile its module without -disable-reflection-metadata", documentID: documentID)
  }

  /// Makes a wrapper, which has these flags, hold its value; returns whether it is to be taken out again.
  @usableFromInline @inline(never)
  final func _prepareToRead(_ index: Int, _ flags: UInt16) -> Bool {
    // Of what is observed most is there.
    guard flags & PropertyFlags.slowToRead == PropertyFlags.observed else {
      return prepareIncomplete(index, flags)
    }
    noteAccess(ofProperty: index)
    return false
  }

  /// Does the same where something must be done besides telling that the property is read.
  ///
  /// Apart, so that what this needs is not made ready for reads that are only observed.
  @inline(never)
  private final func prepareIncomplete(_ index: Int, _ flags: UInt16) -> Bool {
    // It says so if the class does not know it.
    guard let property = property(index) else { return false }
    if flags & PropertyFlags.incomplete != 0 { property.prepareToRead(self) }
    if flags & PropertyFlags.recording != 0 { PropertyRecorder.current.get()?.note(index) }
    if flags & PropertyFlags.observed != 0 { noteAccess(ofProperty: index) }
    return flags & PropertyFlags.reference != 0
  }

  /// Whether a property is to be saved.
  final func isDirty(_ place: PropertyPlace) -> Bool {
    flags(at: place) & PropertyFlags.dirty != 0
  }

  /// Where the model's document, whose properties are `body`, has something for a property; nil if it has nothing.
  final func storedRange(of key: SharedBytes, in body: EncodedValue) -> Range<Int>? {
    do throws(DatabaseError) {
      return try key.withSpan { (key) throws(DatabaseError) in try body.propertyRange(key) }
    } catch {
      report(error)
      return nil
    }
  }

  /// Notes that the value of a property was changed.
  final func noteChange(at place: PropertyPlace) {
    let flags = flags(at: place)
    setFlags(
      (flags | PropertyFlags.dirty | PropertyFlags.replaced)
        & ~(PropertyFlags.unreadable | PropertyFlags.unloaded), at: place)
    if flags & PropertyFlags.dirty == 0 || isRefused { noteChange() }
  }

  /// Notes that a property became dirty.
  final func noteChange() {
    if isRefused { core?.noteMended(self) }
    guard !isChanged else { return }
    announcing(ModelObservation.statePath) { isChanged = true }
    if state != .deleted { core?.noteUnsaved(self) }
  }

  /// Tells the context of an error that reading a property cannot throw.
  final func report(_ error: DatabaseError) {
    var error = error
    error.documentID = documentID
    core?.handle?.errorHandler?(error)
  }

  /// Makes a reference to another model, which comes into the same context if it is in none.
  final func reference(to target: Model, as type: Model.Type) -> ModelReference {
    guard let core else { return ModelReference(id: target.id, target: target) }
    core.insert(target, referredToAs: type)
    return ModelReference(id: target.id, target: nil)
  }

  /// Makes the model stand for a document: everything is read from it, when it is asked for.
  final func attach(_ body: EncodedValue, state: State) {
    self.body = body
    self.state = state
    upgradedFrom = nil
    extras = nil
    isChanged = false
    if modelClass.hasReferences {
      references = [:]
      referenceLists = [:]
    }
    for place in modelClass.places {
      setFlags(
        flags(at: place) & PropertyFlags.replaced | initialFlags(at: place)
          | PropertyFlags.unloaded, at: place)
    }
  }

  /// Takes over what the document is now; what was changed and not saved stays.
  ///
  /// `resolved` has the keys of changed properties that become something else than they are.
  final func rebase(on body: EncodedValue, resolved: [String] = []) {
    announcing(pathsChanged(by: body, resolved)) {
      self.body = body
      // What was upgraded and not saved is still of that version.
      if !isChanged { upgradedFrom = nil }
      state = .stored
      forgetOriginalAttachments()
      for property in modelClass.properties where !property.isDirty(in: self) {
        property.readAgain(in: self)
      }
    }
  }

  /// What stands for the properties that were changed and not saved.
  final var dirtyPaths: [ModelObservation.Path] {
    modelClass.properties.filter { $0.isDirty(in: self) }.map { $0.observationPath(in: self) }
  }

  /// What observers are to be told of when the document becomes this one.
  private func pathsChanged(
    by next: EncodedValue, _ resolved: [String]
  ) -> [ModelObservation.Path] {
    let changed = modelClass.properties.filter { property in
      property.isDirty(in: self)
        ? resolved.contains { haveSameUTF8($0, property.key) }
        : (try? body?.property(property.key)?.bytes) != (try? next.property(property.key)?.bytes)
    }
    return changed.map { $0.observationPath(in: self) }
      + [ModelObservation.statePath, ModelObservation.undeclaredPath]
  }
}
