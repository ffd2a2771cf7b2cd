import DivanLog
import Synchronization

extension Database {
  /// Returns the results of a query: the current one, and another whenever it changes.
  ///
  /// ```swift
  /// for try await films in database.liveResults(of: silentFilms) {
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
  /// observe queries.
  ///
  /// Each change to the database is evaluated once, by reading its document. It costs nothing more
  /// if it does not affect the query; otherwise some microseconds for each document, however many
  /// results there are. A query that follows references is executed again after any change instead.
  /// A query with a limit is executed again at times, when more than a hundred results were removed
  /// and their successors are not known. A query that is sorted by relevance is executed again when
  /// a document matches or was in the result and changed: its rank and the ranks of others may be
  /// new. Documents that do not match change the ranking a little, and do not cause a new result.
  ///
  /// Results are kept in memory while the query is observed: the IDs and sorted properties of all
  /// documents that match, and the documents themselves. For a query with a limit and an offset,
  /// these are the IDs and properties of the documents before its end and some hundred more, and
  /// the documents themselves only between offset and limit. No snapshot is retained between
  /// results or by them, so attachments of a document are read from the newest version: content
  /// that is no longer referenced is `notFound`.
  ///
  /// - Throws: when an element is read, the errors of finding documents. The next call then waits
  ///   for another change, and executes the query again; its result has the changes since the last
  ///   delivered one.
  public func liveResults(of query: Query<Document>) -> LiveUpdates<Document> {
    LiveUpdates(self, query.core) { [source = NewestSource(store)] document in
      document.withOwnBytes(attachmentsFrom: source)
    }
  }

  /// Returns the values of a type that match a query: now, and again whenever they change.
  ///
  /// See ``liveResults(of:)-(Query<Document>)``. A value is decoded when its document is inserted
  /// into the result or changes.
  ///
  /// - Throws: when an element is read, also decoding errors of a document that claims to be of
  ///   this type and does not fit it.
  public func liveResults<T: DocumentCodable & Sendable>(of query: Query<T>) -> LiveUpdates<T> {
    LiveUpdates(self, query.core) { document in try document.decode(T.self) }
  }
}
