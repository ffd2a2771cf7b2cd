extension ModelContext {
  /// The number of saves and deletions of this context that can be undone.
  ///
  /// The default, 0, records none. The affected documents are kept in memory as they were before
  /// and after. Lowering the limit drops the oldest changes.
  public var undoLimit: Int {
    get { core.undoHistory.limit }
    set { core.undoHistory.limit = max(0, newValue) }
  }

  /// Whether there is a change to undo.
  public var canUndo: Bool { !core.undoHistory.done.isEmpty }

  /// Whether there is an undone change to redo.
  public var canRedo: Bool { !core.undoHistory.undone.isEmpty }

  /// Undoes the last save or deletion of this context as a whole, in one transaction.
  ///
  /// Changed properties and attachments get their previous values; external changes of the
  /// rest of the document stay. New documents are deleted, and deleted ones are restored with the
  /// same IDs. For a document in conflict, this applies to the winning branch. The models take this
  /// over like external changes. Unsaved changes are not affected: ``Model/revert()``
  /// discards those.
  ///
  /// A change that can never be undone, because of a conflict, damage or a rule that refuses it, is
  /// dropped. The next call undoes the change before it.
  ///
  /// - Returns: false if there is nothing to undo.
  /// - Throws: ``DatabaseError`` with the codes `conflict` if the affected values were changed
  ///   again since, in this context or externally; `damaged` if an attachment to restore was
  ///   removed by cleaning; and the codes of ``Database/write(durability:timeout:_:)-4yolg``.
  ///   Nothing is undone then.
  @discardableResult
  public func undo() throws -> Bool { try core.undo() }

  /// Redoes the change that was undone last.
  ///
  /// - Returns: false if there is nothing to redo.
  /// - Throws: the errors of ``undo()``.
  @discardableResult
  public func redo() throws -> Bool { try core.redo() }
}
