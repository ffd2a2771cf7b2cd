import DivanLog

extension Database {
  /// Copies the store, as it is now, to a new directory, while it is in use.
  ///
  /// The copy contains everything that was committed before the call, is durable when the call
  /// returns, and is a store of its own that can be opened at once. It has another store ID, so
  /// that this store refuses positions in its change feed. It is built
  /// next to its destination and renamed when it is complete: a crash leaves no half backup under
  /// that name. A crash can leave files next to it, under a name that ends in `.building`; the next
  /// backup to that path deletes them.
  ///
  /// The copy contains the documents as they are now, with their attachments, all leaves of their
  /// revision trees, the local documents and the indexes. Unless `keepingHistory` is true, it
  /// contains neither the named snapshots nor the earlier versions that ``Configuration/history``
  /// retains.
  ///
  /// ```swift
  /// try database.backup(to: "/backups/Films.divan", keepingHistory: true)
  /// let copy = try Database(at: "/backups/Films.divan")
  /// let before = try copy.snapshot(named: "before the import")
  /// ```
  ///
  /// Open the copy with the same ``Configuration/history`` before you write to it: a database that
  /// is not configured to keep earlier versions drops all but the named ones when it cleans up.
  ///
  /// - Parameters:
  ///   - path: the directory of the copy; it must not exist, and must not be within a store.
  ///   - keepingHistory: whether the copy has the named snapshots and the earlier versions that
  ///     this store retains. It takes memory for each retained revision, about 32 bytes, and for
  ///     each commit whose time is retained, about 150 bytes.
  ///   - progress: called with the share that is done. If it throws, copying stops with that error
  ///     and leaves nothing behind; so it does with ``DatabaseError/Code/cancelled`` if the task is
  ///     cancelled.
  /// - Throws: ``DatabaseError`` with the codes `alreadyExists`, `notFound`, `accessDenied`,
  ///   `damaged`, `diskFull`, `inputOutput`, `cancelled` or `closed`. A store that was found
  ///   damaged when it was opened is not copied with any ``Configuration/damage``: the copy
  ///   would look sound. Use `logdump salvage`.
  public func backup(
    to path: String, keepingHistory: Bool = false,
    progress: ((Double) throws -> Void)? = nil
  ) throws {
    if let damage = store.report.damage.first {
      throw DatabaseError(
        .damaged, "the store is damaged, and a backup of it would look sound: \(damage.message)",
        hint: "Rescue what is sound with `logdump salvage`, which says what it leaves out",
        path: damage.path, offset: damage.offset, underlying: damage)
    }
    try reportingProgress(to: progress, isCancelled: { Task.isCancelled }) {
      try copy(to: path, as: "the backup", keepingHistory: keepingHistory, $0)
    }
  }

  private func copy(
    to path: String, as purpose: String, keepingHistory: Bool,
    _ progress: ((Double) -> Bool)? = nil
  ) throws {
    let path = try absolutePath(path, on: store.directory.fileSystem)
    // Compaction waits, so that every file that the copy needs stays.
    try store.maintenance.exclusively(store) { () throws(DatabaseError) in
      try store.commits.flushEverything()
      let view = try store.view()
      try StoreCopy(
        from: view, to: path, as: purpose, keepsHistory: keepingHistory, progress
      ).run()
    }
  }

  /// Restores a store from a backup, with its history and named snapshots, and checks the backup.
  ///
  /// The backup is copied to a new directory.
  ///
  /// - Parameters:
  ///   - backup: the directory of the backup, which is only read.
  ///   - path: the directory of the new store; it must not exist.
  ///   - configuration: how to read and write; its `isReadOnly` is ignored.
  /// - Throws: ``DatabaseError`` with the code `damaged` if the backup is; then nothing is left at
  ///   `path`.
  public static func restore(
    from backup: String, to path: String, configuration: Configuration = Configuration()
  ) throws {
    var configuration = configuration
    configuration.isReadOnly = true
    let source = try Database(at: backup, configuration: configuration)
    // The problems include damage that was found at opening, such as a missing end.
    let report = try source.check()
    if let problem = report.problems.first { throw problem }
    try source.copy(to: path, as: "the restored store", keepingHistory: true)
    try source.close()
  }
}
