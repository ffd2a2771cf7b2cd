extension Model {
  /// The keys of the properties with unsaved changes.
  final var changedKeys: [String] {
    modelClass.places.filter { isDirty($0) }.map(\.key)
      + (pendingChanges?.undeclared.keys.sorted() ?? [])
  }

  /// Remembers the base values of changed properties that differ in the document to take over.
  final func rememberBases(before next: EncodedValue) {
    var bases = pendingChanges?.bases ?? [:]
    for key in changedKeys where bases[key] == nil {
      do throws(DatabaseError) {
        let old = try body?.property(key)
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

  /// Makes the changes made here win over all changes that were taken over so far.
  final func settleConflicts() { pendingChanges?.bases = [:] }
}
