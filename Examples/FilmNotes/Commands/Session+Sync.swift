import Divan
import DivanSync
import Foundation

/// Replication with another copy of the library.
extension Session {
  func sync(_ command: Command) async throws {
    var sync = LibrarySync(database: library.database, place: command.words[0])
    if let name = command.value("user") {
      // Other users of the machine can read arguments of a command, and not its environment.
      let password = ProcessInfo.processInfo.environment["FILM_NOTES_PASSWORD"] ?? ""
      sync.authorization = .session(name: name, password: password)
    }
    let result = try await sync.run()
    try library.context.refresh()
    let (pull, push) = (result.status.pull.counts, result.status.push.counts)
    print("Sent \(push.revisionsWritten) revisions, received \(pull.revisionsWritten)")
    for id in result.mergedIDs { print("Merged two versions of \(id)") }
    guard let failure = result.status.failures.first else { return }
    for each in result.status.failures { print("\(each.id) was not copied") }
    throw failure.error
  }
}
