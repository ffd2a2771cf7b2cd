import DivanLog

/// A cursor over document IDs in index order, and in byte order where values are equal.
///
/// ```swift
/// var ids = try database.snapshot().ids(by: "by year", 1920..<1930)
/// while let id = try ids.next() { print(id) }
/// ```
public struct IndexedIDCursor: Cursor {
  private var entries: IndexEntryCursor
  private let view: ReadView

  init(_ view: ReadView, _ name: String, _ range: IndexRange, descending: Bool) throws {
    entries = try IndexEntryCursor(view, name, range, descending: descending)
    self.view = view
  }

  /// The next ID; nil at the end.
  public mutating func next() throws -> String? {
    guard try entries.advance() else { return nil }
    return try view.text(ofID: entries.id)
  }
}

/// A cursor over documents in index order, and in ID byte order where values are equal.
///
/// ```swift
/// var films = try database.snapshot().documents(by: "by year", 1927..., descending: true)
/// while let film = try films.next() { print(film.id) }
/// ```
///
/// A damaged document makes `next()` throw; the next call continues after it.
public struct IndexedDocumentCursor: Cursor {
  private var entries: IndexEntryCursor
  private let view: ReadView

  init(_ view: ReadView, _ name: String, _ range: IndexRange, descending: Bool) throws {
    entries = try IndexEntryCursor(view, name, range, descending: descending)
    self.view = view
  }

  /// The next document; nil at the end.
  public mutating func next() throws -> Document? {
    while try entries.advance() {
      let id = entries.id
      if let entry = try view.entry(id), !entry.isDeleted {
        return try view.document(id, at: entry.location)
      }
    }
    return nil
  }
}
