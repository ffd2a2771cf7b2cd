import DivanLog

extension WriteTransaction {
  func keep(_ snapshot: Snapshot?, as name: SharedBytes) throws(DatabaseError) {
    guard try view.locator(in: \.catalog, CatalogKey.named(name)) == nil else {
      throw DatabaseError(
        .alreadyExists, "there is already a snapshot with that name",
        hint: "Remove it first, or choose another name", path: store.path)
    }
    let source = snapshot?.view ?? ReadView(state: state, store.environment)
    let commitPoint = CommitPoint(
      sequence: source.past?.sequence ?? source.state.lastSequence,
      commit: source.past?.commit ?? source.state.commit,
      time: source.past?.time ?? source.state.time,
      documentCount: source.past == nil
        ? source.state.documentCount : UInt64(try source.countDocuments()))
    // A version below the history horizon may be incomplete, unless a named snapshot retains it.
    if commitPoint.commit < state.historyHorizon {
      guard
        try view.namedCommitPoints().contains(where: {
          $0.commitPoint.sequence == commitPoint.sequence
        })
      else {
        throw DatabaseError(
          .versionNotRetained, "a part of that version is no longer retained",
          hint: "Name a version before its documents change, or keep history", path: store.path)
      }
    }
    try append(SnapshotNameRecord(name: name, superseded: nil, commitPoint: commitPoint))
  }

  func deleteSnapshot(named name: String) throws(DatabaseError) {
    let bytes = SharedBytes(utf8: name)
    guard let locator = try view.locator(in: \.catalog, CatalogKey.named(bytes)) else {
      throw WriteTransaction.noSuchName(name, store.path)
    }
    try append(SnapshotNameRecord(name: bytes, superseded: locator, commitPoint: nil))
  }

  func append(_ record: SnapshotNameRecord) throws(DatabaseError) {
    let locator = try appendRecord(.snapshotName, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: locator, scratch: &entryScratch)
    knownPin = nil
  }

  /// The highest sequence number of any named snapshot; 0 if there is none.
  var pinnedThrough: UInt64 {
    if knownPin == nil { knownPin = view.pinnedThrough }
    // If the snapshots cannot be read, everything counts as needed.
    return knownPin ?? .max
  }

  static func noSuchName(_ name: String, _ path: String) -> DatabaseError {
    DatabaseError(
      .notFound, "there is no snapshot with that name", hint: "See `namedSnapshots()`", path: path)
  }
}
