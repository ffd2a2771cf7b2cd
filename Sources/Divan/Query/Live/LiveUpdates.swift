import DivanLog
import Synchronization

extension Database {
  /// Returns the results of a query: the current one, and another whenever it changes.
  ///
  /// ```swift
  /// for try await films in database.updates(of: silentFilms) {
  ///   titles = films.map { $0["title"] }
  /// }
  /// ```
  ///
  /// The first result is delivered at once. A later one is delivered when a document of the result
  /// was inserted, removed, moved or has another winning revision; a result without changes is not
  /// delivered. Changes may be combined: a slow reader gets one result with all changes since the
  /// previous one. Changes appear once they can be read: at ``Durability/full``, once they are
  /// durable. Purges and expiries appear, too. The sequence ends when the task is cancelled, and
  /// throws ``DatabaseError/Code/closed`` when the database is closed. Any number of tasks may
  /// follow queries.
  ///
  /// Each change to the database is evaluated once, by reading its document. It costs nothing more
  /// if it does not affect the query; otherwise some microseconds for each document, however many
  /// results there are. A query that follows references is run again instead after any change. A
  /// query with a limit is run again at times, when more than a hundred results were removed and
  /// their successors are not known.
  ///
  /// Results are kept in memory while the query is followed: the IDs and sorted properties of all
  /// documents that match, and the documents themselves. For a query with a limit and an offset,
  /// these are the IDs and properties of the documents before its end and some hundred more, and
  /// the documents themselves only between offset and limit. No snapshot is held between results or
  /// by them, so attachments of a document are read from the newest version: content that is no
  /// longer referenced is `notFound`.
  ///
  /// - Throws: when an element is read, the errors of finding documents. The next call then waits
  ///   for another change, and runs the query again; its result has the changes since the last
  ///   delivered one.
  public func updates(of query: Query<Document>) -> LiveUpdates<Document> {
    LiveUpdates(self, query.core) { [source = NewestSource(store)] document in
      document.withOwnBytes(attachmentsFrom: source)
    }
  }

  /// Returns the values of a type that match a query: now, and again whenever they change.
  ///
  /// See ``updates(of:)-(Query<Document>)``. A value is decoded when its document is inserted into
  /// the result or changes.
  ///
  /// - Throws: when an element is read, also decoding errors of a document that claims to be of
  ///   this type and does not fit it.
  public func updates<T: DocumentCodable & Sendable>(of query: Query<T>) -> LiveUpdates<T> {
    LiveUpdates(self, query.core) { document in try document.decode(T.self) }
  }
}

extension Document {
  /// Returns a copy with its own memory, whose attachments are read from the newest version.
  fileprivate func withOwnBytes(attachmentsFrom source: NewestSource) -> Document {
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

/// An asynchronous sequence of the results of a query: `Database.updates(of:)`.
public struct LiveUpdates<Row: Sendable>: AsyncSequence, Sendable {
  /// It stays open while the query is followed, unless it is closed explicitly.
  fileprivate let database: Database
  fileprivate let query: QueryCore
  fileprivate let load: LiveRows.Load?
  fileprivate let show: @Sendable (LiveRow) -> Row

  /// Follows a query whose rows have content.
  init(_ database: Database, _ query: QueryCore, load: @escaping @Sendable (Document) throws -> Row)
  {
    self.database = database
    self.query = query
    self.load = { document in LiveContent(try load(document)) }
    show = { row in
      guard let content = row.content as? LiveContent<Row> else {
        preconditionFailure("A row that is shown has no content")
      }
      return content.content
    }
  }

  /// Follows a query whose rows need only IDs.
  init(_ database: Database, _ query: QueryCore, show: @escaping @Sendable (_ id: String) -> Row) {
    self.database = database
    self.query = query
    load = nil
    self.show = { row in show(row.id) }
  }

  /// Returns an iterator, which begins with a first result.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// An iterator over results.
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
  /// - Throws: see ``Database/updates(of:)-(Query<Document>)``.
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
