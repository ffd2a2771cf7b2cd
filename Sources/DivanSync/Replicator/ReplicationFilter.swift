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
    case ids(Set<String>)
    case types(Set<String>)
    case closure(String, @Sendable (Change) -> Bool)
  }

  package let kind: Kind

  /// Copies all documents.
  public static let all = ReplicationFilter(kind: .all)

  /// Copies the documents with these IDs.
  public static func documentIDs(_ ids: some Sequence<String>) -> ReplicationFilter {
    ReplicationFilter(kind: .ids(Set(ids)))
  }

  /// Copies the documents whose winning revision has one of these values of the property `type`.
  ///
  /// Deletions are always copied: a tombstone usually has no type. A peer therefore also gets the
  /// IDs of deleted documents of other types.
  public static func documentTypes(_ types: String...) -> ReplicationFilter {
    ReplicationFilter(kind: .types(Set(types)))
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
    case .closure(let name, _): ["closure": .string(name)]
    }
  }

  package func includes(_ change: Change) -> Bool {
    switch kind {
    case .all: true
    case .ids(let ids): ids.contains(change.id)
    case .types(let types):
      change.isDeleted
        || change.document["type"]?.stringValue.map { types.contains($0) } ?? false
    case .closure(_, let isIncluded): isIncluded(change)
    }
  }
}
