import DivanLog

// Finding the candidates of a query.

/// A cursor over the documents that an access path yields, each once, with their locations.
///
/// Some of them may not exist, or may be deleted.
struct CandidateCursor: ~Copyable {
  private let execution: QueryExecution
  private let purpose: Purpose
  /// Whether the predicate cache has any match result of the filter.
  private let cachesAny: Bool
  /// Used if all documents are candidates in any order, and most probably are read.
  private var changes: SequenceCursor?
  /// Used if all documents of a range are candidates in the order of IDs, and probably are read.
  private var documents: DocumentLocationCursor?
  /// Used if all documents of a range are candidates, and are not read.
  private var entries: EntryCursor?
  /// Used for all other accesses.
  private var ids: CandidateIDs?
  /// Whether there are no more IDs after those that are waiting.
  private var areAllFound = false
  private var waiting: PrefetchQueue

  /// The purpose for which candidates are found.
  enum Purpose {
    /// Candidates come in the order of their IDs, until there are enough results.
    case inOrder
    /// Candidates come in any order, until there are enough results.
    case inAnyOrder
    /// Candidates come in any order, and all are needed.
    case sorting
    /// Candidates are counted until there are enough; those cached as accepted may be skipped.
    case counting
  }

  init(_ execution: QueryExecution, _ access: AccessPath, for purpose: Purpose)
    throws(DatabaseError)
  {
    self.execution = execution
    self.purpose = purpose
    cachesAny = execution.cachesAny
    let areRead = execution.readsCandidates
    waiting = PrefetchQueue(execution, areRead: areRead, areAllWanted: purpose == .sorting)
    // Each is set once: overwriting a large property costs its destruction, even if it was empty.
    guard let range = access.idRange else {
      changes = nil
      documents = nil
      entries = nil
      ids = try CandidateIDs(execution, access, isOrdered: purpose == .inOrder)
      return
    }
    let isInChanges =
      areRead && purpose != .inOrder && access.isEverything && execution.view.past == nil
    changes = isInChanges ? SequenceCursor(execution.view) : nil
    documents =
      areRead && !isInChanges ? CandidateCursor.documents(of: execution, range, for: purpose) : nil
    entries = areRead ? nil : EntryCursor(execution.view, range, descending: false)
    ids = nil
  }

  /// Returns the documents in a range, except those that the predicate cache decides.
  private static func documents(
    of execution: QueryExecution, _ range: IDRange, for purpose: Purpose
  ) -> DocumentLocationCursor {
    guard execution.cachesAny else {
      return DocumentLocationCursor(execution.view, range, descending: false)
    }
    let isCounting = execution.counts(purpose)
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
    // Moved out to avoid copies and checks for exclusive access.
    var cachedPredicate = execution.cachedPredicate.take()
    let isCounting = execution.counts(purpose)
    var (refused, accepted) = (0, 0)
    defer {
      execution.cachedPredicate = cachedPredicate
      execution.noteCached(refused: refused, accepted: accepted)
    }
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

/// A cursor over the IDs that an access path yields, each once.
///
/// It reads no documents.
struct CandidateIDs: ~Copyable {
  /// Used if all documents of a range are candidates.
  private var scan: EntryCursor?
  /// Used if the entries of the index lead to each document once.
  private var entries: IndexScan?
  /// The IDs that were found, for all other accesses.
  private let found: [SharedBytes]
  private var nextFound = 0

  /// Creates a cursor, which returns IDs in the order of their bytes if `isOrdered`.
  init(_ execution: QueryExecution, _ access: AccessPath, isOrdered: Bool) throws(DatabaseError) {
    if case .index(let access) = access, access.isOneValue || !isOrdered && access.yieldsEachOnce {
      scan = nil
      entries = try IndexScan(execution, access)
      found = []
    } else if let range = access.idRange {
      scan = EntryCursor(execution.view, range, descending: false)
      entries = nil
      found = []
    } else {
      scan = nil
      entries = nil
      found = QueryExecution.sorted(try execution.ids(of: access))
    }
  }

  mutating func next() throws(DatabaseError) -> SharedBytes? {
    // Only one of the three is used.
    if let id = try entries?.next() { return id }
    if let (id, _) = try scan?.next() { return id }
    guard nextFound < found.count else { return nil }
    nextFound += 1
    return found[nextFound - 1]
  }
}

extension AccessPath {
  /// Whether every document is a candidate.
  fileprivate var isEverything: Bool { if case .everything = self { true } else { false } }

  /// The range whose documents are all candidates, if there is one.
  fileprivate var idRange: IDRange? {
    switch self {
    case .everything: .all
    case .ids(let range): range
    case .nothing, .named, .index, .intersection, .union: nil
    }
  }
}
