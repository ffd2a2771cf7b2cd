extension WriteTransaction {
  /// Returns all revisions without successors, the winning one first, including deleted ones.
  ///
  /// As ``Snapshot/leaves(of:)``, with the changes of this transaction.
  public func leaves(of id: String) throws -> [Document] {
    try check()
    return try view.leaves(of: id)
  }

  /// Returns the leaves that are not deleted, the winning one first.
  ///
  /// As ``Snapshot/branches(of:)``, with the changes of this transaction.
  public func branches(of id: String) throws -> [Document] {
    try leaves(of: id).filter { !$0.isDeleted }
  }

  /// Returns whether a document has several branches, with the changes of this transaction.
  public func hasConflict(_ id: String) throws -> Bool {
    try check()
    return try view.leafRevisions(of: id).count { !$0.isDeleted } > 1
  }

  /// Resolves a document's conflict: merges the changes of its branches into one live revision.
  ///
  /// ```swift
  /// try database.write {
  ///   try $0.resolve("film:1") { overlap in
  ///     overlap.path == ["stars"] ? .theirs : .mine
  ///   }
  /// }
  /// ```
  ///
  /// ``ThreeWayMerge`` merges the branches into the winning one, property by property and
  /// attachment by attachment. The base is the nearest common ancestor whose content is retained,
  /// according to ``Configuration/history``; if there is none, every difference overlaps. More than
  /// two branches are merged one after the other, in the order of ``branches(of:)``, and *mine* is
  /// the result so far.
  ///
  /// The result becomes the successor of the winning revision, unless it is the same, and every
  /// other branch is deleted. Resolving the same branches in the same way makes the same revisions
  /// on any machine. So stores that resolve a conflict at the same time do not make another one.
  ///
  /// Costs one record for each branch that ends; each contains the document's revision tree.
  ///
  /// - Parameters:
  ///   - id: The document's ID.
  ///   - overlap: Called for each property that was changed in different ways. Attachments are at
  ///     the path `_attachments` and their name, with type, digest and length; you can choose one
  ///     side, or none.
  /// - Returns: The document with its single revision; unchanged if it has no conflict; nil if
  ///   there is no such document.
  /// - Throws: Any error of `overlap`; ``DatabaseError/Code/conflict`` if it leaves something
  ///   unresolved, with the path of the first such property; and the errors of
  ///   ``put(_:)-(Document)``. The document is then unchanged.
  @discardableResult
  public func resolve(
    _ id: String, overlap: (ThreeWayMerge.Overlap) throws -> ThreeWayMerge.Resolution
  ) throws -> Document? {
    let branches = try branches(of: id)
    guard let winner = branches.first else { return nil }
    guard branches.count > 1, let entry = try view.entry(id) else { return winner }
    var merge = try BranchMerge(winner, entry, in: view)
    for branch in branches.dropFirst() {
      guard let unresolved = try merge.merge(branch, overlap).first else { continue }
      throw DatabaseError(
        .conflict, "a property was changed in different ways and is not resolved",
        hint: "Choose a side or give a value", documentID: id,
        propertyPath: unresolved.path.joined(separator: "."))
    }
    return try resolve(with: merge.result, among: branches)
  }

  /// Resolves a document's conflict with the given content, and deletes every other branch.
  ///
  /// - Parameter document: One of ``branches(of:)``, changed or unchanged.
  /// - Returns: The document with its single revision.
  /// - Throws: The errors of ``put(_:)-(Document)``; also ``DatabaseError/Code/conflict`` if the
  ///   document's revision is no longer live. Nothing is changed then.
  @discardableResult
  public func resolve(with document: Document) throws -> Document {
    let branches = try branches(of: document.id)
    guard branches.contains(where: { $0.revision == document.revision }) else {
      throw DatabaseError(
        .conflict, "the revision is not a live branch of the document",
        hint: "Choose one of `branches(of:)`", documentID: document.id)
    }
    return try resolve(with: document, among: branches)
  }

  private func resolve(
    with document: Document, among branches: [Document]
  ) throws -> Document {
    try savepoint {
      let isChanged = !branches.contains(document)
      let resolved = isChanged ? try put(document) : document
      for branch in branches where branch.revision != document.revision {
        _ = try delete(Document(id: branch.id, revision: branch.revision, .emptyObject))
      }
      return resolved
    }
  }
}
