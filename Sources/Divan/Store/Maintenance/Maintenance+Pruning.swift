import DivanLog
import Synchronization

extension Maintenance {
  /// Records that history may be held that is no longer needed.
  func notePruningDue() { state.withLock { $0.isPruningDue = true } }

  func takePruningDue() -> Bool {
    state.withLock { state in
      defer { state.isPruningDue = false }
      return state.isPruningDue
    }
  }
}
