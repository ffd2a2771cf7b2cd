import Synchronization

/// Whether somebody asked for work to stop.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isRequested: Bool { flag.load(ordering: .acquiring) }

  func request() { flag.store(true, ordering: .releasing) }
}
