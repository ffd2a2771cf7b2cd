extension Snapshot {
  /// The value of a type that the document of this ID is; nil if there is none or it is deleted.
  ///
  /// ```swift
  /// let film = try snapshot.get(Film.self, "metropolis")
  /// ```
  ///
  /// - Throws: as ``get(_:)-(String)`` and ``Document/decode(_:)``.
  public func get<T: Decodable>(_ type: T.Type, _ id: String) throws -> T? {
    try get(id)?.decode(type)
  }

  /// The values of a type that the documents of these IDs are, in their order; nil where there is none.
  ///
  /// - Throws: as ``get(_:)-([String])`` and ``Document/decode(_:)``.
  public func get<T: Decodable>(_ type: T.Type, _ ids: [String]) throws -> [T?] {
    try get(ids).map { try $0?.decode(type) }
  }

  /// The values of a type that the documents in a range are, in the order of the bytes of their IDs.
  ///
  /// Every document in the range is to be of the type.
  public func documents<T: Decodable>(
    _ type: T.Type, _ range: IDRange = .all, descending: Bool = false
  ) -> DecodingCursor<T> {
    DecodingCursor(documents(range, descending: descending))
  }
}

/// Values of a type one after the other: `while let film = try cursor.next() { … }`.
///
/// A document that is damaged, or does not fit the type, makes `next()` throw; the call after that goes
/// on behind it.
public struct DecodingCursor<T: Decodable> {
  private var documents: DocumentCursor

  init(_ documents: DocumentCursor) { self.documents = documents }

  /// The next value; nil at the end.
  public mutating func next() throws -> T? { try documents.next()?.decode(T.self) }

  /// All that are left, as an array.
  public mutating func rest() throws -> [T] {
    var all: [T] = []
    while let value = try next() { all.append(value) }
    return all
  }
}
