import DivanLog

// Finding the candidates of a query.

/// A cursor over the documents that a row source yields, each once, with their locations.
///
/// Some of them may not exist, or may be deleted.
struct CandidateCursor: ~Copyable {
  private let execution: QueryExecution
  private let consumer: CandidateConsumer
  /// Whether the predicate cache has any match result of the filter.
  private let cachesAny: Bool
  // One of these four is used. Each is set once: overwriting a large property costs its
  // destruction, even if it was empty.
  private var changes: SequenceCursor?
  private var documents: DocumentLocationCursor?
  private var entries: EntryCursor?
  private var ids: CandidateIDs?
  /// Whether there are no more IDs after those that are waiting.
  private var areAllFound = false
  private var waiting: PrefetchQueue

  init(
    _ execution: QueryExecution, _ access: AccessPath, for consumer: CandidateConsumer
  ) throws(DatabaseError) {
    self.execution = execution
    self.consumer = consumer
    cachesAny = execution.cachesAny
    waiting = PrefetchQueue(
      execution, areRead: execution.readsCandidates, areAllWanted: consumer == .sorting)
    let source = RowSource(access, for: consumer, in: execution)
    switch source {
    case .sequenceScan:
      documents = nil
      entries = nil
      ids = nil
      changes = SequenceCursor(execution.view)
    case .idScan(let range, readsRecords: true):
      changes = nil
      entries = nil
      ids = nil
      documents = CandidateCursor.documents(of: execution, range, for: consumer)
    case .idScan(let range, readsRecords: false):
      changes = nil
      documents = nil
      ids = nil
      entries = EntryCursor(execution.view, range, descending: false)
    case .indexScan, .textSearch, .lookups:
      changes = nil
      documents = nil
      entries = nil
      ids = try CandidateIDs(execution, source)
    }
  }

  /// Returns the documents in a range, except those that the predicate cache decides.
  private static func documents(
    of execution: QueryExecution, _ range: IDRange, for consumer: CandidateConsumer
  ) -> DocumentLocationCursor {
    guard execution.cachesAny else {
      return DocumentLocationCursor(execution.view, range, descending: false)
    }
    let isCounting = execution.counts(consumer)
    return DocumentLocationCursor(execution.view, range, descending: false) { location in
      guard let matchResult = execution.cachedPredicate?.matchResult(of: location.sequence),
        isCounting || matchResult != .accepted
      else { return false }
      execution.noteCached(
        refused: matchResult == .refused ? 1 : 0, accepted: matchResult == .accepted ? 1 : 0)
      return true
    }
  }

  /// Moves to the next candidate; returns false at the end.
  mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool {
    if changes != nil { return try advanceInChanges(&candidate) }
    if let isFound = try documents?.advance(&candidate) { return isFound }
    if let isFound = try entries?.advance(&candidate) { return isFound }
    while !waiting.next(&candidate) {
      while !waiting.isFull {
        guard !areAllFound, let id = try ids?.next() else {
          areAllFound = true
          break
        }
        waiting.add(id)
      }
      guard !waiting.isEmpty else { return false }
      try waiting.fill()
    }
    return true
  }

  /// Moves to the next document in the order of changes, and reads it; returns false at the end.
  private mutating func advanceInChanges(_ candidate: inout QueryCandidate) throws(DatabaseError)
    -> Bool
  {
    while true {
      let isFound = cachesAny ? try advanceSkippingCached() : try changes?.advance()
      guard isFound == true, let location = changes?.location else { return false }
      guard !location.isDeleted, let record = changes?.takeRecord() else {
        execution.noteDeleted(location)
        continue
      }
      execution.tally.documentsRead += 1
      candidate.become(record.idBytes, location)
      candidate.take(record)
      return true
    }
  }

  /// Moves to the next document in the order of changes that the predicate cache does not decide.
  private mutating func advanceSkippingCached() throws(DatabaseError) -> Bool? {
    // Without a check for exclusive access at each document.
    let cachedPredicate = execution.cachedPredicate
    let isCounting = execution.counts(consumer)
    var (refused, accepted) = (0, 0)
    defer { execution.noteCached(refused: refused, accepted: accepted) }
    return try changes?.advance { sequence in
      // The caller checks for cancellation at the document where this stops.
      if execution.isCancelled { return false }
      switch cachedPredicate?.matchResult(of: sequence) {
      case nil: return false
      case .deleted: break
      case .refused: refused += 1
      case .accepted:
        guard isCounting else { return false }
        accepted += 1
      }
      return true
    }
  }
}

extension DocumentLocationCursor {
  /// Moves to the next document; returns false at the end.
  @inline(__always)
  fileprivate mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool
  {
    guard try advance() else { return false }
    candidate.become(id, location)
    return true
  }
}

extension EntryCursor {
  /// Moves to the next document; returns false at the end.
  fileprivate mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool
  {
    guard let (id, entry) = try next() else { return false }
    candidate.become(id, entry.location)
    return true
  }
}

/// A cursor over the IDs that a row source yields, each once.
///
/// It reads no documents.
struct CandidateIDs: ~Copyable {
  // One of these four is used.
  private var scan: EntryCursor?
  private var entries: IndexScan?
  private var matches: TextSearchScan?
  private let found: [SharedBytes]
  private var nextFound = 0

  init(_ execution: QueryExecution, _ source: RowSource) throws(DatabaseError) {
    switch source {
    case .sequenceScan:
      scan = EntryCursor(execution.view, .all, descending: false)
      entries = nil
      matches = nil
      found = []
    case .idScan(let range, _):
      scan = EntryCursor(execution.view, range, descending: false)
      entries = nil
      matches = nil
      found = []
    case .indexScan(let access):
      scan = nil
      entries = try IndexScan(execution, access)
      matches = nil
      found = []
    case .textSearch(let access):
      scan = nil
      entries = nil
      matches = try TextSearchScan(execution, access)
      found = []
    case .lookups(let access):
      scan = nil
      entries = nil
      matches = nil
      found = QueryExecution.sorted(try execution.ids(of: access))
    }
  }

  mutating func next() throws(DatabaseError) -> SharedBytes? {
    // Only one of the four is used.
    if let id = try entries?.next() { return id }
    if let id = try matches?.next() { return id }
    if let (id, _) = try scan?.next() { return id }
    guard nextFound < found.count else { return nil }
    nextFound += 1
    return found[nextFound - 1]
  }
}
