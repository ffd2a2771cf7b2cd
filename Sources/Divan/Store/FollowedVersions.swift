/// The versions of a database that one follower looks at: the newest at first, then the newest each time that something was
/// committed or purged.
///
/// A follower that is slow passes over versions, so that changes come together and none piles up.
struct FollowedVersions: Sendable {
  /// It stays open for as long as it is followed, unless it is closed.
  private let database: Database
  /// What the database had when it was looked at last: ``Snapshot/changesAndPurges``.
  private var seen: UInt64?

  init(_ database: Database) { self.database = database }
}

extension FollowedVersions {
  /// Looks at one version after the other, off the caller's thread, until that gives something.
  ///
  /// - Parameters:
  ///   - actor: where the caller is.
  ///   - look: what to do with a version, and whether the task was cancelled meanwhile; nil if there is nothing new.
  /// - Returns: what `look` returned; nil if the task was cancelled.
  /// - Throws: what `look` throws: the next call then waits for another change; and ``DatabaseError/Code/closed``.
  mutating func next<Result: Sendable>(
    isolation actor: isolated (any Actor)?,
    _ look:
      @escaping @Sendable (_ view: StoreView, _ isCancelled: @escaping () -> Bool) throws -> Result?
  ) async throws -> Result? {
    while !Task.isCancelled {
      let store = database.store
      if let seen { await store.commits.changesAndPurges.wait(beyond: seen) }
      let (count, outcome) = try await Database.run { isCancelled in
        let view = try store.view()
        return (
          view.state.changesAndPurges, Swift.Result { try look(view, isCancelled) }
        )
      }
      if Task.isCancelled { break }
      seen = count
      if let result = try outcome.get() { return result }
    }
    return nil
  }
}
