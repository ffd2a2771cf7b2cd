import DivanLog

/// A revision of a document: what is known of it, and its content if that is still held.
public struct Revision: Sendable, Identifiable {
  /// The revision's ID.
  public let id: RevisionID
  /// The document as this revision has it; nil if its content is not held.
  ///
  /// The content of every leaf is held, that of earlier revisions for as long as the configuration's
  /// history or a named snapshot asks for it.
  public let document: Document?
}

extension Snapshot {
  /// The IDs of the winning revision and of those before it, newest first, as far as they are known.
  ///
  /// As many are kept as ``Configuration/revisionDepth`` says. Of a deleted document too; empty if there
  /// never was one.
  public func revisions(of id: String) throws -> [RevisionID] { try view.revisions(of: id) }

  /// The IDs of a revision and of those before it, newest first, as far as they are known: what
  /// ``WriteTransaction/insert(_:history:isDeleted:contradictions:origin:)`` asks for in another store.
  ///
  /// Empty if the revision is not known.
  public func revisions(leadingTo revision: RevisionID, of id: String) throws -> [RevisionID] {
    try view.revisions(leadingTo: revision, of: id)
  }

  /// The winning revision and those before it, newest first, with their contents where these are held.
  ///
  /// Costs a read for each content.
  public func history(of id: String) throws -> [Revision] {
    guard let entry = try view.entry(id) else { return [] }
    let newest = try view.newestRecord(of: entry, id)
    let held = try view.heldRecords(of: id, entry, newest)
    return try view.tree(of: newest).winningHistory.map { node in
      Revision(
        id: node.revision, document: held[node.revision].map { view.document(id, of: $0) })
    }
  }

  /// All revisions that nothing was made from, the winning one first, deleted ones too.
  ///
  /// One, unless there is or was a conflict.
  public func leaves(of id: String) throws -> [Document] { try view.leaves(of: id) }

  /// The IDs of the same revisions, in the same order, whose contents are not read.
  public func leafRevisions(of id: String) throws -> [LeafRevision] {
    try view.leafRevisions(of: id)
  }

  /// The revisions that a document is said to have at once, the winning one first: more than one
  /// while there is a *conflict*.
  ///
  /// They are the leaves that are not deleted. Reads the index only where there was never a conflict,
  /// besides the document itself.
  public func conflicts(of id: String) throws -> [Document] {
    try view.leaves(of: id).filter { !$0.isDeleted }
  }

  /// A revision of a document by its ID; nil if it is not known, or if its content is not held.
  public func revision(_ revision: RevisionID, of id: String) throws -> Document? {
    try view.revision(revision, of: id)
  }
}

/// What a store has to be sent of a document's revisions that another one has.
public struct MissingRevisions: Sendable, Equatable {
  /// The revisions that are not known.
  public let missing: [RevisionID]
  /// Known revisions that may be ancestors of missing ones, the highest first: of what was made from
  /// one of them, the history need not reach further back.
  public let possibleAncestors: [RevisionID]
}

extension Snapshot {
  /// Which of some revisions are not known here, whatever became of their contents.
  ///
  /// - Parameter revisions: document IDs with revisions of theirs.
  /// - Returns: the documents of which something is missing.
  /// - Throws: ``DatabaseError`` with the code `damaged`, `inputOutput` or `closed`.
  public func missing(
    among revisions: [String: [RevisionID]]
  ) throws -> [String: MissingRevisions] {
    try view.missing(among: revisions)
  }
}
