import Divan

extension ReplicationLog {
  /// Returns the position from which a replication continues whose source stores no logs; nil for
  /// the first change.
  ///
  /// It is that of the newest session whose last change the source still has. Sessions that do not
  /// remember one count as they are, and so do all if the source cannot be asked.
  func position(confirmedBy source: any ReplicationPeer) async throws -> ReplicationPosition? {
    guard !history.isEmpty else { return position }
    var wanted: [String: [RevisionID]] = [:]
    for change in history.compactMap(\.lastChange) {
      wanted[change.id, default: []] += change.leaves
    }
    guard !wanted.isEmpty else { return position }
    let missing: [String: MissingRevisions]
    do {
      missing = try await source.missingRevisions(among: wanted)
    } catch let error as ReplicationError where error.refusesComparison {
      return position
    }
    let confirmed = history.first { entry in
      guard let change = entry.lastChange, let missing = missing[change.id] else { return true }
      return Set(missing.missing).isDisjoint(with: change.leaves)
    }
    return confirmed?.position
  }
}

extension ReplicationError {
  /// Whether a source that can be read does not say which revisions it has.
  fileprivate var refusesComparison: Bool {
    [.forbidden, .notFound, .refused].contains(code) || refusesLog || status == 501
  }
}
