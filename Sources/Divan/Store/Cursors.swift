import DivanLog

/// Document IDs one after the other.
///
/// Like every cursor it has a `next()` that throws, instead of being a `Sequence`, because reading can
/// fail: `while let id = try cursor.next() { … }`.
public struct IDCursor {
  private var entries: EntryCursor

  init(_ view: StoreView, _ range: IDRange, descending: Bool) {
    entries = EntryCursor(view, range, descending: descending)
  }

  /// The next ID; nil at the end.
  public mutating func next() throws -> String? { try entries.next()?.id }

  /// All that are left, as an array.
  public mutating func rest() throws -> [String] {
    var all: [String] = []
    while let id = try next() { all.append(id) }
    return all
  }
}

/// Documents one after the other: `while let document = try cursor.next() { … }`.
///
/// A damaged document makes `next()` throw; the call after that goes on behind it.
public struct DocumentCursor {
  private var entries: EntryCursor
  private let view: StoreView

  init(_ view: StoreView, _ range: IDRange, descending: Bool) {
    entries = EntryCursor(view, range, descending: descending)
    self.view = view
  }

  /// The next document; nil at the end.
  public mutating func next() throws -> Document? {
    guard let (id, entry) = try entries.next() else { return nil }
    return try view.document(id, entry)
  }

  /// All that are left, as an array.
  public mutating func rest() throws -> [Document] {
    var all: [Document] = []
    while let document = try next() { all.append(document) }
    return all
  }
}

/// A document that changed, with its latest change.
public struct Change: Sendable, Equatable {
  /// When, in the store's own order.
  public var sequence: UInt64 { document.sequence }
  /// Which document.
  public var id: String { document.id }
  /// To which revision.
  public var revision: RevisionID? { document.revision }
  /// Whether it was deleted.
  public var isDeleted: Bool { document.isDeleted }
  /// The document after the change.
  public let document: Document
}

/// Changes one after the other, in the order of their sequence numbers.
public struct ChangeCursor {
  private let view: StoreView
  private let start: UInt64
  private var scan: LayeredTree.Scan?
  private var last: UInt64

  init(_ view: StoreView, since sequence: UInt64) {
    self.view = view
    start = sequence
    last = sequence
  }

  /// The next change; nil at the end.
  public mutating func next() throws -> Change? {
    guard last < .max else { return nil }
    guard
      let entry = try view.step(
        &scan,
        begin: { [last] state throws(PageError) in
          let key = last.withBigEndianBytes { key in key.indices.map { key[$0] } }
          return try state.sequences.scan(
            from: .exclusive(key), to: .unbounded, descending: false)
        })
    else { return nil }
    let locator = try view.decodeLocator(entry.value)
    var reader = ByteReader(entry.key)
    if let sequence = try? reader.read(UInt64.self) { last = UInt64(bigEndian: sequence) }
    let record = try view.record(at: locator)
    return Change(document: Document(id: record.id, record))
  }

  /// All that are left, as an array.
  public mutating func rest() throws -> [Change] {
    var all: [Change] = []
    while let change = try next() { all.append(change) }
    return all
  }
}

/// Index entries of documents that are not deleted, one after the other.
struct EntryCursor {
  private let view: StoreView
  private var range: IDRange
  private let descending: Bool
  private var scan: LayeredTree.Scan?

  init(_ view: StoreView, _ range: IDRange, descending: Bool) {
    self.view = view
    self.range = range
    self.descending = descending
  }

  mutating func next() throws(DatabaseError) -> (id: String, entry: DocumentEntry)? {
    while true {
      let item = try view.step(
        &scan,
        begin: { [range, descending] (state) throws(PageError) in
          try state.documents.scan(from: range.lower, to: range.upper, descending: descending)
        })
      guard let item else { return nil }
      let entry = try view.decodeEntry(item.value)
      guard !entry.isDeleted else { continue }
      guard let id = item.key.text else {
        throw DatabaseError(
          Damage(path: view.store.path, offset: 0, reason: "a document ID that is no text"))
      }
      return (id, entry)
    }
  }
}

extension StoreView {
  /// The next entry of a scan, which is begun if there is none yet.
  func step(
    _ scan: inout LayeredTree.Scan?,
    begin: (StoreState) throws(PageError) -> LayeredTree.Scan
  ) throws(DatabaseError) -> (key: SharedBytes, value: SharedBytes)? {
    guard !store.isClosed else { throw Store.closedError }
    var current: LayeredTree.Scan
    if let scan { current = scan } else { current = try repairing(begin) }
    scan = nil
    defer { scan = current }
    while true {
      do throws(PageError) {
        return try current.next()
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}
