import DivanLog

/// One execution of a query on one version of the store.
///
/// Candidates come from the plan's access path (``CandidateCursor``). Each is tested for the plan's
/// residual predicate, and results are returned in the order of the query. In the order of an
/// index, ``OrderedIndexScan`` returns them; in the order of relevance, ``RankedTextScan``.
final class QueryExecution {
  /// The version that is queried.
  let view: ReadView
  let query: QueryCore
  let plan: QueryPlan
  var tally = QueryTally()
  /// The residual predicate; nil if the access has covered everything.
  let filter: CompiledFilter?
  /// The predicate cache of the filter; nil if it is not cached.
  var cachedPredicate: CachedPredicate?
  private let sorts: SortKeys
  /// Nil if the query does not follow references.
  let references: QueryReferences?
  /// Where the residual predicate finds attachments.
  let attachments: RowAttachments
  /// Whether the caller reads the documents of all results.
  let readsResults: Bool
  /// The number of results that are still wanted, including those that the offset skips.
  private(set) var left = Int.max
  /// The number of results that the offset has skipped.
  private var skipped = 0
  /// The number of results that the predicate cache counted without testing candidates.
  private(set) var countedFromCache = 0
  /// Called for each candidate, accepted or not; if it returns true, the query throws `cancelled`.
  private let isCancelledByCaller: (() -> Bool)?
  /// The time before the query was planned; nil if slow queries are not reported.
  let start: ContinuousClock.Instant?

  init(
    _ view: ReadView, _ query: QueryCore, readsResults: Bool = false,
    isCancelled: (() -> Bool)? = nil
  ) throws(DatabaseError) {
    start = view.environment.events?.queryStart
    isCancelledByCaller = isCancelled
    self.readsResults = readsResults
    self.query = query
    self.view = view
    plan = try QueryPlanner(view).plan(query)
    references = query.followsReferences ? QueryReferences(view) : nil
    attachments = plan.residual.searchesAttachments ? .listed(view) : .unused
    sorts = SortKeys(query.sorts)
    if case .all = plan.residual {
      filter = nil
      return
    }
    filter = CompiledFilter(plan.residual)
    cachedPredicate = CachedPredicate(plan, in: view)
  }
}

/// The counters of an execution.
struct QueryTally {
  var candidates = 0
  /// The number of candidates that the predicate cache decided.
  var cached = 0
  var entriesRead = 0
  var documentsRead = 0
  /// The number of candidates that the residual predicate accepted.
  var accepted = 0
  /// The number of candidates that an ordered index scan examined and did not yield.
  var notMissing = 0
  var results = 0
}

extension QueryExecution {
  /// Calls `body` with the results until it returns false; in their order, unless any will do.
  ///
  /// With a limit or an offset, the order decides which results there are, and is kept.
  func forEach(
    inAnyOrder: Bool = false, _ body: (inout QueryCandidate) throws -> Bool
  ) throws {
    left = wanted ?? .max
    skipped = 0
    guard query.limit != 0 else { return }
    defer { noteEnd() }
    defer { cachedPredicate?.publish() }
    var isAnyOrder = inAnyOrder && query.limit == nil && query.offset == 0
    // Only an ordered scan of an index returns documents without an entry.
    if case .index(let access) = plan.access, access.endsWithMissing { isAnyOrder = false }
    var candidate = QueryCandidate(references: references, attachments: attachments)
    switch isAnyOrder ? .byID : plan.order {
    case .fromIndex(let order):
      guard case .index(let access) = plan.access else { return }
      var results = try OrderedIndexScan(self, along: access, order)
      while try results.advance(&candidate) {
        guard try passOn(&candidate, to: body) else { return }
      }
    case .byRelevance:
      guard case .fullText(let access) = plan.access else { return }
      var results = try RankedTextScan(self, access)
      while try results.advance(&candidate) {
        guard try passOn(&candidate, to: body) else { return }
      }
    case .byID:
      var candidates = try CandidateCursor(
        self, plan.access, for: isAnyOrder ? .inAnyOrder : .inOrder)
      while try candidates.advance(&candidate) {
        guard try accept(&candidate) else { continue }
        guard try passOn(&candidate, to: body) else { return }
      }
    case .sorted:
      var rows = SortedRows(limit: wanted)
      var candidates = try CandidateCursor(self, plan.access, for: .sorting)
      while try candidates.advance(&candidate) {
        if try accept(&candidate) { rows.add(try sortedRow(&candidate)) }
      }
      var results = SortedRowCursor(rows, of: self)
      while try results.advance(&candidate) {
        guard try passOn(&candidate, to: body) else { return }
      }
    }
  }

  /// Passes on a result, unless the offset skips it; returns whether more are wanted.
  private func passOn(
    _ candidate: inout QueryCandidate, to body: (inout QueryCandidate) throws -> Bool
  ) throws -> Bool {
    left -= 1
    guard skipped >= query.offset else {
      skipped += 1
      return left > 0
    }
    tally.results += 1
    return try body(&candidate) && left > 0
  }

