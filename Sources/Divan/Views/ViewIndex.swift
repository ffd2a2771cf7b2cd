import DivanLog
import Synchronization

/// The contents of one view that are cached in memory.
///
/// These are the contents as of the newest snapshot queried, and as of other snapshots that still
/// exist.
final class ViewIndex: Sendable {
  let view: ViewIdentity
  /// Serializes the computation of contents, so that no two threads compute the same.
  private let writerLock = WriterLock()
  private let state = Guarded(State())

  private struct State {
    var newest: CachedContents?
    /// All contents in memory: the newest, and those that older snapshots retain.
    var cached: [Weak] = []
    /// Whether the view's file was found unusable.
    var isFileUnusable = false
    /// The change count of the contents when they were last written to or read from the file.
    var savedCount: Int?
    /// The change count when saving was last attempted.
    var attemptedCount = 0
    var isSaving = false
    var isRemoved = false

    /// All contents that are in memory.
    var contents: [ViewContents] { cached.compactMap { $0.contents?.value } }
  }

  private struct Weak {
    weak var contents: CachedContents?
  }

  init(_ view: MapReduceView) { self.view = ViewIdentity(view) }
}

/// The contents of a view as of one version of the store, until they are dropped.
private final class CachedContents: Sendable {
  private let contents: Guarded<ViewContents?>

  init(_ contents: ViewContents) { self.contents = Guarded(contents) }

  var value: ViewContents? { contents.withLock { $0 } }

  func drop() { contents.withLock { $0 = nil } }

  /// Removes and returns the contents.
  func take() -> ViewContents? { contents.withLock { $0.take() } }

  /// Puts back what ``take()`` returned.
  func putBack(_ taken: ViewContents) { contents.withLock { $0 = taken } }
}

/// The cached contents of views as of one version of the store, which are released with it.
private final class VersionContents: Sendable {
  private let contents = Guarded<[CachedContents]>([])

  func add(_ cached: CachedContents) { contents.withLock { $0.append(cached) } }
}

extension ViewIndex {
  /// Returns the contents as of a snapshot; throws if the computation or the wait is cancelled.
  func contents(
    of view: MapReduceView, in snapshot: Snapshot, isCancelled: () -> Bool
  ) throws -> ViewContents {
    try MapFunctionGuard.refuse("queries the rows of a view")
    // A past version may have the same numbers as another snapshot, and is seldom queried
    // repeatedly.
    if snapshot.view.past != nil {
      var contents = ViewContents()
      try contents.advance(view, to: snapshot, isCancelled: isCancelled)
      return contents
    }
    if let contents = find(snapshot) { return contents }
    try acquireWriterLock(isCancelled)
    defer { writerLock.release() }
    if let contents = find(snapshot) { return contents }
    if var contents = takeNewest(for: snapshot) {
      do {
        try contents.advance(view, to: snapshot, isCancelled: isCancelled)
      } catch {
        state.withLock { [contents] in $0.newest?.putBack(contents) }
        throw error
      }
      store(contents, for: snapshot)
      return contents
    }
    var contents = try base(for: snapshot) ?? read(for: snapshot, isCancelled) ?? ViewContents()
    try contents.advance(view, to: snapshot, isCancelled: isCancelled)
    store(contents, for: snapshot)
    return contents
  }

  /// Takes the newest contents out of the cache, to be advanced in place; nil if others need them.
  ///
  /// A copy would share its chunks with the original, and copy each one that a change concerns.
  private func takeNewest(for snapshot: Snapshot) -> ViewContents? {
    state.withLock { state in
      guard isKnownUniquelyReferenced(&state.newest),
        state.newest?.value?.isOneBatch(before: snapshot) == true
      else { return nil }
      return state.newest?.take()
    }
  }

  private func acquireWriterLock(_ isCancelled: () -> Bool) throws {
    while !writerLock.acquire(timeout: .milliseconds(20)) {
      guard !isCancelled() else { throw ViewContents.cancelledError }
    }
  }

  private func find(_ snapshot: Snapshot) -> ViewContents? {
    state.withLock { state in
      // The newest is used most often.
      for each in state.cached.reversed() {
        if let contents = each.contents?.value, contents.isCurrent(in: snapshot) { return contents }
      }
      return nil
    }
  }

