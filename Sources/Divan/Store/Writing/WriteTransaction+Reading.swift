import DivanLog

// Reads of revisions and changes that include the transaction's own changes. Replication reads
// these in the transaction that stores the answer, so that no other write comes in between.

extension WriteTransaction {
  /// Returns the same as ``Snapshot/revision(of:)``, with the changes of this transaction.
  public func revision(of id: String) throws -> RevisionID? {
    try check()
    return try view.entry(id)?.revision
  }

  /// Returns the same as ``Snapshot/tombstone(_:)``, with the changes of this transaction.
  public func tombstone(_ id: String) throws -> Document? {
    try check()
    return try view.tombstone(id)
  }

  /// Returns the same as ``Snapshot/revisions(of:)``, with the changes of this transaction.
  public func revisions(of id: String) throws -> [RevisionID] {
    try check()
    return try view.revisions(of: id)
  }

  /// Returns the same as ``Snapshot/revisions(leadingTo:of:)``, with this transaction's changes.
  public func revisions(leadingTo revision: RevisionID, of id: String) throws -> [RevisionID] {
    try check()
    return try view.revisions(leadingTo: revision, of: id)
  }

  /// Returns the same as ``Snapshot/leafRevisions(of:)``, with the changes of this transaction.
  public func leafRevisions(of id: String) throws -> [LeafRevision] {
    try check()
    return try view.leafRevisions(of: id)
  }

  /// Returns the same as ``Snapshot/revision(_:of:)``, with the changes of this transaction.
  public func revision(_ revision: RevisionID, of id: String) throws -> Document? {
    try check()
    return try view.revision(revision, of: id)
  }

  /// Returns the same as ``Snapshot/missingRevisions(among:)``, with the changes of this
  /// transaction.
  public func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) throws -> [String: MissingRevisions] {
    try check()
    return try view.missingRevisions(among: revisions)
  }

  /// Returns a cursor over the latest change of each document since `sequence`, oldest first.
  ///
  /// The cursor shows the changes as of now; later changes do not show.
  public func changes(since sequence: UInt64 = 0) throws -> ChangeCursor {
    try check()
    return ChangeCursor(view, since: sequence)
  }

  /// Returns the same as ``Snapshot/changeCount(since:)``, with the changes of this transaction.
  public func changeCount(since sequence: UInt64 = 0) throws -> Int {
    try check()
    return try view.changeCount(since: sequence)
  }
}
