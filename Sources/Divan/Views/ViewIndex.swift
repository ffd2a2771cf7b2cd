import DivanLog
import Synchronization

/// The views of an open database, with what was made of them so far.
final class ViewRegistry: Sendable {
  private let indexes = Guarded<[String: ViewIndex]>([:])

  /// What is kept of a view; nothing yet, if what is kept is of another version.
  func index(of view: MapReduceView) -> ViewIndex {
    indexes.withLock { indexes in
      if let index = indexes[view.name], index.isFor(view) { return index }
      let index = ViewIndex(view)
      indexes[view.name] = index
      return index
    }
  }

  /// Lets go of a view, and says whether anything was kept of it.
  func remove(_ name: String) -> Bool {
    indexes.withLock { $0.removeValue(forKey: name) != nil }
  }
}

/// What is kept of one view: its contents as of the snapshots that were asked last.
final class ViewIndex: Sendable {
  private let version: String
  private let documentType: String?
  /// Whose turn it is to make contents, so that nobody makes what somebody else is making.
  private let turn = WriteTurn()
  /// Contents of different snapshots, the one that was used last at the end.
  private let kept = Guarded<[ViewContents]>([])

  /// How many versions are kept: readers of a few snapshots at once are not in each other's way.
  private static let keptLimit = 4

  init(_ view: MapReduceView) {
    version = view.version
    documentType = view.documentType
  }

  /// Whether this is the index of a view, and not that of an earlier version of it.
  func isFor(_ view: MapReduceView) -> Bool {
    version == view.version && documentType == view.documentType
  }

  /// The contents as of a snapshot; making them ends with an error if it is cancelled.
  func contents(
    of view: MapReduceView, in snapshot: Snapshot, isCancelled: () -> Bool
  ) throws -> ViewContents {
    if let mapped = ViewContents.mapping.get() {
      throw DatabaseError(
        .viewFailed, "the map function of the view \"\(mapped)\" asks for the rows of a view",
        hint: "Rows may depend on their document only")
    }
    // A past version has the same numbers as another snapshot may have, and is not asked again and again.
    if snapshot.view.past != nil {
      var contents = ViewContents()
      try contents.advance(view, to: snapshot, isCancelled: isCancelled)
      return contents
    }
    if let contents = find(snapshot) { return contents }
    turn.take()
    defer { turn.pass() }
    if let contents = find(snapshot) { return contents }
    var contents = base(for: snapshot) ?? ViewContents()
    try contents.advance(view, to: snapshot, isCancelled: isCancelled)
    keep(contents)
    return contents
  }

  private func find(_ snapshot: Snapshot) -> ViewContents? {
    kept.withLock { kept in
      guard let index = kept.firstIndex(where: { $0.isCurrent(in: snapshot) }) else { return nil }
      let contents = kept.remove(at: index)
      kept.append(contents)
      return contents
    }
  }

  /// The latest contents that can be brought to what a snapshot has.
  private func base(for snapshot: Snapshot) -> ViewContents? {
    kept.withLock { kept in
      kept.filter { $0.isBefore(snapshot) }
        .max { ($0.sequence, $0.purgeCount) < ($1.sequence, $1.purgeCount) }
    }
  }

  private func keep(_ contents: ViewContents) {
    kept.withLock { kept in
      kept.append(contents)
      guard kept.count > ViewIndex.keptLimit else { return }
      // The newest stays, whoever asked last: what comes is made from it.
      let newest = kept.indices.max {
        (kept[$0].sequence, kept[$0].purgeCount) < (kept[$1].sequence, kept[$1].purgeCount)
      }
      kept.remove(at: newest == 0 ? 1 : 0)
    }
  }
}
