import Divan
import ProofKit

/// A handler that keeps the events of databases.
struct EventRecorder: Sendable {
  private let events = Recorder<DatabaseEvent>()

  /// The handler.
  var handler: DatabaseEvent.Handler { DatabaseEvent.Handler { [events] in events.append($0) } }

  /// Returns the events so far, after those that are on their way from a database.
  func all(from database: Database) -> [DatabaseEvent] {
    database.drainEvents()
    return events.all
  }

  /// The events so far; complete after databases were closed.
  var all: [DatabaseEvent] { events.all }

  /// Returns the events of a kind so far.
  func of(_ kind: DatabaseEvent.Kind, from database: Database) -> [DatabaseEvent] {
    all(from: database).filter { $0.kind == kind }
  }
}
