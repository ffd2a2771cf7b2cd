import DivanLog
import Synchronization

/// The documents of models that are about to be saved.
struct EncodedModels {
  var documents: [Document] = []
  var saved: [SavedModel] = []

  /// Whether both were encoded over the same revisions of the same documents.
  func isOverSameRevisions(as other: EncodedModels) -> Bool {
    documents.elementsEqual(other.documents) { $0.id == $1.id && $0.revision == $1.revision }
  }
}

extension ModelContextCore {
  /// Stores the changes of models in one transaction, on another thread.
  ///
  /// The models are encoded on the actor, over the newest revisions of their documents. If another
  /// writer stores newer ones before the transaction begins, they are encoded again: external
  /// changes are merged as in a save that waits.
  ///
  /// With `isEverything`, models that become unsaved during the save are saved too. If
  /// `isCancellable`, the transaction does not begin once the task is cancelled.
  func save(
    _ models: [Model], isEverything: Bool = false, isCancellable: Bool = true,
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    guard case .database(let database) = source else {
      return try saveWhileWaiting(models, isEverything: isEverything)
    }
    try requireNotInHook()
    await finishCommit()
    // A commit that was in flight may have deleted some of the models.
    let prepared = try prepare(isEverything ? unsavedModels : models, isEverything: isEverything)
    var chosen = prepared.filter(\.hasChanges)
    if chosen.isEmpty { return clearHandledMarks(of: prepared) }
    var encoded = try encode(chosen, over: try database.snapshot().document)
    // Only now, since each index is returned once, and a save that throws above builds none.
    let indexes = takeIndexesToBuild(for: chosen.lazy.map { $0.modelClass })
    let failures = Guarded<[IndexesToBuild.Failure]>([])
    while true {
      let ids = undoHistory.isOn ? chosen.map(\.id) : []
      let (documents, saved) = (encoded.documents, encoded.saved)
      for each in saved { each.beginSaving() }
      do {
        return try await commit(to: database, isCancellable: isCancellable) {
          failures.withLock { $0 = indexes.build(in: database) }
        } _: { transaction in
          try Self.put(documents, in: transaction, recording: ids)
        } publish: { [self] result in
          note(failures.withLock { $0 })
          do {
            defer { for each in saved { each.endSaving() } }
            publish(saved, try result.get())
          }
          clearHandledMarks(of: prepared)
          for each in saved { each.model.didSave() }
        }
      } catch let error as DatabaseError where error.code == .conflict {
        await finishCommit()
        // Some may have been saved, deleted or reverted in the meantime.
        chosen.removeAll { $0.core !== self || !$0.hasChanges }
        if chosen.isEmpty { return clearHandledMarks(of: prepared) }
        try validate(chosen)
        let next = try encode(chosen, over: try database.snapshot().document)
        guard !next.isOverSameRevisions(as: encoded) else { throw error }
        encoded = next
      }
    }
  }

  /// Stores documents, and returns the changes of those with the given IDs.
  static func put(
    _ documents: [Document], in transaction: WriteTransaction, recording ids: [String]
  ) throws -> [SavedChange] {
    let before = try ids.map { try transaction.document($0) }
    try transaction.put(contentsOf: documents)
    return try zip(ids, before).map { id, before in
      SavedChange(id: id, before: before, after: try transaction.document(id))
    }
  }

  /// Encodes models as documents that follow the revisions that `read` returns.
  func encode(
    _ models: [Model], over read: (String) throws -> Document?
  ) throws -> EncodedModels {
    var coder = ModelCoder()
    var encoded = EncodedModels()
    for model in models {
      let (document, saved) = try coder.document(for: model, read: read)
      encoded.documents.append(document)
      encoded.saved.append(saved)
    }
    return encoded
  }

  /// Saves while the thread waits.
  private func saveWhileWaiting(_ models: [Model], isEverything: Bool) throws {
    try save(models, isEverything: isEverything)
  }
}
