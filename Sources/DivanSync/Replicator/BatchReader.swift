import Divan

/// Revisions that are written to the target together.
struct ReplicationBatch: Sendable {
  typealias Failure = (id: String, revision: RevisionID?, error: any Error)

  var revisions: [ReplicatedRevision] = []
  /// Whether these are what an earlier session could not copy.
  var isOfRetries = false
  /// Revisions that the source could not return.
  var failures: [Failure] = []
  var counts = ReplicationCounts()
  /// The source's position after it; nil if more revisions of the same changes follow.
  var position: ReplicationPosition?
  /// The last change of the source that was read through the position, in this batch or before.
  var lastChange: ReplicationLog.Change?
  var followingCount: Int?
}

/// Reads the revisions that the target does not have, in batches of bounded size.
actor BatchReader {
  private let replication: DirectedReplication
  /// The position through which changes were read.
  private(set) var position: ReplicationPosition?
  /// What is still to be read of these changes.
  private var requests: ArraySlice<RevisionRequest> = []
  /// What was read, and is in no batch yet.
  private var answers: ArraySlice<(request: RevisionRequest, answer: RevisionAnswer)> = []
  private var followingCount: Int?
  private var lastChange: ReplicationLog.Change?
  private var isAtEnd = false

  /// Revisions before the position to ask for first.
  private var retries: [ReplicationLog.Retry]
  /// Whether what is read at present is of these.
  private var isRetrying = false

  init(
    _ replication: DirectedReplication, since position: ReplicationPosition?,
    retries: [ReplicationLog.Retry]
  ) {
    self.replication = replication
    self.position = position
    self.retries = retries
  }

  /// The size of the attachments in bytes that end a batch.
  ///
  /// What a batch has read is lost with the process, and is not counted before it is written.
  private static let attachmentSizeLimit = 16 << 20

  /// Returns the next batch; nil if everything was read, after which a call looks for more.
  func next() async throws -> ReplicationBatch? {
    var batch = ReplicationBatch()
    if !retries.isEmpty {
      var documents: [(id: String, leaves: [RevisionID])] = []
      for retry in retries {
        if let last = documents.indices.last,
          documents[last].id.utf8.elementsEqual(retry.id.utf8)
        {
          documents[last].leaves.append(retry.revision)
        } else {
          documents.append((retry.id, [retry.revision]))
        }
      }
      try await compare(documents, &batch)
      retries = []
      isRetrying = true
    } else if requests.isEmpty, answers.isEmpty {
      if isAtEnd {
        isAtEnd = false
        return nil
      }
      let before = position
      isRetrying = false
      try await readChanges(&batch)
      if requests.isEmpty, position == before {
        isAtEnd = false
        return nil
      }
    }
    if answers.isEmpty, !requests.isEmpty { try await readRevisions() }
    takeAnswers(&batch)
    batch.followingCount = followingCount
    if requests.isEmpty, answers.isEmpty {
      batch.position = position
      batch.lastChange = lastChange
    }
    return batch
  }

  private func readChanges(_ batch: inout ReplicationBatch) async throws {
    let changes = try await replication.source.changes(
      since: position, limit: replication.options.batchCount, filter: replication.filter)
    position = changes.position ?? position
    lastChange =
      changes.changes.last.flatMap(ReplicationLog.Change.init(remembering:)) ?? lastChange
    followingCount = changes.followingCount
    isAtEnd = changes.isEnd
    batch.failures += changes.unreadable.map { (($0 as? DatabaseError)?.documentID ?? "", nil, $0) }
    var rest = changes.changes
    if !replication.options.copiesDesignDocuments { rest.removeAll { $0.id.hasPrefix("_design/") } }
    try await compare(rest, &batch)
  }

  /// Asks the target which revisions it does not have, and remembers to read these.
  private func compare(
    _ changes: [(id: String, leaves: [RevisionID])], _ batch: inout ReplicationBatch
  ) async throws {
    batch.counts.revisionsChecked = changes.reduce(0) { $0 + $1.leaves.count }
    // One call, unless IDs of several documents are equal to Swift, which compares characters.
    var rest = changes
    while !rest.isEmpty {
      var leaves: [String: [RevisionID]] = [:]
      var later: [(id: String, leaves: [RevisionID])] = []
      var asked: [(id: String, leaves: [RevisionID])] = []
      for change in rest {
        if leaves.updateValueIfAbsent(change.leaves, for: change.id) {
          asked.append(change)
        } else {
          later.append(change)
        }
      }
      let missing = try await replication.target.missingRevisions(among: leaves)
      // In the order of the changes, so that documents arrive as they were written. What the target
      // was not asked for is not read from the source.
      for (id, leaves) in asked {
        guard let entry = missing[id] else { continue }
        let missing = Set(entry.missing)
        var seen: Set<RevisionID> = []
        for revision in leaves where missing.contains(revision) && seen.insert(revision).inserted {
          requests.append(
            RevisionRequest(
              id: id, revision: revision, knownAncestors: entry.possibleAncestors))
        }
      }
      rest = later
    }
    batch.counts.revisionsMissing = requests.count
  }

  private func readRevisions() async throws {
    let read = try await replication.source.revisions(
      requests, sizeLimit: replication.options.batchSize)
    guard !read.isEmpty, read.count <= requests.count else {
      throw ReplicationError(
        .invalidAnswer, "the source returned \(read.count) revisions of \(requests.count)")
    }
    answers = Array(zip(requests, read).map { (request: $0, answer: $1) })[...]
    requests = requests.dropFirst(read.count)
  }

  /// Moves answers to a batch, until it has many bytes of attachments.
  private func takeAnswers(_ batch: inout ReplicationBatch) {
    batch.isOfRetries = isRetrying
    var attachmentSize = 0
    while attachmentSize < Self.attachmentSizeLimit, let (request, answer) = answers.popFirst() {
      switch answer {
      case .found(var revision):
        revision.isRetry = isRetrying
        batch.revisions.append(revision)
        batch.counts.revisionsRead += 1
        attachmentSize = attachmentSize.saturatingSum(revision.newAttachmentSize)
      case .gone: break
      case .failed(let error): batch.failures.append((request.id, request.revision, error))
      }
    }
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
