import DivanLog
import Synchronization

/// The autosaving contexts of a database, which are saved before it is closed.
final class AutosavingContexts: ClosingGuard {
  private let contexts = Guarded<[AutosavingContext]>([])

  func add(_ context: AutosavingContext) { contexts.withLock { $0.append(context) } }
  func remove(_ context: AutosavingContext) {
    contexts.withLock { $0.removeAll { $0 === context } }
  }

  func prepareToClose(on actor: isolated (any Actor)?) throws {
    let all = contexts.withLock { $0 }
    for each in all where each.isOn(actor) { try each.save(on: actor) }
    guard all.contains(where: \.hasUnsaved) else { return }
    throw DatabaseError(
      .unsavedModels, "the database was not closed: a context of another actor has unsaved models",
      hint:
        "Save them or close the database on that actor, or discard them with `discardsUnsavedModels`"
    )
  }

  func saveBeforeClosing(isolation actor: isolated (any Actor)?) async {
    let all = contexts.withLock { $0 }
    for each in all where each.isOn(actor) { await each.save(isolation: actor) }
  }
}

/// An autosaving context, as other isolation domains see it.
final class AutosavingContext: Sendable {
  private let context: ActorReference<ModelContext>
  private let unsaved: Atomic<Bool>
  /// The number of tasks that save the context.
  let saverCount = Atomic(1)

  init(_ core: ModelContextCore, on actor: (any Actor)?) {
    context = ActorReference(core.handle, of: actor)
    unsaved = Atomic(!core.unsaved.isEmpty)
  }

  var hasUnsaved: Bool { unsaved.load(ordering: .acquiring) }
  func note(hasUnsaved: Bool) { unsaved.store(hasUnsaved, ordering: .releasing) }
  func isOn(_ actor: (any Actor)?) -> Bool { context.isOn(actor) }

  /// Saves the unsaved models without blocking the context's actor, as far as possible.
  ///
  /// The synchronous save that follows takes the rest, and reports its errors. A task that is
  /// cancelled, as at the end of a program, saves everything there.
  fileprivate func save(isolation actor: isolated (any Actor)?) async {
    try? await context.object(on: actor)?.save(isolation: actor)
  }

  /// Saves the unsaved models on the context's actor, one by one if they cannot be saved together.
  fileprivate func save(on actor: isolated (any Actor)?) throws {
    guard let context = context.object(on: actor) else { return }
    // Hooks may change models after they were saved.
    for _ in 0..<ModelContextCore.saveLimit where !context.core.unsaved.isEmpty {
      do {
        try context.save()
      } catch {
        for model in context.core.unsavedModels where model.isUnsaved { try? model.save() }
        throw error
      }
    }
  }
}
