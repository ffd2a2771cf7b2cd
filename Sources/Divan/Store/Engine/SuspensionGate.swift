import DivanLog
import Synchronization

/// Lets tasks wait while a store is suspended.
final class SuspensionGate: Sendable {
  private let isShut = Guarded(false)
  /// Counts the times that the gate was opened.
  private let openings = ChangeSignal(0)
}

extension SuspensionGate {
  /// Whether the store is suspended.
  var isSuspended: Bool { isShut.withLock { $0 } }

  /// Makes tasks wait from now on.
  func shut() { isShut.withLock { $0 = true } }

  /// Lets all tasks continue.
  func open() {
    isShut.withLock { $0 = false }
    openings.note(openings.last + 1)
  }

  /// Lets all tasks continue, because the store is closed.
  func end() {
    isShut.withLock { $0 = false }
    openings.end()
  }

  /// Waits while the store is suspended, and the task is not cancelled.
  func wait() async {
    while !Task.isCancelled {
      let count = openings.last
      guard isSuspended else { return }
      await openings.wait(beyond: count)
    }
  }
}
