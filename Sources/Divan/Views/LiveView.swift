import DivanLog
import Synchronization

extension Database {
  /// The rows of a view: now, and again whenever they are others.
  ///
  /// ```swift
  /// for try await years in database.updates(of: byYear, .all.grouped()) {
  ///   bars = years.map { ($0.key, $0.value) }
  /// }
  /// ```
  ///
  /// The first answer comes at once, and each later one when any row of it has come, gone, moved, or got another key or value;
  /// or another value that rows are reduced to. An answer that is as it was is not given: a change of a document counts only as far as
  /// the map function emits it, so let it emit what is shown. Several changes may come together: a slow reader gets one answer, as
  /// of the newest version. Changes show once they can be read, at ``Durability/full`` once they are durable; purges and
  /// expiries, too. It ends when the task is cancelled, and throws ``DatabaseError/Code/closed`` when the database is
  /// closed. Any number of tasks may follow views, and each view is brought up to date once for all of them.
  ///
  /// After a change its documents are mapped, and the query is answered again, which costs what ``Snapshot/rows(of:_:)`` does.
  /// The rows of the last answer are kept for as long as it is followed, and no snapshot; each answer that you hold keeps its own. What makes
  /// one answer of the one before says a ``ListDifference``.
  ///
  /// Reading it throws what ``Snapshot/rows(of:_:)`` throws. The next call then waits for another change; what it gives is not
  /// the last answer that was given.
  ///
  /// - Parameters:
  ///   - view: which documents are mapped to which rows.
  ///   - query: which of them are wanted.
  /// - Returns: the answers, which any number of tasks may read from a first one on.
  public func updates(of view: MapReduceView, _ query: ViewQuery = .all) -> LiveView {
    LiveView(database: self, view: view, query: query)
  }
}

/// The answers to a query of a view, one after the other: ``Database/updates(of:_:)``.
public struct LiveView: AsyncSequence, Sendable {
  fileprivate let database: Database
  fileprivate let view: MapReduceView
  fileprivate let query: ViewQuery

  /// Begins with a first answer.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads answers.
  public struct Iterator: AsyncIteratorProtocol {
    private let follower: ViewFollower
    private var versions: FollowedVersions

    fileprivate init(_ live: LiveView) {
      follower = ViewFollower(live.view, live.query)
      versions = FollowedVersions(live.database)
    }
  }
}

extension LiveView.Iterator {
  /// The next answer, when there is one; nil if the task was cancelled.
  ///
  /// - Throws: see ``Database/updates(of:_:)``.
  public mutating func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> ViewRows? {
    let follower = follower
    return try await versions.next(isolation: actor) { view, isCancelled in
      try follower.step(to: Snapshot(view), isCancelled)
    }
  }
}

/// The answers to a query, each compared with the last one that was given, on whatever thread.
private final class ViewFollower: Sendable {
  private let view: MapReduceView
  private let query: ViewQuery
  private let last = Guarded<ViewRows.Content?>(nil)

  init(_ view: MapReduceView, _ query: ViewQuery) {
    self.view = view
    self.query = query
  }

  /// The answer as of a snapshot; nil if it is the last one that was given.
  func step(to snapshot: Snapshot, _ isCancelled: () -> Bool) throws -> ViewRows? {
    // Not made under the lock: it runs the client's code.
    let rows = try snapshot.rows(of: view, query, isCancelled: isCancelled)
    return last.withLock { last in
      if let last, last.isSame(as: rows.content) { return nil }
      last = rows.content
      return rows
    }
  }
}

extension ViewRows.Content {
  /// Whether both have the same rows in the same order.
  fileprivate func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.rows(let a), .rows(let b)):
      // Rows of documents that did not change are the same objects.
      a.count == b.count && zip(a, b).allSatisfy { $0 === $1 || $0.isSame(as: $1) }
    case (.reduced(let a), .reduced(let b)): a == b
    default: false
    }
  }
}

extension ViewContents.Row {
  fileprivate func isSame(as other: ViewContents.Row) -> Bool {
    haveSameUTF8(id, other.id) && key == other.key && value == other.value
  }
}
