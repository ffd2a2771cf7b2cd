public import Divan
import DivanLog

/// The documents that a replication copies.
///
/// ```swift
/// let filter = ReplicationFilter.documentTypes("Note", "Folder")
/// try await Replicator(database, peer, filter: filter).replicate()
/// ```
///
/// A replication with another filter has other checkpoints, so it begins with the first change.
public struct ReplicationFilter: Sendable {
  package enum Kind: Sendable {
    case all
    case ids(DocumentIDs)
    case types(Set<String>)
    case selector(MangoSelector)
    case closure(String, @Sendable (Change) -> Bool)
  }

  package let kind: Kind

  /// Copies all documents.
  public static let all = ReplicationFilter(kind: .all)

  /// Copies the documents with these IDs.
  public static func documentIDs(_ ids: some Sequence<String>) -> ReplicationFilter {
    ReplicationFilter(kind: .ids(DocumentIDs(ids)))
  }

  /// Copies the revisions with one of these values of the property `type`.
  ///
  /// Each leaf revision is evaluated on its own, by the source: of a document in conflict, branches
  /// of other types are not copied.
  ///
  /// Deletions are always copied: a tombstone usually has no type. A peer therefore also gets the
  /// IDs of deleted documents of other types.
  public static func documentTypes(_ types: String...) -> ReplicationFilter {
    ReplicationFilter(kind: .types(Set(types)))
  }

  /// Copies the revisions that a selector matches.
  ///
  /// ```swift
  /// let selector = try MangoSelector([
  ///   "$or": [["type": "note", "archived": ["$ne": true]], ["_deleted": true]]
  /// ])
  /// let replicator = Replicator(database, server, filter: .selector(selector))
  /// ```
  ///
  /// A server evaluates it when you pull, and this process when you push. Each leaf revision is
  /// evaluated on its own, as CouchDB does: of a document in conflict, some branches may be copied
  /// and others not.
  ///
  /// A deleted revision is evaluated, too. Most tombstones have no properties but `_deleted`, so
  /// `{"type": "note"}` copies no deletions; the selector above copies all of them. A document that
  /// does not match any more stays in the target as it was.
  public static func selector(_ selector: MangoSelector) -> ReplicationFilter {
    ReplicationFilter(kind: .selector(selector))
  }

  /// Copies the documents whose latest change a closure accepts.
  ///
  /// Only a source in this process can call it, so it is for pushing.
  ///
  /// - Parameters:
  ///   - name: A name that changes when the closure changes: checkpoints are found by it.
  ///   - isIncluded: Returns whether to copy the document. It gets deletions, too.
  /// - Returns: The filter.
  public static func named(
    _ name: String, _ isIncluded: @escaping @Sendable (Change) -> Bool
  ) -> ReplicationFilter {
    ReplicationFilter(kind: .closure(name, isIncluded))
  }
}

extension ReplicationFilter {
  /// The part of the ID of a replication that differs from filter to filter.
  package var identity: Value {
    switch kind {
    case .all: .null
    case .ids(let ids): ["ids": .array(ids.sorted().map { .string($0) })]
    case .types(let types): ["types": .array(types.sorted().map { .string($0) })]
    case .selector(let selector): ["selector": selector.value]
    case .closure(let name, _): ["closure": .string(name)]
    }
  }

  /// Returns the leaf revisions of a changed document that are copied; none if it is skipped.
  package func leaves(of change: Change, in snapshot: Snapshot) throws -> [RevisionID] {
    try leaves(of: change, in: snapshot, until: nil)
  }

  /// Returns the leaf revisions that are copied, unless the filter takes too long.
  ///
  /// - Throws: ``SelectorFailure/timeIsOver``.
  func leaves(
    of change: Change, in snapshot: Snapshot, until deadline: ContinuousClock.Instant?
  ) throws -> [RevisionID] {
    var clock = SelectorClock(deadline: deadline)
    let leaves = change.leaves.map(\.id)
    let isIncluded: (Document) throws -> Bool
    switch kind {
    case .all: return leaves
    case .ids(let ids): return ids.contains(change.id) ? leaves : []
    case .closure(_, let isIncluded): return isIncluded(change) ? leaves : []
    case .types(let types):
      isIncluded = { document in
        document.isDeleted || document["type"]?.stringValue.map { types.contains($0) } ?? false
      }
    case .selector(let selector): isIncluded = { try selector.matches($0, &clock) }
    }
    return try leaves.filter { revision in
      // Most documents have one leaf, which is already read.
      let document =
        try revision == change.revision
        ? change.document : snapshot.revision(revision, of: change.id)
      return try document.map(isIncluded) ?? false
    }
  }
}
