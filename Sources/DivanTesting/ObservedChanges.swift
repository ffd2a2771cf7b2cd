public import Divan
import DivanLog

/// Which documents were inserted, updated and deleted between two states of a database.
///
/// ```swift
/// let changes = try observeChanges(in: database) { try ledger.move(5, from: "ann", to: "bob") }
/// #expect(changes == ObservedChanges(inserted: ["transfer-1"], updated: ["ann", "bob"]))
/// ```
///
/// It has the effect of all commits together: a document that was inserted and deleted again is not
/// in it. IDs are sorted by their bytes.
public struct ObservedChanges: Sendable, Hashable {
  /// The IDs of documents that are only in the later state.
  public let inserted: [String]
  /// The IDs of documents that have another revision in the later state.
  public let updated: [String]
  /// The IDs of documents that are only in the earlier state; they were deleted, purged or expired.
  public let deleted: [String]

  /// Creates the changes that a test expects; the order of the IDs makes no difference.
  public init(
    inserted: some Sequence<String> = [], updated: some Sequence<String> = [],
    deleted: some Sequence<String> = []
  ) {
    func sort(_ ids: some Sequence<String>) -> [String] { ids.sorted { compareUTF8($0, $1) < 0 } }
    self.inserted = sort(inserted)
    self.updated = sort(updated)
    self.deleted = sort(deleted)
  }

  /// Compares two snapshots of a database.
  ///
  /// Takes time and memory for the IDs of all documents.
  ///
  /// - Throws: The errors of reading.
  public init(from earlier: Snapshot, to later: Snapshot) throws {
    self.init(from: try DocumentRevisions(earlier), to: try DocumentRevisions(later))
  }

  init(from earlier: DocumentRevisions, to later: DocumentRevisions) {
    var (inserted, updated, deleted): ([String], [String], [String]) = ([], [], [])
    earlier.forEachPair(with: later) { id, old, new in
      if old == nil {
        inserted.append(id)
      } else if new == nil {
        deleted.append(id)
      } else if old != new {
        updated.append(id)
      }
    }
    self.init(inserted: inserted, updated: updated, deleted: deleted)
  }

  /// Whether nothing was changed.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension ObservedChanges: CustomStringConvertible {
  /// The IDs by kind, such as `inserted "a", "b"; deleted "c"`.
  public var description: String {
    let parts = [("inserted", inserted), ("updated", updated), ("deleted", deleted)]
      .filter { !$0.1.isEmpty }
      .map { kind, ids in
        "\(kind) \(ids.map(\.debugDescription).joined(separator: ", "))"
      }
    return parts.isEmpty ? "no changes" : parts.joined(separator: "; ")
  }
}

/// The winning revision of each document of a snapshot, in the order of their IDs.
struct DocumentRevisions {
  private var rows: [(id: String, revision: RevisionID?)] = []

  init(_ snapshot: Snapshot) throws {
    var documents = snapshot.documents()
    while let document = try documents.next() { rows.append((document.id, document.revision)) }
  }

  /// Calls `body` for each ID, with the revisions here and in the other; nil where it has none.
  func forEachPair(
    with other: DocumentRevisions, _ body: (String, RevisionID?, RevisionID?) -> Void
  ) {
    var (mine, theirs) = (rows[...], other.rows[...])
    while let id = [mine.first?.id, theirs.first?.id].compactMap({ $0 })
      .min(by: { compareUTF8($0, $1) < 0 })
    {
      func take(_ rows: inout ArraySlice<(id: String, revision: RevisionID?)>) -> RevisionID? {
        guard let row = rows.first, haveSameUTF8(row.id, id) else { return nil }
        rows.removeFirst()
        return row.revision
      }
      let old = take(&mine)
      body(id, old, take(&theirs))
    }
  }
}
