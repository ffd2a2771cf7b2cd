import DivanLog

// What a transaction reads besides documents: revisions and changes, with its own changes. Replication asks these
// within the transaction that stores the answer, so that nothing comes between.

extension WriteTransaction {
  /// What ``Snapshot/revision(of:)`` says, with the changes of this transaction.
  public func revision(of id: String) throws -> RevisionID? {
    try check()
    return try view.entry(id)?.revision
  }

  /// What ``Snapshot/tombstone(_:)`` says, with the changes of this transaction.
  public func tombstone(_ id: String) throws -> Document? {
    try check()
    return try view.tombstone(id)
  }

  /// What ``Snapshot/revisions(of:)`` says, with the changes of this transaction.
  public func revisions(of id: String) throws -> [RevisionID] {
    try check()
    return try view.revisions(of: id)
  }

  /// What ``Snapshot/revisions(leadingTo:of:)`` says, with the changes of this transaction.
  public func revisions(leadingTo revision: RevisionID, of id: String) throws -> [RevisionID] {
    try check()
    return try view.revisions(leadingTo: revision, of: id)
  }

  /// What ``Snapshot/leafRevisions(of:)`` says, with the changes of this transaction.
  public func leafRevisions(of id: String) throws -> [LeafRevision] {
    try check()
    return try view.leafRevisions(of: id)
  }

  /// What ``Snapshot/revision(_:of:)`` says, with the changes of this transaction.
  public func revision(_ revision: RevisionID, of id: String) throws -> Document? {
    try check()
    return try view.revision(revision, of: id)
  }

  /// What ``Snapshot/missing(among:)`` says, with the changes of this transaction.
  public func missing(
    among revisions: [String: [RevisionID]]
  ) throws -> [String: MissingRevisions] {
    try check()
    return try view.missing(among: revisions)
  }

  /// The latest change of each document that changed after `sequence`, as it is now, oldest first; later changes do
  /// not show.
  public func changes(since sequence: UInt64 = 0) throws -> ChangeCursor {
    try check()
    return ChangeCursor(view, since: sequence)
  }

  /// What ``Snapshot/changeCount(since:)`` says, with the changes of this transaction.
  public func changeCount(since sequence: UInt64 = 0) throws -> Int {
    try check()
    return try view.changeCount(since: sequence)
  }
}
