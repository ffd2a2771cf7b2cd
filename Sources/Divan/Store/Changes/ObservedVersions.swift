/// The versions of a database that one observer reads.
///
/// The first is the newest one. Then comes the newest version each time that something was
/// committed or purged. A slow observer skips versions, so that changes come together and do not
/// queue up.
struct ObservedVersions: Sendable {
  /// The database, which stays open while it is observed, unless it is closed explicitly.
  private let database: Database
  /// The value of ``Snapshot/changesAndPurges`` that the observer has seen last.
  private var seen: UInt64?

  init(_ database: Database) { self.database = database }
}

/// A version's count of changes and purges, and what an observer found in the version.
private struct Looked<Result: Sendable>: Sendable {
  let count: UInt64
  let outcome: Swift.Result<Result?, any Error>
}

extension ObservedVersions {
  /// Reads one version after the other, off the caller's thread, until one gives a result.
  ///
  /// - Parameters:
  ///   - actor: the actor of the caller.
  ///   - look: reads a version; returns nil if there is nothing new. It can query whether the task
  ///     was cancelled.
  /// - Returns: the result of `look`; nil if the task was cancelled.
  /// - Throws: errors of `look`, after which the next call waits for another change; and
  ///   ``DatabaseError/Code/closed``.
  mutating func next<Result: Sendable>(
    isolation actor: isolated (any Actor)?,
    _ look:
      @escaping @Sendable (_ view: ReadView, _ isCancelled: @escaping () -> Bool) throws -> Result?
  ) async throws -> Result? {
    while !Task.isCancelled {
      let database = database
      if let seen { await database.store.commits.changesAndPurges.wait(beyond: seen) }
      await database.store.gate.wait()
      let looked = try await Database.run { isCancelled in
        // A result may read further documents when nothing else refers to the database.
        guard let view = try database.store.viewUnlessSuspended(for: database)
        else { return nil as Looked<Result>? }
        return Looked(
          count: view.state.changesAndPurges, outcome: Swift.Result { try look(view, isCancelled) })
      }
      if Task.isCancelled { break }
      guard let (count, outcome) = looked.map({ ($0.count, $0.outcome) }) else { continue }
      seen = count
      if let result = try outcome.get() { return result }
    }
    return nil
  }
}
