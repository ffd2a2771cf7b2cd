import DivanLog

/// IDs of documents in the order of an index, and where values are equal in that of their bytes.
public struct IndexedIDCursor {
  private var entries: IndexEntryCursor
  private let view: StoreView

  init(_ view: StoreView, _ name: String, _ range: IndexRange, descending: Bool) throws {
    entries = try IndexEntryCursor(view, name, range, descending: descending)
    self.view = view
  }

  /// The next ID; nil at the end.
  public mutating func next() throws -> String? {
    guard try entries.advance() else { return nil }
    return try view.text(ofID: entries.id)
  }

  /// All that are left, as an array.
  public mutating func rest() throws -> [String] {
    var all: [String] = []
    while let id = try next() { all.append(id) }
    return all
  }
}

/// Documents in the order of an index, and where values are equal in that of the bytes of their IDs.
///
/// A damaged document makes `next()` throw; the call after that goes on behind it.
public struct IndexedDocumentCursor {
  private var entries: IndexEntryCursor
  private let view: StoreView

  init(_ view: StoreView, _ name: String, _ range: IndexRange, descending: Bool) throws {
    entries = try IndexEntryCursor(view, name, range, descending: descending)
    self.view = view
  }

  /// The next document; nil at the end.
  public mutating func next() throws -> Document? {
    while try entries.advance() {
      let id = entries.id
      if let entry = try view.entry(id), !entry.isDeleted {
        return try view.document(id, at: entry.place)
      }
    }
    return nil
  }

  /// All that are left, as an array.
  public mutating func rest() throws -> [Document] {
    var all: [Document] = []
    while let document = try next() { all.append(document) }
    return all
  }
}

extension Snapshot {
  /// Whether this version has an index just like that, which can be used.
  ///
  /// A past one has none of its own: it would have to be made for each question.
  func hasIndex(_ index: DocumentIndex) -> Bool {
    view.past == nil && view.state.indexes.contains { $0.index == index && $0.isReady }
  }

  /// The indexes of this version that can be used.
  var readyIndexes: [DocumentIndex] {
    view.past == nil ? view.state.indexes.filter(\.isReady).map(\.index) : []
  }

  /// Calls `body` with each value of its first property that an index of this version would have, and the document's
  /// ID.
  ///
  /// In the order of the IDs; every document is read. `orDamaged` is given the errors of those that are damaged.
  func forEachValue(
    of index: DocumentIndex, orDamaged: (DatabaseError) throws -> Void,
    _ body: (Value, String) -> Void
  ) throws {
    var documents = documents()
    while true {
      do {
        guard let document = try documents.next() else { return }
        let values = IndexEntries.values(index, of: try document.encoded())
        for values in values { body(values[0], document.id) }
      } catch let error as DatabaseError where error.code == .damaged {
        try orDamaged(error)
      }
    }
  }

  /// The documents whose values in an index are in a range, in the order of these values.
  ///
  /// Each document comes once, also if several elements of an array are meant. Costs one search, and then
  /// one step, one search and one read for each document; in a past version, which has no indexes, a read of
  /// every document. A partial index has only the documents that fulfil its conditions.
  ///
  /// - Parameters:
  ///   - index: the name of an index.
  ///   - range: which values.
  ///   - descending: whether in the opposite order, also of the IDs of documents whose values are equal.
  /// - Returns: a cursor that reads each document when it is asked for.
  /// - Throws: ``DatabaseError/Code/notFound`` if this version has no such index, or it was not whole yet;
  ///   ``DatabaseError/Code/invalidQuery`` if the range asks for more properties than the index has, or for one after
  ///   a property that may have several values.
  public func documents(
    by index: String, _ range: IndexRange = .all, descending: Bool = false
  ) throws -> IndexedDocumentCursor {
    try IndexedDocumentCursor(view, index, range, descending: descending)
  }

  /// The IDs of these documents, as ``documents(by:_:descending:)``; no document is read, unless long
  /// values begin alike.
  public func ids(
    by index: String, _ range: IndexRange = .all, descending: Bool = false
  ) throws -> IndexedIDCursor {
    try IndexedIDCursor(view, index, range, descending: descending)
  }

  /// How many documents there are whose values in an index are in a range.
  ///
  /// Costs a step for each, and reads no document, unless long values begin alike.
  public func count(by index: String, _ range: IndexRange = .all) throws -> Int {
    try view.count(by: index, range)
  }
}

extension WriteTransaction {
  /// The IDs of the documents that have a value of the first property in an index, or would have if there were such an
  /// index.
  func ids(of index: DocumentIndex, equalTo value: Value) throws -> [String] {
    try check()
    if state.indexes.contains(where: { $0.index == index && $0.isReady }) {
      var ids = try ids(by: index.name, .equal(to: value))
      return try ids.rest()
    }
    var ids: [String] = []
    var documents = try documents()
    while let document = try documents.next() {
      if IndexEntries.values(index, of: try document.encoded()).contains(where: { $0[0] == value })
      {
        ids.append(document.id)
      }
    }
    return ids
  }

  /// The documents whose values in an index are in a range, as they are now, in the order of these values:
  /// see ``Snapshot/documents(by:_:descending:)``.
  public func documents(
    by index: String, _ range: IndexRange = .all, descending: Bool = false
  ) throws -> IndexedDocumentCursor {
    try check()
    return try IndexedDocumentCursor(view, index, range, descending: descending)
  }

  /// The IDs of these documents: see ``Snapshot/ids(by:_:descending:)``.
  public func ids(
    by index: String, _ range: IndexRange = .all, descending: Bool = false
  ) throws -> IndexedIDCursor {
    try check()
    return try IndexedIDCursor(view, index, range, descending: descending)
  }

  /// How many there are: see ``Snapshot/count(by:_:)``.
  public func count(by index: String, _ range: IndexRange = .all) throws -> Int {
    try check()
    return try view.count(by: index, range)
  }
}