  /// Returns the latest contents that can be advanced to a snapshot.
  private func base(for snapshot: Snapshot) -> ViewContents? {
    state.withLock { state in
      state.contents.filter { $0.isBefore(snapshot) }
        .max { ($0.sequence, $0.purgeCount) < ($1.sequence, $1.purgeCount) }
    }
  }

  private func store(_ contents: ViewContents, for snapshot: Snapshot) {
    let cached = CachedContents(contents)
    let isCached = state.withLock { state in
      guard !state.isRemoved else { return false }
      state.cached.removeAll { $0.contents == nil }
      state.cached.append(Weak(contents: cached))
      let newest = state.newest?.value
      let isNewest =
        newest.map {
          ($0.sequence, $0.purgeCount) < (contents.sequence, contents.purgeCount)
        } ?? true
      if isNewest { state.newest = cached }
      return true
    }
    guard isCached else { return }
    snapshot.view.state.services.get(VersionContents.self) { VersionContents() }.add(cached)
  }

  /// The number of contents in memory.
  var cachedCount: Int { state.withLock { $0.contents.count } }

  /// Drops all contents, permanently.
  func remove() {
    state.withLock { state in
      state.isRemoved = true
      for each in state.cached { each.contents?.drop() }
      state.newest = nil
      state.cached = []
    }
  }
}

// MARK: The view's file

extension ViewIndex {
  /// Reads the contents of an earlier version from the file; nil if there is no usable one.
  private func read(for snapshot: Snapshot, _ isCancelled: () -> Bool) throws -> ViewContents? {
    let environment = snapshot.view.environment
    guard !state.withLock({ $0.isFileUnusable }), environment.report.damage.isEmpty else {
      return nil
    }
    var contents: ViewContents?
    do throws(LogError) {
      let file = try ViewFile(
        environment.directory.fileName(ofView: view.name), in: environment.directory)
      if file.isUsable(for: view, in: environment) {
        // A file of a later version may become usable: an opening for writing removes unusable
        // ones.
        guard file.header.origin.isBefore(snapshot.view.state) else { return nil }
        contents = try file.contents(isCancelled: isCancelled)
      }
    } catch {
      guard !isCancelled() else { throw ViewContents.cancelledError }
      // Whatever the error is, the rows can be computed without the file.
    }
    guard var contents else {
      state.withLock { $0.isFileUnusable = true }
      return nil
    }
    try contents.catchUpWithPurges(snapshot, isCancelled)
    state.withLock { $0.savedCount = 0 }
    return contents
  }

  /// Whether to save the newest contents, because enough has changed since the last attempt.
  ///
  /// If this returns true, the caller must call `save(_:)`.
  func beginSaving(_ store: Store, isClosing: Bool) -> Bool {
    let minimum = store.configuration.viewSavingMinimum / (isClosing ? 10 : 1)
    return state.withLock { state in
      // When the store is being closed, no other thread saves any more, even if saving was begun.
      guard isClosing || !state.isSaving, let contents = state.newest?.value else { return false }
      let savedCount = state.savedCount ?? 0
      let count =
        contents.changeCount - (isClosing ? savedCount : max(savedCount, state.attemptedCount))
      let isWorthIt = count > max(minimum, contents.rows.count / (isClosing ? 16 : 4))
      if isWorthIt { state.isSaving = true }
      return isWorthIt
    }
  }

  /// Notes that a save that was begun will not be done.
  func endSaving() { state.withLock { $0.isSaving = false } }

  /// Writes the newest contents; an error is reported with those of other background work.
  func save(_ store: Store) {
    let contents = state.withLock { $0.isRemoved ? nil : $0.newest?.value }
    var isSaved = false
    if let contents {
      do throws(DatabaseError) {
        try contents.save(view, in: store)
        isSaved = true
      } catch {
        // Saving is tried again after more changes; until then the next opening rebuilds the rows.
        store.maintenance.note(error)
      }
    }
    state.withLock { state in
      state.isSaving = false
      state.attemptedCount = contents?.changeCount ?? state.attemptedCount
      if isSaved {
        state.savedCount = contents?.changeCount
        state.isFileUnusable = false
      }
    }
  }
}

extension ViewFile {
  /// Whether this file is of a view and a store, and in the collation order of this build.
  fileprivate func isUsable(for view: ViewIdentity, in environment: StoreEnvironment) -> Bool {
    self.view.isSame(as: view) && header.collation == UInt64(Collation.version)
      && header.preamble.storeID == environment.storeID
  }
}
