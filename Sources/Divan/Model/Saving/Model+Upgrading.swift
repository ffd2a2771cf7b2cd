import DivanLog

extension Model {
  /// Upgrades a model whose document an earlier version of its class saved.
  final func upgradeIfOutdated() {
    let version = modelClass.version
    guard version > 1, let storedProperties, !isChanged, state == .stored else { return }
    do {
      let stored = try storedProperties.property(modelClass.versionKey)?.decode().intValue ?? 1
      guard stored < version else { return }
      try upgrade(from: stored)
      upgradedFrom = stored
    } catch {
      discardChanges()
      if !isUnsaved { core?.noteClean(self) }
      if let error = error as? DatabaseError {
        report(error)
      } else {
        core?.handle?.report(error)
      }
    }
  }

  /// Resets every property to the document's value, or else to the declared one.
  final func discardChanges() {
    upgradedFrom = nil
    let given = state == .new ? pendingChanges?.givenAttachments ?? [:] : [:]
    announcing(dirtyPaths + ModelObservation.otherPaths) {
      for location in modelClass.locations {
        setFlags(
          flags(at: location) & PropertyFlags.replaced | initialFlags(at: location)
            | PropertyFlags.unloaded, at: location)
      }
      references.removeAll()
      referenceLists.removeAll()
      pendingChanges = nil
      isChanged = false
    }
    give(given)
    core?.announceInverses()
  }
}
