import DivanLog

extension Database {
  /// Moves a database that is open for reading only to the latest commit of the process that
  /// writes.
  ///
  /// ```swift
  /// var configuration = Configuration()
  /// configuration.isReadOnly = true
  /// let database = try Database(at: path, configuration: configuration)
  /// // Later, perhaps because a notification came:
  /// if try database.refresh() { print(try database.read { try $0.count }) }
  /// ```
  ///
  /// It then shows a whole commit that is no older than the last one acknowledged before the call,
  /// and never an older one than before. Snapshots stay as they are. Live queries, live views,
  /// change feeds and contexts that follow the database see the changes as if they had been made
  /// here. ``Configuration/followsWriter`` can make these calls for you.
  ///
  /// The cost is that of reading what was appended to the log since. If nothing was, it is one read
  /// of a small file and one call for the size of another. If the writer has compacted or deleted
  /// segments, or has appended some tens of megabytes since the last opening, the store is opened
  /// again, which takes some milliseconds, and observers look for purged documents. An index that
  /// the writer has added is built in memory, by reading all documents, unless the store is opened
  /// again from a checkpoint that has it.
  ///
  /// A database that is open for writing is always at its newest commit, so the call does nothing.
  ///
  /// - Returns: whether there was another commit.
  /// - Throws: ``DatabaseError`` with the codes `closed`, `suspended`, `nestedWrite`, and those of
  ///   ``init(at:configuration:)``. The database then shows the version that it showed before.
  ///   `damaged` also says that the log ends before that version, as after an older copy of the
  ///   store was put in its place. `outcomeUnknown` says that commits which this database has shown
  ///   were lost, because the writer could not flush them; close it then, and open the store again.
  @discardableResult
  public func refresh() throws -> Bool { try store.refresh() }

  /// Moves a database that is open for reading only to the latest commit, off the caller's thread.
  ///
  /// See the synchronous ``refresh()-3skwc``.
  @discardableResult
  public func refresh() async throws -> Bool {
    try await Database.run { _ in try self.store.refresh() }
  }
}
