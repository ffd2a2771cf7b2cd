import DivanLog
import Synchronization

extension Database {
  /// Returns a sequence of a view's rows: the current ones, and new ones after each change.
  ///
  /// ```swift
  /// for try await years in database.liveResults(of: byYear, .all.grouped()) {
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
  /// ``DatabaseError/Code/closed`` when the database is closed. Any number of tasks may observe
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
  public func liveResults(of view: MapReduceView, _ query: ViewQuery = .all) -> LiveView {
    LiveView(database: self, view: view, query: query)
  }
}