  /// Returns the number of results; reads only documents that the filter needs.
  ///
  /// The query must not have sort keys; an order by relevance makes no difference.
  func count() throws -> Int {
    defer { noteEnd() }
    var all = 0
    left = wanted ?? .max
    if filter == nil, case .everything = plan.access, view.past == nil {
      all = try view.documentCount()
    } else if filter == nil, query.limit == nil, case .index(let access) = plan.access,
      access.yieldsEachOnce
    {
      all = try countEntries(of: access)
    } else if filter == nil, query.limit == nil, case .fullText(let access) = plan.access {
      all = try countMatches(of: access)
    } else if filter == nil, plan.access.isKnownToExist {
      var ids = try CandidateIDs(self, RowSource(plan.access, for: .counting, in: self))
      while left > 0, try ids.next() != nil {
        all += 1
        left -= 1
      }
    } else {
      defer { cachedPredicate?.publish() }
      var candidates = try CandidateCursor(self, plan.access, for: .counting)
      var candidate = QueryCandidate(references: references, attachments: attachments)
      while left > 0, try candidates.advance(&candidate) {
        guard try accept(&candidate) else { continue }
        all += 1
        left -= 1
      }
      all += countedFromCache
    }
    let count = min(max(0, all - query.offset), query.limit ?? .max)
    tally.results = count
    return count
  }

  /// The number of sorted rows that can be wanted; nil for all.
  var wanted: Int? {
    query.limit.map { $0.addingReportingOverflow(query.offset) }.flatMap {
      $0.overflow ? nil : $0.partialValue
    }
  }

  // MARK: Testing candidates

  /// Whether the caller has cancelled the query.
  var isCancelled: Bool { isCancelledByCaller?() ?? false }

  /// Throws `cancelled` if the caller has cancelled the query.
  func stopIfCancelled() throws(DatabaseError) {
    if isCancelled { throw Database.cancelledError }
  }

  /// Whether the records of candidates are probably read.
  var readsCandidates: Bool { filter != nil || readsResults || !query.sorts.isEmpty }

  /// Whether a candidate is a document and meets the residual predicate.
  func accept(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool {
    guard try isDocument(candidate) else { return false }
    var isAccepted = true
    if let matchResult = cachedPredicate?.matchResult(of: candidate.location.sequence) {
      tally.cached += 1
      isAccepted = matchResult == .accepted
    } else if let filter {
      try read(&candidate)
      isAccepted = try filter.accepts(candidate.row)
      cachedPredicate?.note(isAccepted ? .accepted : .refused, at: candidate.location)
    }
    if isAccepted { tally.accepted += 1 }
    return isAccepted
  }

  /// Whether a candidate is a document.
  func isDocument(_ candidate: borrowing QueryCandidate) throws(DatabaseError) -> Bool {
    try stopIfCancelled()
    tally.candidates += 1
    return !candidate.location.isDeleted
  }

  /// Returns the record of a document.
  @inline(__always)
  func record(of candidate: borrowing QueryCandidate) throws(DatabaseError) -> StoredDocument {
    // A tested document was read already. Its parts are located again, because few records are
    // needed.
    if candidate.isRead {
      return try view.content(of: candidate.row.payload, at: candidate.location.locator)
    }
    tally.documentsRead += 1
    return try view.winningRecord(at: candidate.location, candidate.id)
  }

  /// Reads a document to complete its row, if that was not done before.
  func read(_ candidate: inout QueryCandidate) throws(DatabaseError) {
    if !candidate.isRead { candidate.take(try record(of: candidate)) }
  }

  /// Returns a result with the bytes by which it is sorted.
  func sortedRow(_ candidate: inout QueryCandidate) throws(DatabaseError) -> SortedRows.Row {
    // The row does not keep the document, which is read again only if it is among the results.
    try read(&candidate)
    return SortedRows.Row(
      key: try sorts.key(of: candidate.row), id: candidate.id, location: candidate.location)
  }
}

// MARK: - Predicate cache

extension QueryExecution {
  /// Whether the predicate cache has any match result of the filter.
  var cachesAny: Bool { cachedPredicate.map { !$0.isEmpty } ?? false }

  /// Whether documents that are known to be results are counted without becoming candidates.
  ///
  /// With a limit there may be enough before, so each is counted as it comes.
  func counts(_ consumer: CandidateConsumer) -> Bool {
    consumer == .counting && query.limit == nil
  }

  /// Counts candidates that the predicate cache decided; accepted ones are results.
  func noteCached(refused: Int, accepted: Int) {
    tally.candidates += refused + accepted
    tally.cached += refused + accepted
    countedFromCache += accepted
  }

  /// Records that a document in the order of changes is deleted.
  func noteDeleted(_ location: DocumentLocation) {
    if location != .unknown { cachedPredicate?.note(.deleted, at: location) }
  }
}
