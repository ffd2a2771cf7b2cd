import DivanLog

/// A document that changed, with its latest change.
///
/// ```swift
/// for change in try snapshot.changes().collect() where change.hasConflicts {
///   print(change.id, change.leaves.map(\.id))
/// }
/// ```
public struct Change: Sendable, Hashable, Identifiable {
  /// The sequence number of the change: its position in the store's order.
  public let sequence: UInt64
  /// The ID of the document.
  public var id: String { document.id }
  /// The revision after the change.
  public var revision: RevisionID? { document.revision }
  /// Whether it was deleted.
  public var isDeleted: Bool { document.isDeleted }
  /// The document after the change: its winning revision.
  public let document: Document
  /// The origin of the change, if another store made it.
  public let origin: String?
  /// The leaves of the tree other than ``revision``, in the order in which they would win.
  let otherLeaves: [LeafRevision]
}

extension Change {
  /// Whether the document has several revisions at once: see ``Snapshot/branches(of:)``.
  public var hasConflicts: Bool { otherLeaves.contains { !$0.isDeleted } }

  /// The IDs of all leaf revisions, the winning one first, deleted ones too.
  ///
  /// CouchDB's feed returns the same for `style=all_docs`. The contents are not read:
  /// ``Snapshot/revision(_:of:)`` does that.
  public var leaves: [LeafRevision] {
    guard let revision else { return otherLeaves }
    return [LeafRevision(id: revision, isDeleted: isDeleted)] + otherLeaves
  }
}

/// A cursor over changes, in the order of their sequence numbers.
///
/// ```swift
/// var changes = try database.snapshot().changes(since: last)
/// while let change = try changes.next() {
///   print(change.id, change.isDeleted ? "was deleted" : "was stored")
/// }
/// ```
public struct ChangeCursor: Cursor {
  private let view: ReadView
  private var scan: LayeredScan
  /// The changes to documents that were changed again since; only in a past version, once known.
  private var changedAgain: ChangesBefore?
  /// The sequence number of the last change that was read or tried; at first the starting position.
  package private(set) var position: UInt64

  init(_ view: ReadView, since sequence: UInt64) {
    self.view = view
    position = sequence
    scan = view.state.sequences.scan(
      from: .exclusive(sequence.bigEndianBytes),
      to: view.past.map { .inclusive($0.sequence.bigEndianBytes) } ?? .unbounded)
    changedAgain = view.past.map { ChangesBefore(since: sequence, through: $0.sequence) }
  }

  /// Returns the next change; nil at the end.
  public mutating func next() throws -> Change? {
    guard let locator = try nextLocator() else { return nil }
    let stored = try view.stored(at: locator)
    // Most changes are the newest revision of a document that has no other.
    guard let details = stored.details else {
      try view.checkText(ofID: stored.idBytes)
      return Change(
        sequence: stored.sequence, document: view.document(of: stored), origin: nil,
        otherLeaves: [])
    }
    let id = try view.text(ofID: stored.idBytes)
    let record = try view.record(at: locator)
    let entry = try view.entry(of: record, at: locator)
    let document =
      try entry.winningSequence.map { (sequence) throws(DatabaseError) in
        view.document(id, of: try view.retainedRecord(sequence, of: id))
      } ?? view.document(id, of: record)
    var leaves: [LeafRevision] = []
    if details.tree != nil {
      // A leaf of a past version may have been purged since, and its tree still names it.
      leaves =
        view.past == nil
        ? try view.tree(of: record).leafRevisions : try view.leafRevisions(of: id)
    }
    return Change(
      sequence: record.sequence, document: document, origin: details.origin,
      otherLeaves: Array(leaves.dropFirst()))
  }

  /// Returns the ID of the next document that changed; nil at the end.
  mutating func nextID() throws(DatabaseError) -> String? {
    guard let locator = try nextLocator() else { return nil }
    return try view.text(ofID: try view.stored(at: locator).idBytes)
  }

  private mutating func nextLocator() throws(DatabaseError) -> RecordLocator? {
    if var others = changedAgain {
      defer { changedAgain = others }
      return try others.next(of: view, besides: &scan)
    }
    guard let item = try view.step(&scan) else { return nil }
    if item.key.count == 8 {
      position = max(position, UInt64(bigEndian: item.key.load(UInt64.self, at: 0)))
    }
    return try view.decodeLocator(item)
  }
}
