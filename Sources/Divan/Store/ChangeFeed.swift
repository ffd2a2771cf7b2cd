import DivanLog

extension Database {
  /// The latest change of each document, those that there are and then those that come.
  ///
  /// ```swift
  /// for try await change in database.changes(since: lastSequence) {
  ///   lastSequence = change.sequence
  ///   print(change.id, change.isDeleted)
  /// }
  /// ```
  ///
  /// Sequence numbers rise strictly. Every document that changed is told of, with its winning revision;
  /// of several changes of one document at least the last one. Deletions are changes, purges are not.
  /// A change is told of when it can be read: at ``Durability/full`` once it is durable. The feed does not
  /// end before the task is cancelled: then it ends at once. When the database is closed it throws
  /// ``DatabaseError/Code/closed``. A database that was opened for reading only has no changes to come.
  ///
  /// Any number of tasks may follow changes, each at its own pace; one that is slow makes nobody wait, and
  /// skips what is outdated. Nothing is held for a feed that nobody reads. While somebody does, it reads up
  /// to 64 documents ahead, and none once these take a mebibyte; so a change may be told of that is
  /// outdated by then, and the later one follows.
  ///
  /// - Parameters:
  ///   - sequence: where to begin: behind the change of this number. 0 for the beginning.
  ///   - isIncluded: which changes are wanted; all, if nil. Called on no thread in particular.
  /// - Returns: the feed, which any number of tasks may read from its beginning.
  public func changes(
    since sequence: UInt64 = 0, where isIncluded: (@Sendable (Change) throws -> Bool)? = nil
  ) -> ChangeFeed {
    ChangeFeed(database: self, start: sequence, isIncluded: isIncluded)
  }

  /// The same from a position that was kept outside of the database.
  ///
  /// - Throws: ``DatabaseError/Code/foreignPosition`` if the position is one in another store: a backup of
  ///   this one, say, or the one that this is a backup of; or if this store never came so far, since an older
  ///   copy of its files took its place. Begin at the beginning then.
  public func changes(
    since position: FeedPosition, where isIncluded: (@Sendable (Change) throws -> Bool)? = nil
  ) throws -> ChangeFeed {
    guard position.storeID == storeID else {
      throw DatabaseError(
        .foreignPosition, "the position in the changes is one in another store",
        hint: "Follow the changes from the beginning", path: path)
    }
    let newest = try snapshot()
    guard position.sequence <= newest.sequence else {
      try newest.view.requireWhole()
      throw DatabaseError(
        .foreignPosition, "the position lies behind all changes that this store ever had",
        hint: "The store is an older copy: follow the changes from the beginning", path: path)
    }
    return changes(since: position.sequence, where: isIncluded)
  }

  /// Where to go on after a change, as a value that can be kept anywhere.
  public func feedPosition(after change: Change) -> FeedPosition {
    FeedPosition(storeID: storeID, sequence: change.sequence)
  }
}

extension Snapshot {
  /// Where to go on after everything that is in this snapshot, as a value that can be kept anywhere.
  ///
  /// Read the snapshot, and then follow ``Database/changes(since:where:)-(FeedPosition,_)``: nothing is
  /// missed.
  public var feedPosition: FeedPosition {
    FeedPosition(storeID: "\(view.store.storeID)", sequence: sequence)
  }
}

/// A position in the changes of one store.
///
/// Sequence numbers say nothing of another store, not even of a backup: so a position names its store,
/// and is refused by others.
public struct FeedPosition: Sendable, Hashable, Codable {
  /// Which store, as ``Database/storeID`` says it.
  public let storeID: String
  /// Everything through this sequence number was seen.
  public let sequence: UInt64

  init(storeID: String, sequence: UInt64) {
    self.storeID = storeID
    self.sequence = sequence
  }
}

extension FeedPosition: LosslessStringConvertible {
  /// The sequence number, a hyphen, and the store's ID.
  public var description: String { "\(sequence)-\(storeID)" }

  /// Reads a description; nil if the text is none.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(parts[0]), !parts[1].isEmpty else { return nil }
    self.init(storeID: String(parts[1]), sequence: sequence)
    guard self.description == description else { return nil }
  }
}

/// The changes of a database as they come: ``Database/changes(since:where:)-(UInt64,_)``.
public struct ChangeFeed: AsyncSequence, Sendable {
  /// It stays open for as long as somebody reads the feed, unless it is closed.
  let database: Database
  let start: UInt64
  let isIncluded: (@Sendable (Change) throws -> Bool)?

  /// Begins at the feed's beginning.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads a feed.
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: ChangeFeed
    /// What was read and is still to be delivered, the next one last.
    private var changes: [Change] = []
    /// What is thrown after that.
    private var failure: (any Error)?
    /// Everything through this sequence number was read.
    private var position: UInt64
    /// The last change that there was when everything was read; nil if there may be more.
    private var end: UInt64?

    init(_ feed: ChangeFeed) {
      self.feed = feed
      position = feed.start
    }
  }
}

extension ChangeFeed.Iterator {
  /// The next change, when there is one; nil if the task was cancelled.
  ///
  /// - Throws: ``DatabaseError`` with the code `closed`, or whatever the filter threw. After one with the
  ///   code `damaged`, and after one of the filter's, the next call goes on behind that change.
  public mutating func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> Change? {
    while !Task.isCancelled {
      if let change = changes.popLast() { return change }
      if let failure {
        self.failure = nil
        throw failure
      }
      if let end {
        await feed.database.store.commits.changes.wait(beyond: Swift.max(end, position))
      }
      let (feed, position) = (feed, position)
      let batch = try await Database.run { isCancelled in
        try FeedBatch(feed, since: position, isCancelled)
      }
      changes = batch.changes.reversed()
      failure = batch.failure
      self.position = batch.position
      end = batch.end
    }
    return nil
  }
}

/// Some changes that were read at once.
private struct FeedBatch: Sendable {
  private(set) var changes: [Change] = []
  /// What happened after them.
  private(set) var failure: (any Error)?
  /// Everything through this sequence number was looked at.
  private(set) var position: UInt64
  /// The last change that there was, if everything was looked at.
  private(set) var end: UInt64?

  private static let changeLimit = 64
  private static let sizeLimit = 1 << 20
  /// How many changes are looked at, so that no snapshot is held for long.
  private static let stepLimit = 4096

  init(_ feed: ChangeFeed, since start: UInt64, _ isCancelled: () -> Bool) throws {
    position = start
    let view = try feed.database.store.view().keepingOpen(feed.database)
    var cursor = ChangeCursor(view, since: start)
    var size = 0
    for _ in 0..<FeedBatch.stepLimit {
      guard changes.count < FeedBatch.changeLimit, size < FeedBatch.sizeLimit, !isCancelled()
      else { return }
      do {
        guard let change = try cursor.next() else {
          end = view.state.lastSequence
          return
        }
        if try feed.isIncluded?(change) ?? true {
          changes.append(change)
          size += try change.document.encoded().bytes.count
        }
        position = cursor.position
      } catch {
        position = cursor.position
        failure = error
        // Of a damaged log no more can be told, however often that is asked.
        if view.hasGap { end = view.state.lastSequence }
        return
      }
    }
  }
}
