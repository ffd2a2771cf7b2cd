import DivanLog
import Synchronization

extension Document {
  /// Returns a copy with its own memory, whose attachments are read from the newest version.
  func withOwnBytes(attachmentsFrom source: NewestSource) -> Document {
    var copy = withOwnBytes()
    copy.attachments = Attachments(attachments.map { ($0.key, $0.value.stored(in: source)) })
    return copy
  }
}

extension Document.Attachment {
  /// Returns the attachment with another source, if it is stored.
  fileprivate func stored(in source: any AttachmentSource) -> Document.Attachment {
    guard case .stored(let digest, _) = body else { return self }
    return Document.Attachment(
      contentType: contentType, length: length, generation: generation,
      body: .stored(digest, source))
  }
}

/// An asynchronous sequence of the results of a query: `Database.liveResults(of:)`.
///
/// ```swift
/// for try await films in database.liveResults(of: query) {
///   shown = films.map(\.title)
///   if films.count == 2 { break }
/// }
/// ```
public struct LiveUpdates<Row: Sendable>: AsyncSequence, Sendable {
  /// It stays open while the query is observed, unless it is closed explicitly.
  fileprivate let database: Database
  fileprivate let query: QueryCore
  fileprivate let load: LiveRows.Load?
  fileprivate let show: @Sendable (LiveRow) -> Row

  /// Observes a query whose rows have content.
  init(_ database: Database, _ query: QueryCore, load: @escaping @Sendable (Document) throws -> Row)
  {
    self.database = database
    self.query = query
    self.load = { document in LiveContent(try load(document)) }
    show = { row in
      guard let content = row.content as? LiveContent<Row> else {
        preconditionFailure("A shown row has no content")
      }
      return content.content
    }
  }

  /// Observes a query whose rows need only IDs.
  init(_ database: Database, _ query: QueryCore, show: @escaping @Sendable (_ id: String) -> Row) {
    self.database = database
    self.query = query
    load = nil
    self.show = { row in show(row.id) }
  }

  /// Returns an iterator, which begins with a first result.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// An iterator over results.
  ///
  /// ```swift
  /// var results = database.liveResults(of: query).makeAsyncIterator()
  /// let first = try await results.next()  // the next call waits for another result
  /// ```
  public struct Iterator: AsyncIteratorProtocol {
    private let show: @Sendable (LiveRow) -> Row
    private let observer: LiveObserver
    private var versions: ObservedVersions

    fileprivate init(_ updates: LiveUpdates) {
      show = updates.show
      observer = LiveObserver(LiveRows(updates.query, load: updates.load))
      versions = ObservedVersions(updates.database)
    }
  }
}

extension LiveUpdates.Iterator {
  /// Waits for the next result, and returns it; nil if the task was cancelled.
  ///
  /// - Throws: see ``Database/liveResults(of:)-(Query<Document>)``.
  public mutating func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> LiveResult<Row>? {
    let observer = observer
    let step = try await versions.next(isolation: actor) { view, isCancelled in
      try observer.step(to: view, isCancelled)
    }
    return step.map { LiveResult($0, show) }
  }
}

/// The new result of one step.
struct LiveStep: Sendable {
  let rows: RankedList<LiveRow>
  let window: Range<Int>
  let difference: ListDifference
  let isFirst: Bool
  let sequence: UInt64
}

/// The rows of a query, which are advanced from one version to the next on any thread.
private final class LiveObserver: Sendable {
  private struct State {
    var rows: LiveRows
    var hasGivenResult = false
  }

  private let state: Guarded<State>

  init(_ rows: LiveRows) { state = Guarded(State(rows: rows)) }

  func step(to view: ReadView, _ isCancelled: @escaping () -> Bool) throws -> LiveStep? {
    try state.withLock { state in
      let difference = try state.rows.advance(to: view, isCancelled: isCancelled)
      let isFirst = !state.hasGivenResult
      guard isFirst || !difference.isEmpty else { return nil }
      state.hasGivenResult = true
      return LiveStep(
        rows: state.rows.list, window: state.rows.window, difference: difference,
        isFirst: isFirst, sequence: view.state.lastSequence)
    }
  }
}
