import DivanLog
import Synchronization

extension ModelContextCore {
  /// Registers the context to be saved on close, until the matching call of `endAutosaving`.
  func beginAutosaving(on actor: (any Actor)?) {
    if let autosaving {
      autosaving.saverCount.add(1, ordering: .relaxed)
    } else if case .database(let database) = source {
      let context = AutosavingContext(self, on: actor)
      autosaving = context
      database.store.services.get(AutosavingContexts.self) { AutosavingContexts() }.add(context)
    }
  }

  func endAutosaving() {
    guard let ended = autosaving else { return }
    let left = ended.saverCount.subtract(1, ordering: .relaxed).newValue
    if left == 0 { forgetAutosaving() }
  }

  /// Unregisters the context, which no longer autosaves.
  func forgetAutosaving() {
    guard let ended = autosaving.take(), case .database(let database) = source else { return }
    database.store.services.get(AutosavingContexts.self) { AutosavingContexts() }.remove(ended)
  }
}
