import DivanLog

extension Database {
  /// Whether the database is suspended: see ``suspend(isolation:)-53avg``.
  public var isSuspended: Bool { store.isSuspended }

  /// Makes everything durable and releases the store's lock, until ``resume()-6a4gb`` is called.
  ///
  /// ```swift
  /// .onChange(of: scenePhase) { _, phase in
  ///   do {
  ///     if phase == .background { try database.suspend() }
  ///     if phase == .active { try database.resume() }
  ///   } catch { report(error) }
  /// }
  /// ```
  ///
  /// iOS ends a process with the code `0xDEAD10CC` if it is suspended while it holds a lock on a
  /// file in a container that it shares with an extension (App Group). So suspend the database when
  /// the app goes to the background, within a background task of
  /// `UIApplication.beginBackgroundTask` if other work may still use it. This was run on Linux
  /// only, not on iOS.
  ///
  /// The call waits for the transaction and the cleaning step that are running. Then it saves
  /// autosaving contexts of the caller's actor as closing does, makes every commit durable, writes
  /// what makes the next opening fast, and releases the lock. From then on this process writes
  /// nothing to the store, and runs no timer for it. Another process can open the store and write.
  /// If this process ends now, the store is as if it had been closed.
  ///
  /// While the database is suspended:
  /// - Writing, and reading from the database, throw ``DatabaseError/Code/suspended``. So do calls
  ///   that were running: building an index, an import, storing an attachment.
  /// - A ``Snapshot`` that exists can still be read, and keeps its files open. The content of
  ///   attachments in files of their own is not retained: another process may delete it, and
  ///   reading it then throws ``DatabaseError/Code/notFound``.
  /// - A ``ModelContext`` keeps its models with their unsaved changes. Saving throws `suspended`,
  ///   and autosaving waits.
  /// - Live queries, live views and change feeds wait.
  ///
  /// Suspending again does nothing. A suspended database can be closed, unless autosaving contexts
  /// have unsaved models that closing would have to save.
  ///
  /// - Parameter actor: the actor of the caller.
  /// - Throws: ``DatabaseError`` with the codes `closed` and `nestedWrite`. Any other error says
  ///   what could not be written; then the database is suspended nevertheless, and the lock is
  ///   released. After `outcomeUnknown`, resuming finds out which commits are durable.
  public func suspend(isolation actor: isolated (any Actor)? = #isolation) throws {
    try prepareToSuspend(on: actor)
    try store.suspend()
  }

  /// Makes everything durable and releases the store's lock, without blocking the caller's thread.
  ///
  /// See the synchronous ``suspend(isolation:)-53avg``.
  public func suspend(isolation actor: isolated (any Actor)? = #isolation) async throws {
    try prepareToSuspend(on: actor)
    try await Database.run { _ in try self.store.suspend() }
  }

  /// Saves the autosaving contexts of an actor, as far as they can be saved.
  private func prepareToSuspend(on actor: isolated (any Actor)?) throws {
    try MapFunctionGuard.refuse("suspends a database")
    try store.requireOutsideOfWrite("suspend")
    try store.maintenance.requireOutsideOfExclusiveWork()
    guard !store.isClosed, !store.isSuspended else { return }
    // What cannot be saved stays in its context, which reports it when it tries again.
    try? store.services.prepareToClose(on: actor)
  }

  /// Takes the store's lock back, and continues with the store as it is now.
  ///
  /// The store is opened as ``init(at:configuration:)`` does, with the same configuration, and
  /// costs as much: some milliseconds if no process was interrupted in the meantime. So everything
  /// that another process has committed is there. Live queries, live views, change feeds and
  /// contexts continue with the difference to what they have seen. If another process has written,
  /// they also look for purged documents, at the cost of one lookup for each row or model.
  ///
  /// Resuming a database that is not suspended does nothing.
  ///
  /// - Throws: ``DatabaseError`` with the codes of ``init(at:configuration:)``. The database stays
  ///   suspended then, and can be resumed later. Among them are `storeInUse` if another process has
  ///   the store open for writing; `notFound` if the store is no longer at its path; `damaged` if
  ///   it is damaged, or is older than it was when it was suspended; and `outcomeUnknown` if a
  ///   flush failed before, and commits of weaker durability that were shown may be lost.
  public func resume() throws {
    try MapFunctionGuard.refuse("resumes a database")
    try store.resume()
  }

  /// Takes the store's lock back, without blocking the caller's thread.
  ///
  /// See the synchronous ``resume()-6a4gb``.
  public func resume() async throws {
    try await Database.run { _ in try self.resume() }
  }
}
