import Divan

/// Revisions that are written to the target together.
struct ReplicationBatch: Sendable {
  var revisions: [ReplicatedRevision] = []
  /// Revisions that the source could not return.
  var failures: [(id: String, revision: RevisionID?, error: any Error)] = []
  var counts = ReplicationCounts()
  /// The source's position after it; nil if more revisions of the same changes follow.
  var position: ReplicationPosition?
  var followingCount: Int?
}

/// Reads the revisions that the target does not have, in batches of bounded size.
actor BatchReader {
  private let replication: DirectedReplication
  /// The position through which changes were read.
  private(set) var position: ReplicationPosition?
  /// What is still to be read of these changes.
  private var requests: ArraySlice<RevisionRequest> = []
  private var followingCount: Int?
  private var isAtEnd = false

  init(_ replication: DirectedReplication, since position: ReplicationPosition?) {
    self.replication = replication
    self.position = position
  }

  /// Returns the next batch; nil if everything was read, after which a call looks for more.
  func next() async throws -> ReplicationBatch? {
    var batch = ReplicationBatch()
    if requests.isEmpty {
      if isAtEnd {
        isAtEnd = false
        return nil
      }
      let before = position
      try await readChanges(&batch)
      if requests.isEmpty, position == before {
        isAtEnd = false
        return nil
      }
    }
    if !requests.isEmpty { try await readRevisions(&batch) }
    batch.followingCount = followingCount
    if requests.isEmpty { batch.position = position }
    return batch
  }

  private func readChanges(_ batch: inout ReplicationBatch) async throws {
    let changes = try await replication.source.changes(
      since: position, limit: replication.options.batchCount, filter: replication.filter)
    position = changes.position ?? position
    followingCount = changes.followingCount
    isAtEnd = changes.isEnd
    batch.failures += changes.unreadable.map { (($0 as? DatabaseError)?.documentID ?? "", nil, $0) }
    var rest = changes.changes
    if !replication.options.copiesDesignDocuments { rest.removeAll { $0.id.hasPrefix("_design/") } }
    batch.counts.revisionsChecked = rest.reduce(0) { $0 + $1.leaves.count }
    // One call, unless IDs of several documents are equal to Swift, which compares characters.
    while !rest.isEmpty {
      var leaves: [String: [RevisionID]] = [:]
      var later: [(id: String, leaves: [RevisionID])] = []
      var asked: [String] = []
      for change in rest {
        if leaves.updateValueIfAbsent(change.leaves, for: change.id) {
          asked.append(change.id)
        } else {
          later.append(change)
        }
      }
      let missing = try await replication.target.missingRevisions(among: leaves)
      // In the order of the changes, so that documents arrive as they were written.
      requests += asked.flatMap { id in
        (missing[id]?.missing ?? []).map { revision in
          RevisionRequest(
            id: id, revision: revision, knownAncestors: missing[id]?.possibleAncestors ?? [])
        }
      }
      rest = later
    }
    batch.counts.revisionsMissing = requests.count
  }

  private func readRevisions(_ batch: inout ReplicationBatch) async throws {
    let answers = try await replication.source.revisions(
      requests, sizeLimit: replication.options.batchSize)
    guard !answers.isEmpty, answers.count <= requests.count else {
      throw ReplicationError(
        .invalidAnswer, "the source returned \(answers.count) revisions of \(requests.count)")
    }
    for (request, answer) in zip(requests, answers) {
      switch answer {
      case .found(let revision):
        batch.revisions.append(revision)
        batch.counts.revisionsRead += 1
      case .gone: break
      case .failed(let error): batch.failures.append((request.id, request.revision, error))
      }
    }
    requests = requests.dropFirst(answers.count)
  }
}

extension Dictionary {
  /// Adds a value, unless the key has one; returns whether it was added.
  fileprivate mutating func updateValueIfAbsent(_ value: Value, for key: Key) -> Bool {
    if self[key] != nil { return false }
    self[key] = value
    return true
  }
}
