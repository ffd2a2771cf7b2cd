import DivanLog
import Synchronization

extension ModelContextCore {
  /// Turns autosaving on.
  func startAutosaving(on actor: any Actor) {
    autosaving.start(on: actor)
    beginAutosaving(on: actor)
  }

  /// Turns autosaving off, because the database is closed.
  func stopAutosaving() {
    forgetAutosaving()
    let released = autosaving.stop()
    withExtendedLifetime(released) {}
  }

  /// Registers the context to be saved on close, until the matching call of `endAutosaving`.
  func beginAutosaving(on actor: (any Actor)?) {
    if let context = autosaving.registration {
      context.saverCount.add(1, ordering: .relaxed)
    } else if case .database(let database) = source {
      let context = AutosavingContext(self, on: actor)
      autosaving.register(context)
      database.store.services.get(AutosavingContexts.self) { AutosavingContexts() }.add(context)
    }
  }

  func endAutosaving() {
    guard let ended = autosaving.registration else { return }
    let left = ended.saverCount.subtract(1, ordering: .relaxed).newValue
    if left == 0 { forgetAutosaving() }
  }

  /// Unregisters the context, which no longer autosaves.
  func forgetAutosaving() {
    guard let ended = autosaving.unregister(), case .database(let database) = source else { return }
    database.store.services.get(AutosavingContexts.self) { AutosavingContexts() }.remove(ended)
  }
}
