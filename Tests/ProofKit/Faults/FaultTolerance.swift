package import Divan
import Synchronization

/// The reaction to failures of work with a store, and the database that the work opened.
package final class FaultTolerance: Sendable {
  private struct State {
    var goesOn = false
    var keeps = false
    var database: Database?
    var errors: [DatabaseError] = []
  }

  private let state = Mutex(State())

  /// Whether work continues after an error, as a stubborn program would.
  package var goesOn: Bool {
    get { state.withLock { $0.goesOn } }
    set { state.withLock { $0.goesOn = newValue } }
  }

  /// Whether the database that was opened last is kept, so that the caller can continue with it.
  package var keepsDatabase: Bool {
    get { state.withLock { $0.keeps } }
    set { state.withLock { $0.keeps = newValue } }
  }

  /// The errors after which work continued.
  package var errors: [DatabaseError] { state.withLock { $0.errors } }

  /// Returns the database that was opened last, and drops it.
  package func takeDatabase() -> Database? { state.withLock { $0.database.take() } }

  func note(_ database: Database) {
    // The previous database, whose last reference this may be, is released outside of the lock.
    let before = state.withLock { state -> Database? in
      guard state.keeps else { return nil }
      defer { state.database = database }
      return state.database
    }
    _ = before
  }

  /// Records an error and continues, or throws it.
  func take(_ error: any Error, _ writer: CrashWriter) throws {
    guard let failure = error as? DatabaseError, goesOn else { throw error }
    writer.isUnsure.store(true, ordering: .relaxed)
    state.withLock { $0.errors.append(failure) }
  }
}
