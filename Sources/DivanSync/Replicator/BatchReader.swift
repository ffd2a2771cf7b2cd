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
    guard !changes.changes.isEmpty else { return }
    let leaves = Dictionary(
      changes.changes.map { ($0.id, $0.leaves) }, uniquingKeysWith: { $0 + $1 })
    batch.counts.revisionsChecked = leaves.values.reduce(0) { $0 + $1.count }
    let missing = try await replication.target.missingRevisions(among: leaves)
    // In the order of the changes, so that documents arrive as they were written.
    requests =
      changes.changes.flatMap { id, _ in
        (missing[id]?.missing ?? []).map { revision in
          RevisionRequest(
            id: id, revision: revision, knownAncestors: missing[id]?.possibleAncestors ?? [])
        }
      }[...]
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
