import DivanLog
import Synchronization

extension Database {
  /// Returns a sequence of a view's rows: the current ones, and new ones after each change.
  ///
  /// ```swift
  /// for try await years in database.updates(of: byYear, .all.grouped()) {
  ///   bars = years.map { ($0.key, $0.value) }
  /// }
  /// ```
  ///
  /// The first answer comes at once. A later one comes when a row was added, removed or moved, when
  /// its key or value changed, or when a reduced value changed. Identical answers are not repeated.
  /// A change of a document counts only if it changes the rows that the map function emits, so emit
  /// everything you show. Several changes may be combined: a slow reader gets one answer, as of the
  /// newest version.
  ///
  /// Changes, purges and expiries show once they can be read; at ``Durability/full``, once they are
  /// durable. The sequence ends when the task is cancelled, and throws
  /// ``DatabaseError/Code/closed`` when the database is closed. Any number of tasks may follow
  /// views, and each view is updated once for all of them.
  ///
  /// After a change, the changed documents are mapped and the query is evaluated again, at the cost
  /// of ``Snapshot/rows(of:_:)``. The sequence keeps the rows of the last answer, but no snapshot;
  /// each answer that you keep retains its own. A ``ListDifference`` describes the changes between
  /// two answers.
  ///
  /// The iterator throws the errors of ``Snapshot/rows(of:_:)``. The next call then waits for
  /// another change; its result differs from the last answer returned.
  ///
  /// - Parameters:
  ///   - view: The view.
  ///   - query: The query for its rows.
  /// - Returns: The answers; any number of tasks may iterate them, each from a first one on.
  public func updates(of view: MapReduceView, _ query: ViewQuery = .all) -> LiveView {
    LiveView(database: self, view: view, query: query)
  }
}

/// The sequence of answers to a query of a view: ``Database/updates(of:_:)``.
public struct LiveView: AsyncSequence, Sendable {
  fileprivate let database: Database
  fileprivate let view: MapReduceView
  fileprivate let query: ViewQuery

  /// Returns an iterator that begins with a first answer.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// An iterator over answers.
  public struct Iterator: AsyncIteratorProtocol {
    private let observer: LiveViewObserver
    private var versions: ObservedVersions

    fileprivate init(_ live: LiveView) {
      observer = LiveViewObserver(live.view, live.query)
      versions = ObservedVersions(live.database)
    }
  }
}

extension LiveView.Iterator {
  /// Waits for and returns the next answer; nil if the task was cancelled.
  ///
  /// - Throws: See ``Database/updates(of:_:)``.
  public mutating func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> ViewRows? {
    let observer = observer
    return try await versions.next(isolation: actor) { view, isCancelled in
      try observer.step(to: Snapshot(view), isCancelled)
    }
  }
}

/// A sequence of answers to a query, each compared with the last one returned; thread-safe.
private final class LiveViewObserver: Sendable {
  private let view: MapReduceView
  private let query: ViewQuery
  private let last = Guarded<ViewRows.Content?>(nil)

  init(_ view: MapReduceView, _ query: ViewQuery) {
    self.view = view
    self.query = query
  }

  /// Returns the answer as of a snapshot; nil if it equals the last one returned.
  func step(to snapshot: Snapshot, _ isCancelled: () -> Bool) throws -> ViewRows? {
    // Not computed under the lock, because it runs the map function.
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
      // Rows of unchanged documents are identical objects.
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
