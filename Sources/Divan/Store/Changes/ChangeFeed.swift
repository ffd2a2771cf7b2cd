import DivanLog

/// A position in the changes of one store.
///
/// ```swift
/// let saved = try database.snapshot().feedPosition.description
/// let feed = try FeedPosition(saved).map { try database.changeFeed(since: $0) }
/// ```
///
/// Sequence numbers of one store mean nothing in another, not even in a backup. So a position names
/// its store, and other stores refuse it.
public struct FeedPosition: Sendable, Hashable, Codable {
  /// The store's ID, as in ``Database/storeID``.
  public let storeID: String
  /// The sequence number through which everything was seen.
  public let sequence: UInt64

  init(storeID: String, sequence: UInt64) {
    self.storeID = storeID
    self.sequence = sequence
  }
}

extension FeedPosition: LosslessStringConvertible {
  /// The sequence number, a hyphen, and the store's ID.
  public var description: String { "\(sequence)-\(storeID)" }

  /// Parses a description; nil if the text is not one.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(parts[0]), !parts[1].isEmpty else { return nil }
    self.init(storeID: String(parts[1]), sequence: sequence)
    guard self.description == description else { return nil }
  }
}

/// The changes of a database as they come; see ``Database/changeFeed(since:where:)-(UInt64,_)``.
///
/// ```swift
/// for try await change in database.changeFeed() where !change.isDeleted {
///   titles.append(change.document["title"]?.stringValue ?? "")
///   if titles.count == 3 { break }
/// }
/// ```
public struct ChangeFeed: AsyncSequence, Sendable {
  /// The database, which stays open while a reader uses the feed, unless it is closed explicitly.
  let database: Database
  let start: UInt64
  let isIncluded: (@Sendable (Change) throws -> Bool)?

  /// Returns an iterator that begins at the feed's start.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads a feed.
  ///
  /// ```swift
  /// var changes = database.changeFeed(since: last).makeAsyncIterator()
  /// let change = try await changes.next()  // waits until there is one
  /// ```
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: ChangeFeed
    /// Changes that were read and are still to be delivered, the next one last.
    private var changes: [Change] = []
    /// The error to throw after them.
    private var failure: (any Error)?
    /// The sequence number through which everything was read.
    private var position: UInt64
    /// The last change of the store when everything was read; nil if there may be more.
    private var end: UInt64?

    init(_ feed: ChangeFeed) {
      self.feed = feed
      position = feed.start
    }
  }
}

extension ChangeFeed.Iterator {
  /// Returns the next change, waiting for it if necessary; nil if the task was cancelled.
  ///
  /// - Throws: ``DatabaseError`` with the code `closed`, or an error of the filter. After an error
  ///   with the code `damaged`, and after one of the filter, the next call continues after that
  ///   change.
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
      await feed.database.store.gate.wait()
      let (feed, position) = (feed, position)
      let read = try await Database.run { isCancelled in
        try FeedBatch(feed, since: position, isCancelled)
      }
      // Nil if the database was suspended in between.
      guard let batch = read else { continue }
      changes = batch.changes.reversed()
      failure = batch.failure
      self.position = batch.position
      end = batch.end
    }
    return nil
  }
}

/// A batch of changes that were read at once.
private struct FeedBatch: Sendable {
  private(set) var changes: [Change] = []
  /// The error that ended the batch.
  private(set) var failure: (any Error)?
  /// The sequence number through which changes were examined.
  private(set) var position: UInt64
  /// The last change of the store, if everything was examined.
  private(set) var end: UInt64?

  private static let changeLimit = 64
  private static let sizeLimit = 1 << 20
  /// The maximum number of changes to examine, so that no snapshot is retained for long.
  private static let stepLimit = 4096

  /// Reads a batch; nil while the database is suspended.
  init?(_ feed: ChangeFeed, since start: UInt64, _ isCancelled: () -> Bool) throws {
    position = start
    guard let view = try feed.database.store.viewUnlessSuspended(for: feed.database)
    else { return nil }
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
        // Nothing more can be read from a damaged log, however often the reader retries.
        if view.hasGap { end = view.state.lastSequence }
        return
      }
    }
  }
}
