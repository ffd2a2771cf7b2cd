import Divan

/// The revisions that a replication could not copy, as its log remembers them.
struct FailureList {
  private(set) var entries: [ReplicationLog.Failure] = []
  private var size = 0

  /// Creates the list of what an earlier session could not copy, and the target still does not
  /// have.
  init(_ past: [ReplicationLog.Failure], missingIn target: any ReplicationPeer) async throws {
    var wanted: [String: [RevisionID]] = [:]
    for failure in past {
      if let revision = failure.revision { wanted[failure.id, default: []].append(revision) }
    }
    let missing = wanted.isEmpty ? [:] : try await target.missingRevisions(among: wanted)
    for failure in past {
      // Whether a change that could not be read is there is not known.
      guard let revision = failure.revision else {
        add(failure)
        continue
      }
      if missing[failure.id]?.missing.contains(revision) == true { add(failure) }
    }
  }

  /// Adds an entry, in place of one for the same revision; the oldest are dropped beyond the
  /// limits.
  mutating func add(_ failure: ReplicationLog.Failure) {
    guard !failure.id.isEmpty else { return }
    remove { $0.revision == failure.revision && $0.hasID(failure.id) }
    entries.append(failure)
    size += failure.size
    while size > ReplicationLog.failureSizeLimit || entries.count > ReplicationStatus.failureLimit {
      size -= entries.removeFirst().size
    }
  }

  /// Removes a revision and its ancestors, which it brought with it or took the place of.
  mutating func removeAncestors(of revision: ReplicatedRevision) {
    guard !entries.isEmpty else { return }
    remove { revision.contains($0.revision, of: $0.id) }
  }

  private mutating func remove(_ isRemoved: (ReplicationLog.Failure) -> Bool) {
    guard let first = entries.firstIndex(where: isRemoved) else { return }
    size = entries[..<first].reduce(0) { $0 + $1.size }
    let rest = entries[first...].filter { !isRemoved($0) }
    entries.replaceSubrange(first..., with: rest)
    size += rest.reduce(0) { $0 + $1.size }
  }
}

extension ReplicationLog.Failure {
  private static let reasonLimit = 200

  /// Creates an entry with the reason of an error.
  ///
  /// The log can be in another store. An error of this one may name a path, and only its code is
  /// written there.
  init(id: String, revision: RevisionID?, _ error: any Error) {
    var reason: String
    switch error {
    case let error as ReplicationError:
      reason = error.message
      if let cause = error.underlying as? ReplicationError { reason += ": \(cause.message)" }
    case let error as DatabaseError: reason = "\(error.code)"
    default: reason = "\(type(of: error))"
    }
    self.init(id: id, revision: revision, reason: String(reason.prefix(Self.reasonLimit)))
  }

  /// About as many bytes as it takes in a log.
  fileprivate var size: Int { id.utf8.count + reason.utf8.count + 96 }

  /// Strings are equal if their characters are; IDs are compared by their bytes.
  fileprivate func hasID(_ id: String) -> Bool { self.id.utf8.elementsEqual(id.utf8) }
}

extension ReplicatedRevision {
  /// Whether a store that has this revision, with its history, also has another one.
  ///
  /// A change whose revision is not known is there with any revision of the document.
  func contains(_ other: RevisionID?, of id: String) -> Bool {
    guard id.utf8.elementsEqual(document.id.utf8) else { return false }
    return other.map { history.contains($0) } ?? true
  }
}

extension ReplicationStatus.Failure {
  /// Creates the report of a failure of an earlier session.
  init(past failure: ReplicationLog.Failure, isPulled: Bool) {
    self.init(
      id: failure.id, revision: failure.revision, isPulled: isPulled,
      error: ReplicationError(
        .failedBefore, "an earlier session could not copy the revision: \(failure.reason)"))
  }
}
