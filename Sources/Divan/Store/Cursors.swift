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
  public let sequence: UInt64
  /// Which document.
  public var id: String { document.id }
  /// To which revision.
  public var revision: RevisionID? { document.revision }
  /// Whether it was deleted.
  public var isDeleted: Bool { document.isDeleted }
  /// The document after the change: its winning revision.
  public let document: Document
  /// Who made the change, if it was brought here from elsewhere.
  public let origin: String?
  /// Whether the document is said to have several revisions at once: see
  /// ``Snapshot/conflicts(of:)``.
  public let hasConflicts: Bool
}

/// Changes one after the other, in the order of their sequence numbers.
public struct ChangeCursor {
  private let view: StoreView
  private var scan: LayeredScan
  /// The sequence number of the change that was read last, or was to be read; where it began, before.
  private(set) var position: UInt64

  init(_ view: StoreView, since sequence: UInt64) {
    self.view = view
    position = sequence
    let key = sequence.withBigEndianBytes { key in key.indices.map { key[$0] } }
    scan = view.state.sequences.scan(from: .exclusive(key))
  }

  /// The next change; nil at the end.
  public mutating func next() throws -> Change? {
    guard let entry = try view.step(&scan) else { return nil }
    if entry.key.count == 8 {
      position = max(position, UInt64(bigEndian: entry.key.load(UInt64.self, at: 0)))
    }
    let locator = try view.decodeLocator(entry.value)
    let record = try view.record(at: locator)
    guard let id = record.id else {
      throw DatabaseError(
        Damage(path: view.store.path, offset: 0, reason: "a document ID that is no text"))
    }
    let document =
      try record.details?.winner.map { (winner) throws(DatabaseError) in
        view.document(id, of: try view.olderRecord(winner.sequence, of: id))
      } ?? view.document(id, of: record)
    let hasConflicts =
      record.details?.tree == nil ? false : try !view.tree(of: record).conflicts.isEmpty
    return Change(
      sequence: record.sequence, document: document, origin: record.details?.origin,
      hasConflicts: hasConflicts)
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
  private var scan: LayeredScan

  init(_ view: StoreView, _ range: IDRange, descending: Bool) {
    self.view = view
    scan = view.state.documents.scan(from: range.lower, to: range.upper, descending: descending)
  }

  mutating func next() throws(DatabaseError) -> (id: String, entry: DocumentEntry)? {
    while true {
      guard let item = try view.step(&scan) else { return nil }
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
  /// The next entry of a scan.
  func step(_ scan: inout LayeredScan) throws(DatabaseError) -> IndexEntry? {
    guard !store.isClosed else { throw Store.closedError }
    while true {
      do throws(PageError) {
        return try scan.next()
      } catch {
        try store.repairIndex(error, in: state)
      }
    }
  }
}
