import DivanLog
import Synchronization

/// The sequence of answers to a query of a view: ``Database/liveResults(of:_:)``.
///
/// ```swift
/// for try await rows in database.liveResults(of: perYear, .all.grouped()) {
///   bars = rows.map { "\($0.key.json): \($0.value.json)" }
///   if rows.count == 2 { break }
/// }
/// ```
public struct LiveView: AsyncSequence, Sendable {
  let database: Database
  let view: MapReduceView
  let query: ViewQuery

  /// Returns an iterator that begins with a first answer.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// An iterator over answers.
  ///
  /// ```swift
  /// var answers = database.liveResults(of: perYear, .all.grouped()).makeAsyncIterator()
  /// let rows = try await answers.next()  // the next call waits for another answer
  /// ```
  public struct Iterator: AsyncIteratorProtocol {
    private let observer: LiveViewObserver
    private var versions: ObservedVersions

    init(_ live: LiveView) {
      observer = LiveViewObserver(live.view, live.query)
      versions = ObservedVersions(live.database)
    }
  }
}

extension LiveView.Iterator {
  /// Waits for and returns the next answer; nil if the task was cancelled.
  ///
  /// - Throws: See ``Database/liveResults(of:_:)``.
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
