import DivanLog

/// The indexes that a save builds before it stores anything.
///
/// These are the indexes that the classes of the saved models declare, the first time that the
/// context saves one of them, and those that inverses needed and did not find.
struct IndexesToBuild: Sendable {
  /// An index that a class declares, for documents of the class alone.
  fileprivate struct Declared {
    let index: DocumentIndex
    let modelClass: ModelClass
    /// The class to be saved: the one that declares the index, or a subclass.
    let savedClass: ModelClass
  }

  /// An index that could not be built.
  struct Failure {
    let index: DocumentIndex
    /// The class to be saved, which declares it; nil if an inverse needs it.
    let savedClass: ModelClass?
    let error: any Error
  }

  fileprivate var declared: [Declared] = []
  /// The indexes that inverses need.
  fileprivate var missing: [DocumentIndex] = []

  var isEmpty: Bool { declared.isEmpty && missing.isEmpty }

  /// Builds the indexes, as far as possible; returns those that could not be built.
  func build(in database: Database) -> [Failure] {
    var failures: [Failure] = []
    for each in declared {
      do {
        try database.addDeclaredIndex(each.index, of: each.modelClass)
      } catch {
        failures.append(
          Failure(index: each.index, savedClass: each.savedClass, error: error))
      }
    }
    for index in missing {
      do {
        try database.buildIndex(index)
      } catch {
        failures.append(Failure(index: index, savedClass: nil, error: error))
      }
    }
    return failures
  }
}

extension ModelContextCore {
  /// Builds the indexes that saving models of some classes needs.
  ///
  /// Errors are reported, and do not prevent the save.
  func buildIndexes(for classes: some Sequence<ModelClass>) {
    guard case .database(let database) = source else { return }
    let indexes = takeIndexesToBuild(for: classes)
    if !indexes.isEmpty { note(indexes.build(in: database)) }
  }

  /// Returns the indexes to build before models of some classes are saved.
  ///
  /// An index that another class has declared stays. Each index is returned only once, unless
  /// building it fails for a reason that may pass.
  func takeIndexesToBuild(for classes: some Sequence<ModelClass>) -> IndexesToBuild {
    var indexes = IndexesToBuild()
    guard case .database(let database) = source else { return indexes }
    indexes.missing = inverseIndexes.takeMissing()
    let new = classes.filter { indexedClasses.insert(ObjectIdentifier($0)).inserted }
    if new.isEmpty { return indexes }
    let declared = DeclaredIndexes.of(database.store)
    declared.know((registry?.types ?? []) + new.map(\.type))
    var seen: Set<ObjectIdentifier> = []
    for saved in new {
      for known in saved.andIndexedSuperclasses
      where seen.insert(ObjectIdentifier(known)).inserted {
        if let refusal = known.indexes.refusal { reportOnce(refusal) }
        for own in known.indexes.indexes {
          do {
            try declared.add(own)
            let snapshot = try requireSnapshot()
            let index = declared.index(own, of: known, amid: snapshot.readyIndexes)
            guard !snapshot.hasIndex(index) else { continue }
            indexes.declared.append(.init(index: own, modelClass: known, savedClass: saved))
          } catch {
            note(error, ofSaving: saved)
          }
        }
      }
    }
    return indexes
  }

  /// Reports indexes that could not be built, and lets a later save try again if that may help.
  func note(_ failures: [IndexesToBuild.Failure]) {
    for failure in failures {
      let code = (failure.error as? DatabaseError)?.code
      if let saved = failure.savedClass {
        note(failure.error, ofSaving: saved)
      } else if code != .alreadyExists, code?.mayPass == true {
        inverseIndexes.need(failure.index)
        if code != .nestedWrite { reportOnce(failure.error) }
      } else {
        // An existing index of this name stays.
        inverseIndexes.refuse(failure.index)
        handle?.report(failure.error)
      }
    }
  }

  /// Reports an error of an index that a class declares.
  private func note(_ error: any Error, ofSaving saved: ModelClass) {
    let code = (error as? DatabaseError)?.code
    if code?.mayPass == true { indexedClasses.remove(ObjectIdentifier(saved)) }
    // After the one, the save fails with the same error; after the other, another thread is
    // building the index.
    if code != .nestedWrite, code != .alreadyExists { reportOnce(error) }
  }

  /// Reports an error of building an index, unless an earlier attempt had the same one.
  ///
  /// For these reasons the save itself fails, too.
  private func reportOnce(_ error: any Error) {
    if reportedIndexErrors.insert("\(error)").inserted { handle?.report(error) }
  }
}

extension DatabaseError.Code {
  /// Whether a later save tries again to build an index that could not be built for this reason.
  ///
  /// The attempt fails before it reads documents, or was cancelled. After any other error, each
  /// save would read all documents again.
  fileprivate var mayPass: Bool {
    // An index that already exists is being built by another thread.
    let reasons: [DatabaseError.Code] = [
      .nestedWrite, .alreadyExists, .suspended, .diskFull, .timedOut, .cancelled,
    ]
    return reasons.contains(self)
  }
}
