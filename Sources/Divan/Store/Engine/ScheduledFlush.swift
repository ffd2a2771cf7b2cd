import DivanLog
import Synchronization

/// A reference to the store of a scheduled flush, until the flush runs or the store closes.
///
/// The timer retains this object and not the store, which may be released earlier. A weak reference
/// would work too, but once one exists, all other references to the store are counted in a separate
/// block. That costs several times as much, and each reader makes some.
final class ScheduledFlush: Sendable {
  private struct Due: Sendable {
    let store: Store
    /// When the flush is due, in nanoseconds of `DispatchTime`.
    let time: UInt64
  }

  private let due = Guarded<Due?>(nil)

  /// Stores the store to be flushed at a time; returns false if it is flushed by then anyway.
  ///
  /// The timer of a later time finds nothing to do, or flushes earlier than it has to.
  func begin(_ store: Store, at time: UInt64) -> Bool {
    due.withLock { due in
      if let known = due, known.time <= time { return false }
      due = Due(store: store, time: time)
      return true
    }
  }

  /// Returns the store if a flush is still due, and ends the schedule.
  func end() -> Store? { due.withLock { $0.take() }?.store }
}
