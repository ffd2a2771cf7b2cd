import Synchronization

/// The memory of one request for its body or its answer, which is given back when this is released.
final class MemoryReservation: Sendable {
  private struct State {
    var size = 0
    /// Whom the memory is counted for; nil counts it with that of all others only.
    var client: ServiceClient?
  }

  private let counter: Counter<ServiceClient>
  /// What takes the memory, for people.
  private let things: String
  private let state = Mutex(State())

  init(_ counter: Counter<ServiceClient>, of things: String) {
    self.counter = counter
    self.things = things
  }

  deinit { giveBack() }

  /// Says whom the memory is counted for, before some is taken.
  func assign(to client: ServiceClient?) {
    state.withLock { if $0.size == 0 { $0.client = client } }
  }

  /// Whether there may be more memory, if not now.
  func canHave(_ count: Int) -> Bool {
    state.withLock { counter.canHave($0.client, $0.size + count) }
  }

  /// Takes memory.
  ///
  /// - Throws: ``ServiceError`` with the status 503 if others have it now, and 413 if there is
  ///   never as much for one client.
  func add(_ count: Int) throws {
    let isTaken = state.withLock { state in
      guard counter.increment(state.client, by: count) else { return false }
      state.size += count
      return true
    }
    guard !isTaken else { return }
    guard canHave(count) else {
      throw ServiceError(
        413, "too_large", "There is too little memory for \(things) as large. Send less at once.")
    }
    throw ServiceError(
      503, "service_unavailable", "Too many large \(things) at once.",
      headers: ["retry-after": "1"])
  }

  /// Takes memory instead of what was taken before.
  func hold(_ count: Int) throws {
    giveBack()
    try add(count)
  }

  private func giveBack() {
    state.withLock { state in
      counter.decrement(state.client, by: state.size)
      state.size = 0
    }
  }
}
