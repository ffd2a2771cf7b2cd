import DivanLog

extension Database {
  /// Returns the latest change of each document: first the existing ones, then new ones.
  ///
  /// ```swift
  /// for try await change in database.changeFeed(since: lastSequence) {
  ///   lastSequence = change.sequence
  ///   print(change.id, change.isDeleted)
  /// }
  /// ```
  ///
  /// Sequence numbers rise strictly. The feed delivers every document that changed, with its
  /// winning revision. Of several changes of one document it delivers at least the last one.
  /// Deletions are changes, purges are not. A change is delivered when it can be read: at
  /// ``Durability/full`` once it is durable. The feed does not end before the task is cancelled:
  /// then it ends at once. When the database is closed it throws ``DatabaseError/Code/closed``. A
  /// database that was opened for reading only has changes to come when it is refreshed. While the
  /// database is suspended, the feed waits.
  ///
  /// Any number of tasks may follow changes, each at its own pace. A slow reader blocks no other
  /// and skips outdated changes. A feed without a reader retains nothing. A reader reads up to 64
  /// documents ahead, and stops once these take a mebibyte. So a change may be outdated when it is
  /// delivered; the later one follows.
  ///
  /// - Parameters:
  ///   - sequence: the sequence number after which to begin. 0 for the beginning.
  ///   - isIncluded: a filter for the changes; all are included if nil. It may be called on any
  ///     thread.
  /// - Returns: the feed, which any number of tasks may read from its beginning.
  public func changeFeed(
    since sequence: UInt64 = 0, where isIncluded: (@Sendable (Change) throws -> Bool)? = nil
  ) -> ChangeFeed {
    ChangeFeed(database: self, start: sequence, isIncluded: isIncluded)
  }

  /// Returns the changes since a position that was kept outside of the database.
  ///
  /// - Throws: ``DatabaseError/Code/feedPositionMismatch`` if the position belongs to another
  ///   store, such as a backup of this one or the store that this one is a backup of. Also if the
  ///   position is beyond the last change of this store, because an older copy of its files
  ///   replaced it. Begin at the beginning then.
  public func changeFeed(
    since position: FeedPosition, where isIncluded: (@Sendable (Change) throws -> Bool)? = nil
  ) throws -> ChangeFeed {
    guard position.storeID == storeID else {
      throw DatabaseError(
        .feedPositionMismatch, "the position in the changes belongs to another store",
        hint: "Follow the changes from the beginning", path: path)
    }
    let newest = try snapshot()
    // A database that is open for reading only may be behind the process that writes.
    guard position.sequence <= max(newest.sequence, store.reservedSequence)
    else {
      try newest.view.requireWhole()
      throw DatabaseError(
        .feedPositionMismatch, "the position is after the last change of this store",
        hint: "The store is an older copy: follow the changes from the beginning", path: path)
    }
    return changeFeed(since: position.sequence, where: isIncluded)
  }

  /// Returns the position after a change, as a value that can be kept anywhere.
  public func feedPosition(after change: Change) -> FeedPosition {
    FeedPosition(storeID: storeID, sequence: change.sequence)
  }
}
