import DivanLog

/// A cursor over document IDs: `while let id = try cursor.next() { … }`.
///
/// ```swift
/// var ids = try database.snapshot().ids(.prefix("film:"))
/// while let id = try ids.next() { print(id) }
/// ```
public struct IDCursor: Cursor {
  private var entries: EntryCursor
  private let view: ReadView

  init(_ view: ReadView, _ range: IDRange, descending: Bool) {
    entries = EntryCursor(view, range, descending: descending)
    self.view = view
  }

  /// Returns the next ID; nil at the end.
  public mutating func next() throws -> String? {
    guard let (id, _) = try entries.next() else { return nil }
    return try view.text(ofID: id)
  }
}

/// A cursor over documents: `while let document = try cursor.next() { … }`.
///
/// ```swift
/// var films = try database.snapshot().documents(.prefix("film:"), descending: true)
/// while let film = try films.next() { print(film["title"]?.stringValue ?? film.id) }
/// ```
///
/// A damaged document makes `next()` throw; the call after that continues after it.
public struct DocumentCursor: Cursor {
  private var cursor: DocumentLocationCursor
  private let view: ReadView

  init(_ view: ReadView, _ range: IDRange, descending: Bool) {
    cursor = DocumentLocationCursor(view, range, descending: descending)
    self.view = view
  }

  /// Returns the next document; nil at the end.
  public mutating func next() throws -> Document? {
    try cursor.advance() ? try view.document(cursor.id, at: cursor.location) : nil
  }

  /// Returns only the ID and the properties of the next document; nil at the end.
  mutating func nextProperties() throws(DatabaseError) -> (id: String, properties: SharedBytes)? {
    guard try cursor.advance() else { return nil }
    let properties = try view.winningRecord(at: cursor.location, cursor.id).takeProperties()
    return (try view.text(ofID: cursor.id), properties)
  }
}
