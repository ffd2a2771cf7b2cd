import DivanLog
import Synchronization

/// A reference to the store of a scheduled flush, until the flush runs or the store closes.
///
/// The timer retains this object and not the store, which may be released earlier. A weak reference
/// would work too, but once one exists, all other references to the store are counted in a separate
/// block. That costs several times as much, and each reader makes some.
final class ScheduledFlush: Sendable {
  private let store = Guarded<Store?>(nil)

  /// Stores the store to be flushed; returns false if one is stored already.
  func begin(_ store: Store) -> Bool {
    self.store.withLock { due in
      guard due == nil else { return false }
      due = store
      return true
    }
  }

  /// Returns the store if a flush is still due, and ends the schedule.
  func end() -> Store? { store.withLock { $0.take() } }
}
