extension WriteTransaction {
  /// All revisions that nothing was made from, the winning one first, deleted ones too, as
  /// ``Snapshot/leaves(of:)`` has them, with the changes of this transaction.
  public func leaves(of id: String) throws -> [Document] {
    try check()
    return try view.leaves(of: id)
  }

  /// The revisions that a document is said to have at once, the winning one first, as
  /// ``Snapshot/conflicts(of:)`` has them, with the changes of this transaction.
  public func conflicts(of id: String) throws -> [Document] {
    try leaves(of: id).filter { !$0.isDeleted }
  }

  /// Ends a document's conflict: merges what its branches changed, and leaves one live revision.
  ///
  /// ```swift
  /// try database.write {
  ///   try $0.resolve("film:1") { overlap in
  ///     overlap.path == ["stars"] ? .theirs : .mine
  ///   }
  /// }
  /// ```
  ///
  /// The branches are merged into the winning one by ``ThreeWayMerge``, property by property, attachment
  /// by attachment. The base is the nearest revision that both sides come from and whose content is
  /// held, as ``Configuration/history`` asks for it; if none is, whatever differs overlaps. With more
  /// than two branches, one after the other is merged, in the order of ``conflicts(of:)``, and *mine* is
  /// what came of those before.
  ///
  /// The result becomes the successor of the winning revision, unless it is the same, and every other
  /// branch is deleted. Where the same branches are resolved in the same way, the same revisions are
  /// made, on whatever machine; so stores that resolve a conflict at the same time do not make another
  /// one.
  ///
  /// Costs a record for each branch that ends; each holds the document's revision tree.
  ///
  /// - Parameters:
  ///   - id: which document.
  ///   - overlap: is asked about each property that was changed in different ways. Attachments are at
  ///     the path `_attachments` and their name, with type, digest and length; one side can be chosen,
  ///     or none.
  /// - Returns: the document with its one revision; without a conflict, as it is; nil if there is none.
  /// - Throws: whatever `overlap` throws; ``DatabaseError/Code/conflict`` if it leaves something
  ///   unresolved, with the path of the first such property; and as ``put(_:)-(Document)``. The document
  ///   is unchanged then.
  @discardableResult
  public func resolve(
    _ id: String, overlap: (ThreeWayMerge.Overlap) throws -> ThreeWayMerge.Resolution
  ) throws -> Document? {
    let branches = try conflicts(of: id)
    guard let winner = branches.first else { return nil }
    guard branches.count > 1, let entry = try entry(of: id) else { return winner }
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

  /// Ends a document's conflict in favour of what the caller made of it: stores the document, and deletes
  /// every other branch.
  ///
  /// - Parameter document: one of ``conflicts(of:)``, changed or as it is.
  /// - Returns: the document with its one revision.
  /// - Throws: as ``put(_:)-(Document)``; ``DatabaseError/Code/conflict`` too if the document is none of
  ///   its live revisions any more. Nothing is changed then.
  @discardableResult
  public func resolve(with document: Document) throws -> Document {
    let branches = try conflicts(of: document.id)
    guard branches.contains(where: { $0.revision == document.revision }) else {
      throw DatabaseError(
        .conflict, "the revision is none that the document has now",
        hint: "Choose one of `conflicts(of:)`", documentID: document.id)
    }
    return try resolve(with: document, among: branches)
  }

  private func resolve(
    with document: Document, among branches: [Document]
  ) throws -> Document {
    try nested {
      let isChanged = !branches.contains(document)
      let resolved = isChanged ? try put(document) : document
      for branch in branches where branch.revision != document.revision {
        _ = try delete(Document(id: branch.id, revision: branch.revision, .emptyObject))
      }
      return resolved
    }
  }
}
