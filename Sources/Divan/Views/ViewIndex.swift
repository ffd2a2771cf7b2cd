import DivanLog
import Synchronization

/// What is kept of one view: its contents as of the newest snapshot that was asked, and of others for as long as
/// somebody holds these.
final class ViewIndex: Sendable {
  let view: ViewIdentity
  /// Whose turn it is to make contents, so that nobody makes what somebody else is making.
  private let turn = WriteTurn()
  private let state = Guarded(State())

  private struct State {
    var newest: KeptContents?
    /// The newest ones too, and those of older snapshots, which keep them.
    var kept: [Weak] = []
    /// Whether the view's file was found to be of no use.
    var isFileUseless = false
    /// How many changes the contents had seen when they were written to the file or read from it.
    var savedCount: Int?
    /// The same when that was last tried.
    var attemptedCount = 0
    var isSaving = false
    var isRemoved = false

    /// All contents that are in memory.
    var contents: [ViewContents] { kept.compactMap { $0.contents?.value } }
  }

  private struct Weak {
    weak var contents: KeptContents?
  }

  init(_ view: MapReduceView) { self.view = ViewIdentity(view) }
}

/// The contents of a view as of one version of the store, until they are let go of.
private final class KeptContents: Sendable {
  private let contents: Guarded<ViewContents?>

  init(_ contents: ViewContents) { self.contents = Guarded(contents) }

  var value: ViewContents? { contents.withLock { $0 } }

  func drop() { contents.withLock { $0 = nil } }
}

/// The contents of views that are kept for a version of the store, and go with it.
private final class VersionContents: Sendable {
  private let contents = Guarded<[KeptContents]>([])

  func add(_ kept: KeptContents) { contents.withLock { $0.append(kept) } }
}

extension ViewIndex {
  /// The contents as of a snapshot; making them, or waiting for somebody who does, ends with an error if it is cancelled.
  func contents(
    of view: MapReduceView, in snapshot: Snapshot, isCancelled: () -> Bool
  ) throws -> ViewContents {
    try RunningMap.refuse("asks for the rows of a view")
    // A past version has the same numbers as another snapshot may have, and is not asked again and again.
    if snapshot.view.past != nil {
      var contents = ViewContents()
      try contents.advance(view, to: snapshot, isCancelled: isCancelled)
      return contents
    }
    if let contents = find(snapshot) { return contents }
    try takeTurn(isCancelled)
    defer { turn.pass() }
    if let contents = find(snapshot) { return contents }
    var contents = ViewContents()
    if let base = base(for: snapshot) {
      contents = base
    } else if let read = try read(for: snapshot, isCancelled) {
      contents = read
    }
    try contents.advance(view, to: snapshot, isCancelled: isCancelled)
    keep(contents, for: snapshot)
    return contents
  }

  private func takeTurn(_ isCancelled: () -> Bool) throws {
    while !turn.take(timeout: .milliseconds(20)) {
      guard !isCancelled() else { throw ViewContents.cancelledError }
    }
  }

  private func find(_ snapshot: Snapshot) -> ViewContents? {
    state.withLock { state in
      // The newest is asked most often.
      for each in state.kept.reversed() {
        if let contents = each.contents?.value, contents.isCurrent(in: snapshot) { return contents }
      }
      return nil
    }
  }

  /// The latest contents that can be brought to what a snapshot has.
  private func base(for snapshot: Snapshot) -> ViewContents? {
    state.withLock { state in
      state.contents.filter { $0.isBefore(snapshot) }
        .max { ($0.sequence, $0.purgeCount) < ($1.sequence, $1.purgeCount) }
    }
  }

  private func keep(_ contents: ViewContents, for snapshot: Snapshot) {
    let kept = KeptContents(contents)
    let isKept = state.withLock { state in
      guard !state.isRemoved else { return false }
      state.kept.removeAll { $0.contents == nil }
      state.kept.append(Weak(contents: kept))
      let newest = state.newest?.value
      let isNewest =
        newest.map {
          ($0.sequence, $0.purgeCount) < (contents.sequence, contents.purgeCount)
        } ?? true
      if isNewest { state.newest = kept }
      return true
    }
    guard isKept else { return }
    snapshot.view.state.companions.get(VersionContents.self) { VersionContents() }.add(kept)
  }

  /// How many contents there are in memory.
  var keptCount: Int { state.withLock { $0.contents.count } }

  /// Lets go of all contents, for ever.
  func remove() {
    state.withLock { state in
      state.isRemoved = true
      for each in state.kept { each.contents?.drop() }
      state.newest = nil
      state.kept = []
    }
  }
}

// MARK: The view's file

extension ViewIndex {
  /// What the file has of an earlier version; nil if there is none, or it is of no use.
  private func read(for snapshot: Snapshot, _ isCancelled: () -> Bool) throws -> ViewContents? {
    let store = snapshot.view.store
    guard !state.withLock({ $0.isFileUseless }), store.report.damage.isEmpty else { return nil }
    var contents: ViewContents?
    do throws(LogError) {
      let file = try ViewFile(.view(named: view.name), in: store.directory)
      if file.isUsable(for: view, in: store) {
        // Of a later version it may be of use later: whoever opens for writing takes away what never will be.
        guard file.header.origin.isBefore(snapshot.view.state) else { return nil }
        contents = try file.contents(isCancelled: isCancelled)
      }
    } catch {
      guard !isCancelled() else { throw ViewContents.cancelledError }
      // Whatever it is, rows can be made without it.
    }
    guard var contents else {
      state.withLock { $0.isFileUseless = true }
      return nil
    }
    try contents.catchUpWithPurges(snapshot, isCancelled)
    state.withLock { $0.savedCount = 0 }
    return contents
  }

  /// The newest contents, if enough was made since they were last written, or tried to be; then somebody must write
  /// them, and say so.
  func beginSaving(_ store: Store, isClosing: Bool) -> Bool {
    let minimum = store.configuration.viewSavingMinimum / (isClosing ? 10 : 1)
    return state.withLock { state in
      // Nobody else saves any more when the store is being closed, whatever was begun.
      guard isClosing || !state.isSaving, let contents = state.newest?.value else { return false }
      let savedCount = state.savedCount ?? 0
      let count =
        contents.changeCount - (isClosing ? savedCount : max(savedCount, state.attemptedCount))
      let isWorthIt = count > max(minimum, contents.rows.count / (isClosing ? 16 : 4))
      if isWorthIt { state.isSaving = true }
      return isWorthIt
    }
  }

  /// Writes the newest contents; a failure is noted with those of other work in the background.
  func save(_ store: Store) {
    let contents = state.withLock { $0.isRemoved ? nil : $0.newest?.value }
    var isSaved = false
    if let contents {
      do throws(DatabaseError) {
        try contents.save(view, in: store)
        isSaved = true
      } catch {
        // It is tried again when more was made; until then the next opening makes rows anew.
        store.maintenance.note(error)
      }
    }
    state.withLock { state in
      state.isSaving = false
      state.attemptedCount = contents?.changeCount ?? state.attemptedCount
      if isSaved {
        state.savedCount = contents?.changeCount
        state.isFileUseless = false
      }
    }
  }
}

extension ViewFile {
  /// Whether this is of a view, with its rows in the order that this build knows, and of a store.
  fileprivate func isUsable(for view: ViewIdentity, in store: Store) -> Bool {
    self.view.isSame(as: view) && header.collation == UInt64(Collation.version)
      && header.preamble.storeID == store.storeID
  }
}
