import DivanLog

extension Database {
  /// Returns the indexes that are ready for use, in the order of their names' bytes.
  public func indexes() throws -> [DocumentIndex] {
    let view = try store.view()
    try view.requireWhole()
    if store.configuration.damage == .reject, let damage = store.report.damage.first {
      // The damaged part may contain the record of an index.
      throw LogGap(end: nil, doubtEnd: nil, damage: damage).error()
    }
    return view.state.indexes.filter(\.isReady).map(\.index)
  }

  /// Builds an index of the documents, unless it exists.
  ///
  /// Call it each time you open the database: if the index exists, the call costs nothing.
  /// Building costs one read of every document; in a large store, up to four threads read them, at
  /// most one per processor. You can read and write during the build. From the beginning, the index
  /// follows all writes, and a unique one refuses duplicates. If the process ends before the index
  /// is complete, the next call starts again.
  ///
  /// - Parameters:
  ///   - index: The index to build.
  ///   - progress: Receives the completed share, between 0 and 1, on the caller's thread. If it
  ///     throws, the build stops with that error, and nothing is left; so it does with
  ///     ``DatabaseError/Code/cancelled`` if the task is cancelled.
  /// - Throws: ``DatabaseError`` with the codes `invalidIndex`; `alreadyExists` if there is another
  ///   index with that name, or the same one is being built; `notUnique` if two documents have the
  ///   same value where none may; `damaged` if a document cannot be read; `cancelled`, also if the
  ///   index is removed during the build; and the errors of `write`. Then there is no such index.
  public func addIndex(
    _ index: DocumentIndex, progress: ((Double) throws -> Void)? = nil
  ) throws {
    try buildIndex(index, isCancelled: { Task.isCancelled }, progress: progress)
  }

  /// Builds an index of the documents, unless it exists: see ``addIndex(_:progress:)-9g191``.
  func buildIndex(
    _ index: DocumentIndex, isCancelled: @escaping () -> Bool = { false },
    progress: ((Double) throws -> Void)? = nil
  ) throws {
    try index.validate(path)
    // Before any write, so that the call also works on a read-only database.
    if try indexes().contains(index) { return }
    guard let definition = try write({ try $0.begin(index) }) else { return }
    do {
      try reportingProgress(to: progress, isCancelled: isCancelled) {
        try definition.kind.fill(store, $0)
      }
      try write { try $0.finish(definition) }
    } catch {
      // An incomplete index is of no use. If this fails too, the next opening discards it.
      _ = try? removeIndex(named: index.name, number: definition.number)
      throw error
    }
    checkpointSoon()
  }

  /// Builds an index in place of any other one with its name.
  ///
  /// If it cannot be built, the other index is restored. A full-text index whose weights alone are
  /// new is not built again.
  func replaceIndex(
    with index: DocumentIndex, isCancelled: @escaping () -> Bool = { false },
    progress: ((Double) throws -> Void)? = nil
  ) throws {
    // Before the other index is removed.
    try index.validate(path)
    let other = try indexes().first { haveSameUTF8($0.name, index.name) && $0 != index }
    if let other, other.hasSameTerms(as: index), try write({ try $0.reweigh(index) }) { return }
    if other != nil { try removeIndex(named: index.name) }
    do {
      try buildIndex(index, isCancelled: isCancelled, progress: progress)
    } catch {
      // If that fails, the next opening or save that needs the index builds it.
      if let other { try? buildIndex(other) }
      throw error
    }
  }

  /// Writes a checkpoint soon: without one, an opening after a crash must rebuild a new index.
  ///
  /// A failure does no harm. At weaker levels of durability the caller does not wait: the
  /// checkpoint is written in the background, or when the database is closed.
  private func checkpointSoon() {
    let configuration = store.configuration
    if configuration.durability != .full, configuration.maintenance == .background {
      store.maintenance.noteAppended(configuration.checkpointInterval, released: 0, store)
    } else {
      // The database may already be writing one, and there is never more than one.
      try? writeCheckpoint()
    }
  }

  /// Removes an index.
  ///
  /// - Returns: Whether there was one with that name.
  /// - Throws: The errors of `write`.
  @discardableResult
  public func removeIndex(named name: String) throws -> Bool {
    try removeIndex(named: name, number: nil)
  }

  /// Does the same; with a number, only if the index has that number.
  private func removeIndex(named name: String, number: UInt64?) throws -> Bool {
    let removed: (Bool, number: UInt64?) = try write { transaction in
      let definition = transaction.state.indexes.first { haveSameUTF8($0.index.name, name) }
      // An index that an earlier process left unfinished has a record, but is not in the state.
      guard let locator = try transaction.locator(of: name),
        number == nil || definition?.number == number
      else { return (false, nil) }
      try transaction.append(
        IndexDefinitionRecord(name: SharedBytes(utf8: name), superseded: locator, definition: nil))
      return (true, definition?.number)
    }
    // The index is gone. If its entries cannot be removed now, they are not read, and the next
    // opening removes them.
    if let number = removed.number { try? store.removeIndexEntries(of: number) }
    return removed.0
  }
}
