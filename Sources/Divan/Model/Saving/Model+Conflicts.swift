extension Model {
  /// The keys of the properties with unsaved changes.
  final var changedKeys: [String] {
    modelClass.locations.filter { isDirty($0) }.map(\.key)
      + (pendingChanges?.undeclared.keys.sorted() ?? [])
  }

  /// Records the base values of changed properties that differ in the document to take over.
  final func recordBases(before next: EncodedValue) {
    var bases = pendingChanges?.bases ?? [:]
    for key in changedKeys where bases[key] == nil {
      do throws(DatabaseError) {
        let old = try storedProperties?.property(key)
        if try next.property(key)?.bytes != old?.bytes { bases[key] = .some(old) }
      } catch {
        // The error of an unreadable document is reported when the model is saved.
      }
    }
    guard !bases.isEmpty else { return }
    var pendingChanges = pendingChanges ?? PendingChanges()
    pendingChanges.bases = bases
    self.pendingChanges = pendingChanges
  }

  /// Makes the unsaved changes win over all external changes that were taken over so far.
  final func settleConflicts() { pendingChanges?.bases = [:] }
}
