import DivanLog
import Synchronization

/// A store that is to be flushed soon, for as long as that is due and it is open.
///
/// What waits for the time holds this and not the store, which may be gone before. A weak reference would do, too, but
/// once there is one, all others to the store are counted in a block of its own, which costs several times as much, and
/// each reader makes some.
final class ScheduledFlush: Sendable {
  private let store = Guarded<Store?>(nil)

  /// Notes which store is to be flushed; returns false if that is noted already.
  func begin(_ store: Store) -> Bool {
    self.store.withLock { due in
      guard due == nil else { return false }
      due = store
      return true
    }
  }

  /// The store, if it is still to be flushed, which it is no more from now on.
  func end() -> Store? { store.withLock { $0.take() } }
}
