import DivanLog

extension WriteTransaction {
  /// Appends a commit point: the record that a version ends with this transaction.
  func noteCommitPoint(after base: ReadView) throws(DatabaseError) {
    let record = CommitPointRecord(
      commitPoint: CommitPoint(
        sequence: state.lastSequence, commit: base.state.commit + 1,
        time: min(max(base.state.time, store.configuration.now()), counterLimit),
        documentCount: min(state.documentCount, counterLimit)),
      previous: try base.lastChange)
    try append(record)
  }

  func append(_ record: CommitPointRecord) throws(DatabaseError) {
    let locator = try appendRecord(.commitPoint, id: nil) { writer in record.encode(to: &writer) }
    state.put(record, at: locator, scratch: &entryScratch)
  }
}
