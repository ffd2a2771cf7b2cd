extension Snapshot {
  /// Returns the document with an ID, decoded as a type; nil if there is none or it is deleted.
  ///
  /// ```swift
  /// let film = try snapshot.value(Film.self, id: "metropolis")
  /// ```
  ///
  /// - Throws: The errors of ``document(_:)`` and ``Document/decode(_:)``.
  public func value<T: Decodable>(_ type: T.Type, id: String) throws -> T? {
    try document(id)?.decode(type)
  }

  /// Returns the documents with these IDs, decoded as a type, in the same order.
  ///
  /// The result has nil where there is none.
  ///
  /// - Throws: The errors of ``documents(_:)`` and ``Document/decode(_:)``.
  public func values<T: Decodable>(_ type: T.Type, ids: [String]) throws -> [T?] {
    try documents(ids).map { try $0?.decode(type) }
  }

  /// Returns a cursor over the documents in a range, decoded as a type, in ID byte order.
  ///
  /// Every document in the range must decode as the type.
  public func documents<T: Decodable>(
    _ type: T.Type, _ range: some IDRangeExpression = .all, descending: Bool = false
  ) -> DecodingCursor<T> {
    DecodingCursor(documents(range, descending: descending))
  }
}

/// A cursor over decoded documents: `while let film = try cursor.next() { … }`.
///
/// ```swift
/// var films = try database.snapshot().documents(Film.self, .prefix("film:"))
/// while let film = try films.next() { print(film.title) }
/// ```
///
/// A document that is damaged, or does not fit the type, makes `next()` throw; the next call
/// continues after it.
public struct DecodingCursor<T: Decodable>: Cursor {
  private var documents: DocumentCursor

  init(_ documents: DocumentCursor) { self.documents = documents }

  /// The next value; nil at the end.
  public mutating func next() throws -> T? { try documents.next()?.decode(T.self) }
}
