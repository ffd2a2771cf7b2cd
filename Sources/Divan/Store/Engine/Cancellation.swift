import Synchronization

/// A flag that requests that work stops.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isRequested: Bool { flag.load(ordering: .acquiring) }

  func request() { flag.store(true, ordering: .releasing) }
}
