import DivanLog

extension ModelContextCore {
  /// Builds the indexes of classes whose models are saved for the first time, before the save.
  ///
  /// Errors are reported, and do not prevent the save. An index that another class has declared
  /// stays.
  func addDeclaredIndexes(of classes: some Sequence<ModelClass>) {
    guard case .database(let database) = source else { return }
    var new: [ModelClass] = []
    for known in classes where indexedClasses.insert(ObjectIdentifier(known)).inserted {
      new.append(known)
    }
    if new.isEmpty { return }
    let declared = DeclaredIndexes.of(database.store)
    declared.know((registry?.types ?? []) + new.map(\.type))
    var seen: Set<ObjectIdentifier> = []
    for saved in new {
      for known in saved.andIndexedSuperclasses
      where seen.insert(ObjectIdentifier(known)).inserted {
        if let refusal = known.indexes.refusal { handle?.errorHandler?(refusal) }
        for own in known.indexes.indexes {
          do {
            try declared.add(own)
            let snapshot = try requireSnapshot()
            let index = declared.index(own, of: known, amid: snapshot.readyIndexes)
            if !snapshot.hasIndex(index) { try database.addDeclaredIndex(own, of: known) }
          } catch let error as DatabaseError where error.code == .nestedWrite {
            // The save fails with the same error, which reports it.
            indexedClasses.subtract(new.map { ObjectIdentifier($0) })
            return
          } catch let error as DatabaseError where error.code == .alreadyExists {
            // Another thread is building the index; the next save checks again.
            indexedClasses.remove(ObjectIdentifier(saved))
          } catch {
            handle?.errorHandler?(error)
          }
        }
      }
    }
  }
}
