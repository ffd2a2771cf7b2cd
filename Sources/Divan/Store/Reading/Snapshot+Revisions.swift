import DivanLog

/// A revision of a document: its ID, and its content if that is retained.
///
/// ```swift
/// for revision in try database.snapshot().history(of: "note") {
///   print(revision.id, revision.document?["text"]?.stringValue ?? "not retained")
/// }
/// ```
public struct Revision: Sendable, Identifiable {
  /// The revision's ID.
  public let id: RevisionID
  /// The document at this revision; nil if its content is not retained.
  ///
  /// The content of every leaf is retained. Earlier contents are retained while the configuration's
  /// history or a named snapshot requires them.
  public let document: Document?
}

extension Snapshot {
  /// Returns the IDs of the winning revision and its known ancestors, newest first.
  ///
  /// At most ``Configuration/revisionDepth`` are kept. Also works for a deleted document; empty if
  /// there never was one.
  public func revisions(of id: String) throws -> [RevisionID] { try view.revisions(of: id) }

  /// Returns the IDs of a revision and its known ancestors, newest first.
  ///
  /// Pass them to ``WriteTransaction/insert(_:history:isDeleted:contradictions:origin:)`` in
  /// another store. Empty if the revision is not known.
  public func revisions(leadingTo revision: RevisionID, of id: String) throws -> [RevisionID] {
    try view.revisions(leadingTo: revision, of: id)
  }

  /// Returns the winning revision and its ancestors, newest first, with their retained contents.
  ///
  /// Costs one read for each content.
  public func history(of id: String) throws -> [Revision] {
    guard let entry = try view.entry(id) else { return [] }
    let newest = try view.newestRecord(of: entry, id)
    let records = try view.retainedRecords(of: id, entry, newest)
    return try view.tree(of: newest).winningHistory.map { node in
      Revision(
        id: node.revision, document: records[node.revision].map { view.document(id, of: $0) })
    }
  }

  /// Returns all revisions without successors, the winning one first, including deleted ones.
  ///
  /// There is one, unless there is or was a conflict.
  public func leaves(of id: String) throws -> [Document] { try view.leaves(of: id) }

  /// Returns the IDs of the leaves, in the order of ``leaves(of:)``, and reads no contents.
  public func leafRevisions(of id: String) throws -> [LeafRevision] {
    try view.leafRevisions(of: id)
  }

  /// Returns the IDs of the leaves that a revision is or leads to, and reads no contents.
  ///
  /// Takes time in proportion to the number of known revisions.
  package func leafRevisions(
    above revision: RevisionID, of id: String
  ) throws -> [RevisionID] {
    try view.leafRevisions(above: revision, of: id)
  }

  /// Returns the leaves that are not deleted, the winning one first.
  ///
  /// There is more than one during a *conflict*: see ``hasConflict(_:)``.
  ///
  /// If there was never a conflict, this reads only the index and the document itself.
  public func branches(of id: String) throws -> [Document] {
    try view.leaves(of: id).filter { !$0.isDeleted }
  }

  /// Returns whether a document has several branches, so that its winner hides other contents.
  ///
  /// Reads no contents; false if there is no document with this ID.
  public func hasConflict(_ id: String) throws -> Bool {
    try view.leafRevisions(of: id).count { !$0.isDeleted } > 1
  }

  /// Returns a revision of a document by its ID; nil if it is not known or its content is not
  /// retained.
  public func revision(_ revision: RevisionID, of id: String) throws -> Document? {
    try view.revision(revision, of: id)
  }
}

/// The revisions of a document that another store has and this one lacks.
///
/// ```swift
/// let offered = try other.snapshot().leafRevisions(of: "note").map(\.id)
/// let missing = try database.snapshot().missingRevisions(among: ["note": offered])
/// for revision in missing["note"]?.missing ?? [] { print(revision) }
/// ```
public struct MissingRevisions: Sendable, Equatable {
  /// The revisions that are not known.
  public let missing: [RevisionID]
  /// Known revisions that may be ancestors of missing ones, the highest first.
  ///
  /// The history of a revision made from one of them need not reach further back.
  public let possibleAncestors: [RevisionID]

  /// Creates the answer of another store.
  public init(missing: [RevisionID], possibleAncestors: [RevisionID] = []) {
    self.missing = missing
    self.possibleAncestors = possibleAncestors
  }
}

extension Snapshot {
  /// Returns which of some revisions are not known here, whether or not their contents are
  /// retained.
  ///
  /// - Parameter revisions: Document IDs with revisions of those documents.
  /// - Returns: The documents with missing revisions.
  /// - Throws: ``DatabaseError`` with the code `damaged`, `inputOutput` or `closed`.
  public func missingRevisions(
    among revisions: [String: [RevisionID]]
  ) throws -> [String: MissingRevisions] {
    try view.missingRevisions(among: revisions)
  }
}
