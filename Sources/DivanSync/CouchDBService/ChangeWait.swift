import Divan

/// What ended a wait for a change.
enum ChangeWait { case changed, elapsed, stopped }

extension Database {
  /// Waits for a change, for a time at most.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  func wait(
    since sequence: UInt64, within time: Duration, _ stop: Gate
  ) async throws -> ChangeWait {
    try await withThrowingTaskGroup(of: ChangeWait.self) { group in
      group.addTask {
        var feed = self.changeFeed(since: sequence).makeAsyncIterator()
        do {
          _ = try await feed.next()
        } catch let error as DatabaseError where error.code == .damaged {
          // It is a change, too.
        }
        return .changed
      }
      group.addTask {
        try await Task.sleep(for: time)
        return .elapsed
      }
      group.addTask {
        try await stop.wait()
        return .stopped
      }
      defer { group.cancelAll() }
      let result = try await group.next() ?? .elapsed
      try Task.checkCancellation()
      return result
    }
  }
}
