import DivanLog

/// IDs of documents in the order of an index, and where values are equal in that of their bytes.
public struct IndexedIDCursor {
  private var entries: IndexEntryCursor

  init(_ view: StoreView, _ name: String, _ range: IndexRange, descending: Bool) throws {
    entries = try IndexEntryCursor(view, name, range, descending: descending)
  }

  /// The next ID; nil at the end.
  public mutating func next() throws -> String? { try entries.next() }

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
    while let id = try entries.next() {
      if let document = try view.document(id) { return document }
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
  func hasIndex(_ index: DocumentIndex) -> Bool {
    view.state.indexes.contains { $0.index == index && $0.isReady }
  }

  /// Calls `body` with each value that an index of this version would have, and the document's ID.
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
        for value in values { body(value, document.id) }
      } catch let error as DatabaseError where error.code == .damaged {
        try orDamaged(error)
      }
    }
  }

  /// The documents whose values in an index are in a range, in the order of these values.
  ///
  /// Each document comes once, also if several elements of an array are meant. Costs one search, and then
  /// one step, one search and one read for each document; in a past version, which has no indexes, a read of
  /// every document.
  ///
  /// - Parameters:
  ///   - index: the name of an index.
  ///   - range: which values.
  ///   - descending: whether in the opposite order, also of the IDs of documents whose values are equal.
  /// - Returns: a cursor that reads each document when it is asked for.
  /// - Throws: ``DatabaseError/Code/notFound`` if this version has no such index, or it was not whole yet.
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
  /// Costs as much as to walk over ``ids(by:_:descending:)``.
  public func count(by index: String, _ range: IndexRange = .all) throws -> Int {
    try view.count(by: index, range)
  }
}

extension WriteTransaction {
  /// The IDs of the documents that have a value in an index, or would have if there were such an index.
  func ids(of index: DocumentIndex, equalTo value: Value) throws -> [String] {
    try check()
    if state.indexes.contains(where: { $0.index == index && $0.isReady }) {
      var ids = try ids(by: index.name, .equal(to: value))
      return try ids.rest()
    }
    var ids: [String] = []
    var documents = try documents()
    while let document = try documents.next() {
      if IndexEntries.values(index, of: try document.encoded()).contains(value) {
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

extension StoreView {
  fileprivate func count(by index: String, _ range: IndexRange) throws(DatabaseError) -> Int {
    var entries = try IndexEntryCursor(self, index, range, descending: false)
    var count = 0
    while try entries.next() != nil { count += 1 }
    return count
  }

  /// An index that can be used.
  fileprivate func index(named name: String) throws(DatabaseError) -> KeptIndex {
    guard let kept = state.indexes.first(where: { $0.index.name == name }), kept.isReady else {
      if let locator = try locator(in: \.catalog, CatalogKey.index(SharedBytes(utf8: name))) {
        // It throws if its record cannot be read, which is another thing than that there is none.
        _ = try keptIndex(at: locator)
      }
      throw DatabaseError(
        .notFound, "there is no index \(name.debugDescription)",
        hint: "Make it with `addIndex` after the database was opened", path: store.path)
    }
    return kept
  }

  /// What the record of an index says; nil if there is no such index any more.
  func keptIndex(at locator: RecordLocator) throws(DatabaseError) -> KeptIndex? {
    let payload = try payload(of: .index, at: locator)
    do throws(ByteError) {
      return try IndexRecord.decode(payload).kept
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// What an index would hold of a version that has none, in its order.
  fileprivate func computedEntries(
    of kept: KeptIndex, _ range: IndexRange
  ) throws(DatabaseError) -> [[UInt8]] {
    var keys: [(key: [UInt8], id: [UInt8])] = []
    var documents = EntryCursor(self, .all, descending: false)
    while let (id, entry) = try documents.next() {
      let body = EncodedValue(try winningRecord(of: entry, id).body)
      var found: Set<[UInt8]> = []
      for value in IndexEntries.values(kept.index, of: body) where range.contains(value) {
        found.insert(IndexedValue(value).bytes)
      }
      let bytes = Array(id.utf8)
      keys += found.map { ($0 + bytes, bytes) }
    }
    return keys.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.id)
  }
}

/// The IDs of the documents of an index that are in a range, each once.
private struct IndexEntryCursor {
  private enum Source {
    case scan(LayeredScan)
    case computed(ArraySlice<[UInt8]>)
  }

  private let view: StoreView
  private let kept: KeptIndex
  private let range: IndexRange
  private var source: Source
  /// Those that were given, where a document may have several entries.
  private var seen: Set<[UInt8]>?

  init(
    _ view: StoreView, _ name: String, _ range: IndexRange, descending: Bool
  ) throws(DatabaseError) {
    self.view = view
    self.range = range
    kept = try view.index(named: name)
    if view.past != nil {
      let computed = try view.computedEntries(of: kept, range)
      source = .computed(ArraySlice(descending ? computed.reversed() : computed))
    } else if let bounds = range.bounds(IndexEntries.prefix(kept.number)) {
      source = .scan(
        view.state.catalog.scan(from: bounds.lower, to: bounds.upper, descending: descending))
    } else {
      source = .computed([])
    }
    seen = kept.index.eachElement && !range.isOneValue ? [] : nil
  }

  mutating func next() throws(DatabaseError) -> String? {
    while let id = try nextOfAll() {
      // By bytes: IDs that look alike are different ones.
      if seen?.insert(Array(id.utf8)).inserted ?? true { return id }
    }
    return nil
  }

  private mutating func nextOfAll() throws(DatabaseError) -> String? {
    switch source {
    case .computed(var ids):
      guard let id = ids.popFirst() else { return nil }
      source = .computed(ids)
      return String(decoding: id, as: UTF8.self)
    case .scan(var scan):
      defer { source = .scan(scan) }
      while let item = try view.step(&scan) {
        guard let (value, bytes) = IndexEntries.read(item), let id = bytes.text else {
          throw DatabaseError(
            Damage(path: view.store.path, offset: 0, reason: "an entry of an index that is none"))
        }
        guard let isMeant = range.contains(value) else {
          if try self.isMeant(id, value) { return id }
          continue
        }
        if isMeant { return id }
      }
      return nil
    }
  }

  /// Asks the document about a value that is cut.
  private func isMeant(_ id: String, _ bytes: SharedBytes) throws(DatabaseError) -> Bool {
    guard let entry = try view.entry(id), !entry.isDeleted else { return false }
    let body = EncodedValue(try view.winningRecord(of: entry, id).body)
    return IndexEntries.values(kept.index, of: body).contains {
      range.contains($0) && IndexedValue($0).bytes == bytes.array
    }
  }
}
