import DivanLog
import Synchronization

extension Database {
  /// What a query means: now, and again whenever that has changed.
  ///
  /// ```swift
  /// for try await films in database.updates(of: silentFilms) {
  ///   titles = films.map { $0["title"] }
  /// }
  /// ```
  ///
  /// The first result comes at once, and each later one when any document of it has come, gone, moved, or got another winning
  /// revision; a result that is as it was is not given. Several changes may come together: whoever is slow gets one result
  /// that says what has changed since the one before. Changes show once they can be read, at ``Durability/full`` once they
  /// are durable; purges and expiries, too. It ends when the task is cancelled, and throws ``DatabaseError/Code/closed``
  /// when the database is closed. Any number of tasks may follow queries.
  ///
  /// Each change to the database is judged once, by reading its document, and costs nothing more if it does not concern the
  /// query; one that does costs some microseconds for each document, however many results there are. A query that follows
  /// references is run anew instead, whatever has changed; and one with a limit now and then, when more than a hundred
  /// results have gone that it does not know successors of.
  ///
  /// What was found is kept in memory, for as long as it is followed: IDs and sorted properties of all documents that the
  /// query means, and the documents themselves; of a query with a limit and an offset those before its end and some hundred
  /// more, and the documents within. Neither between results nor by them is a snapshot held, so that what is attached to a
  /// document is read as the newest version has it: content to which nothing refers any more is `notFound`.
  ///
  /// - Throws: while it is read, what finding throws. The next call then waits for another change, and runs the query anew;
  ///   what it gives says what has changed since the last result that was given.
  public func updates(of query: Query<Document>) -> LiveUpdates<Document> {
    LiveUpdates(self, query.core) { [source = NewestSource(store)] document in
      document.withOwnBytes(attachmentsFrom: source)
    }
  }

  /// The values of a type that a query means: now, and again whenever that has changed: see ``updates(of:)-(Query<Document>)``.
  ///
  /// A value is decoded when its document comes or changes.
  ///
  /// - Throws: while it is read, also what decoding throws, of a document that says that it is of this type and does not fit
  ///   it.
  public func updates<T: DocumentCodable & Sendable>(of query: Query<T>) -> LiveUpdates<T> {
    LiveUpdates(self, query.core) { document in try document.decode(T.self) }
  }
}

extension Document {
  /// The same with memory of its own, and attachments that can be read as long as the newest version has them.
  fileprivate func withOwnBytes(attachmentsFrom source: NewestSource) -> Document {
    var copy = withOwnBytes()
    copy.attachments = Attachments(attachments.map { ($0.key, $0.value.stored(in: source)) })
    return copy
  }
}

extension Document.Attachment {
  /// The same, read from somewhere else if it is stored.
  fileprivate func stored(in source: any AttachmentSource) -> Document.Attachment {
    guard case .stored(let digest, _) = body else { return self }
    return Document.Attachment(
      contentType: contentType, length: length, generation: generation,
      body: .stored(digest, source))
  }
}

/// The results of a query, one after the other: `Database.updates(of:)`.
public struct LiveUpdates<Row: Sendable>: AsyncSequence, Sendable {
  /// It stays open for as long as somebody follows the query, unless it is closed.
  fileprivate let database: Database
  fileprivate let query: QueryCore
  fileprivate let load: LiveRows.Load?
  fileprivate let show: @Sendable (LiveRow) -> Row

  /// Follows a query whose rows show something of their documents.
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

  /// Follows a query of which IDs are enough.
  init(_ database: Database, _ query: QueryCore, show: @escaping @Sendable (_ id: String) -> Row) {
    self.database = database
    self.query = query
    load = nil
    self.show = { row in show(row.id) }
  }

  /// Begins with a first result.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads results.
  public struct Iterator: AsyncIteratorProtocol {
    private let show: @Sendable (LiveRow) -> Row
    private let follower: LiveFollower
    private var versions: FollowedVersions

    fileprivate init(_ updates: LiveUpdates) {
      show = updates.show
      follower = LiveFollower(LiveRows(updates.query, load: updates.load))
      versions = FollowedVersions(updates.database)
    }
  }
}

extension LiveUpdates.Iterator {
  /// The next result, when there is one; nil if the task was cancelled.
  ///
  /// - Throws: see ``Database/updates(of:)-(Query<Document>)``.
  public mutating func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws -> LiveResult<Row>? {
    let follower = follower
    let step = try await versions.next(isolation: actor) { view, isCancelled in
      try follower.step(to: view, isCancelled)
    }
    return step.map { LiveResult($0, show) }
  }
}

/// What one look at the database gave that was new.
struct LiveStep: Sendable {
  let rows: RankedList<LiveRow>
  let window: Range<Int>
  let difference: ListDifference
  let isFirst: Bool
  let sequence: UInt64
}

/// The rows of a query, brought from one version to the next on whatever thread.
private final class LiveFollower: Sendable {
  private struct State {
    var rows: LiveRows
    var hasGivenResult = false
  }

  private let state: Guarded<State>

  init(_ rows: LiveRows) { state = Guarded(State(rows: rows)) }

  func step(to view: StoreView, _ isCancelled: @escaping () -> Bool) throws -> LiveStep? {
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
