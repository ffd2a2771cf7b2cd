import DivanLog
import Synchronization

/// The views of an open database, with their cached contents.
final class ViewRegistry: Sendable {
  /// The indexes, by the UTF-8 bytes of their views' names.
  private let indexes = Guarded<[[UInt8]: ViewIndex]>([:])
  /// Serializes writing and removing files.
  private let files = WriterLock()

  /// Returns the index of a view; an empty one if the existing one is of another version.
  func index(of view: MapReduceView) -> ViewIndex {
    let name = Array(view.name.utf8)
    let (index, former) = indexes.withLock { indexes in
      let former = indexes[name]
      if let former, former.view.isSame(as: ViewIdentity(view)) {
        return (former, nil as ViewIndex?)
      }
      let index = ViewIndex(view)
      indexes[name] = index
      return (index, former)
    }
    former?.remove()
    return index
  }
}

extension ViewRegistry {
  /// Returns the contents of a view as of a snapshot; throws if the computation is cancelled.
  func contents(
    of view: MapReduceView, in snapshot: Snapshot, isCancelled: () -> Bool
  ) throws -> ViewContents {
    let index = index(of: view)
    let contents = try index.contents(of: view, in: snapshot, isCancelled: isCancelled)
    // In a transaction, the contents are not committed, and there is nothing to save.
    if let store = snapshot.view.database?.store, store.refusal == nil, !store.isSuspended,
      index.beginSaving(store, isClosing: false)
    {
      store.maintenance.perform(store) { self.save(index, store) }
    }
    return contents
  }

  private func save(_ index: ViewIndex, _ store: Store) {
    files.acquire()
    defer { files.release() }
    index.save(store)
  }

  /// Drops a view and its file; returns whether either existed.
  func remove(_ name: String, from store: Store) -> Bool {
    files.acquire()
    defer { files.release() }
    let index = indexes.withLock { $0.removeValue(forKey: Array(name.utf8)) }
    index?.remove()
    guard store.refusal == nil, !store.isClosed, !store.isSuspended else { return index != nil }
    do throws(DatabaseError) {
      let exists = try translating { () throws(LogError) in
        let file = store.directory.fileName(ofView: name)
        let exists = try store.directory.listing().files.contains(file)
        if exists { try store.directory.remove(file) }
        return exists
      }
      return exists || index != nil
    } catch {
      // A remaining file is read only for a query of this view, and is then still valid.
      store.maintenance.note(error)
      return true
    }
  }
}

extension ViewRegistry: AttachedService {
  func storeIsClosing(_ store: Store) {
    let indexes = indexes.withLock { $0 }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    for (_, index) in indexes {
      if index.beginSaving(store, isClosing: true) {
        save(index, store)
      } else {
        // Saving in the background may have been begun, and will not be done.
        index.endSaving()
      }
    }
  }

  func storeDidClose() {
    let ended = indexes.withLock { indexes in
      defer { indexes = [:] }
      return indexes
    }
    for (_, index) in ended { index.remove() }
  }
}
