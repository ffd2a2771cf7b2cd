import DivanLog

extension WriteTransaction {
  func keep(_ snapshot: Snapshot?, as name: SharedBytes) throws(DatabaseError) {
    guard try view.locator(in: \.catalog, CatalogKey.named(name)) == nil else {
      throw DatabaseError(
        .alreadyExists, "there is a snapshot of that name already",
        hint: "Remove it first, or choose another name", path: store.path)
    }
    let kept = snapshot?.view ?? ReadView(state: state, store: store)
    let moment = CommitPoint(
      sequence: kept.past?.sequence ?? kept.state.lastSequence,
      commit: kept.past?.commit ?? kept.state.commit, time: kept.past?.time ?? kept.state.time,
      documentCount: kept.past == nil
        ? kept.state.documentCount : UInt64(try kept.countDocuments()))
    // A version below the history horizon may be incomplete, unless a named snapshot keeps it.
    if moment.commit < state.historyHorizon {
      guard try view.namedCommitPoints().contains(where: { $0.moment.sequence == moment.sequence })
      else {
        throw DatabaseError(
          .historyNotHeld, "something of that version is not held any more",
          hint: "Name a version before its documents change, or keep history", path: store.path)
      }
    }
    try append(SnapshotNameRecord(name: name, superseded: nil, moment: moment))
  }

  func forgetSnapshot(named name: String) throws(DatabaseError) {
    let bytes = SharedBytes(utf8: name)
    guard let locator = try view.locator(in: \.catalog, CatalogKey.named(bytes)) else {
      throw WriteTransaction.noSuchName(name, store.path)
    }
    try append(SnapshotNameRecord(name: bytes, superseded: locator, moment: nil))
  }

  func append(_ record: SnapshotNameRecord) throws(DatabaseError) {
    let place = try append(.named, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: place, scratch: &entryScratch)
    // The next writer looks it up again, whether this is committed or not.
    store.knownPin = nil
  }

  static func noSuchName(_ name: String, _ path: String) -> DatabaseError {
    DatabaseError(
      .notFound, "there is no snapshot of that name", hint: "See `namedSnapshots()`", path: path)
  }
}
