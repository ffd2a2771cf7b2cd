package import Divan
import Synchronization

/// What is to happen when work with a store fails, and what was opened meanwhile.
package final class FaultTolerance: Sendable {
  private struct State {
    var goesOn = false
    var keeps = false
    var database: Database?
    var errors: [DatabaseError] = []
  }

  private let state = Mutex(State())

  /// Whether work goes on after an error, as a stubborn program would.
  package var goesOn: Bool {
    get { state.withLock { $0.goesOn } }
    set { state.withLock { $0.goesOn = newValue } }
  }

  /// Whether the database that was opened last is kept, for whoever wants to go on with it.
  package var keepsDatabase: Bool {
    get { state.withLock { $0.keeps } }
    set { state.withLock { $0.keeps = newValue } }
  }

  /// The errors after which work went on.
  package var errors: [DatabaseError] { state.withLock { $0.errors } }

  /// The database that was opened last; keeps it no longer.
  package func takeDatabase() -> Database? { state.withLock { $0.database.take() } }

  func note(_ database: Database) {
    // The one before, whose last reference this may be, ends outside of the lock.
    let before = state.withLock { state -> Database? in
      guard state.keeps else { return nil }
      defer { state.database = database }
      return state.database
    }
    _ = before
  }

  /// Goes on after an error, or throws it.
  func take(_ error: any Error, _ writer: CrashWriter) throws {
    guard let failure = error as? DatabaseError, goesOn else { throw error }
    writer.isUnsure.store(true, ordering: .relaxed)
    state.withLock { $0.errors.append(failure) }
  }
}
