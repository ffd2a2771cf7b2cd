import Synchronization

/// The lock on a store, shared by everything that changes names in the store's directory.
///
/// A store that is suspended gives its lock up, and takes another one when it is resumed. All
/// copies of a ``StoreDirectory`` must know of both.
final class HeldLock: Sendable {
  private struct State {
    var lock: (any FileLock)?
    var isGivenUp = false
  }

  private let state = Guarded(State())
}

extension HeldLock {
  /// The lock; nil if the directory is only read.
  var lock: (any FileLock)? {
    get { state.withLock { $0.lock } }
    set {
      state.withLock {
        $0.lock = newValue
        if newValue != nil { $0.isGivenUp = false }
      }
    }
  }

  /// Whether the lock was released, and no other was taken since.
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

  /// Releases the lock.
  func giveUp() {
    let lock = state.withLock { state in
      defer { state.lock = nil }
      state.isGivenUp = true
      return state.lock
    }
    lock?.release()
  }
}
