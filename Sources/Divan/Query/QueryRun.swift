import DivanLog

/// One answer to a query, from one version of the store.
///
/// Candidates come from where the plan says (QueryCandidates.swift), each is asked what the plan leaves to be asked, and what
/// is accepted is handed out in the order of the query; along an index as IndexWalk.swift has it.
final class QueryRun {
  /// The version that is asked.
  let view: StoreView
  let query: QueryCore
  let plan: QueryPlan
  var tally = QueryTally()
  /// What is left to be asked; nil if the access has answered everything.
  let filter: CompiledFilter?
  /// What that has said of documents before; nil if it is not remembered.
  var remembered: RememberedFilter?
  private let sorts: SortKeys
  /// Nil where nothing is asked of other documents.
  let references: QueryReferences?
  /// Whether whoever asks reads the documents of all results.
  let readsResults: Bool
  /// How many results are still wanted, with those that the offset passes.
  private(set) var left = Int.max
  /// How many results the offset has passed.
  private var passed = 0
  /// How many results were counted without becoming candidates of their own.
  private(set) var countedInPassing = 0
  /// Asked for each candidate, whether it is found or not; the run throws `cancelled` when it says so.
  private let asksToStop: (() -> Bool)?

  init(
    _ view: StoreView, _ query: QueryCore, readsResults: Bool = false,
    isCancelled: (() -> Bool)? = nil
  ) throws(DatabaseError) {
    asksToStop = isCancelled
    self.readsResults = readsResults
    self.query = query
    self.view = view
    plan = try QueryPlanner(view).plan(query)
    references = query.followsReferences ? QueryReferences(view) : nil
    sorts = SortKeys(query.sorts)
    if case .all = plan.rest {
      filter = nil
      return
    }
    filter = CompiledFilter(plan.rest)
    remembered = RememberedFilter(plan, in: view)
  }
}

/// What a run has done.
struct QueryTally {
  var candidates = 0
  /// Of how many candidates it was remembered what the filter says.
  var remembered = 0
  var entriesRead = 0
  var documentsRead = 0
  var results = 0
}

extension QueryRun {
  /// Calls `body` with the results in their order, until it returns false.
  func forEach(_ body: (inout QueryHit) throws -> Bool) throws {
    left = wanted ?? .max
    passed = 0
    guard query.limit != 0 else { return }
    defer { remembered?.keep() }
    var hit = QueryHit(references: references)
    switch plan.order {
    case .fromIndex(let order):
      guard case .index(let access) = plan.access else { return }
      var results = try IndexWalk(self, along: access, order)
      while try results.advance(&hit) {
        guard try passes() || body(&hit) else { return }
        if left == 0 { return }
      }
    case .byID:
      var candidates = try CandidateCursor(self, plan.access, for: .inOrder)
      while try candidates.advance(&hit) {
        guard try accept(&hit) else { continue }
        guard try passes() || body(&hit) else { return }
        if left == 0 { return }
      }
    case .sorted:
      var rows = SortedRows(limit: wanted)
      var candidates = try CandidateCursor(self, plan.access, for: .sorting)
      while try candidates.advance(&hit) {
        if try accept(&hit) { rows.add(try sortedRow(&hit)) }
      }
      var results = SortedRowCursor(rows, of: self)
      while try results.advance(&hit) {
        guard try passes() || body(&hit) else { return }
        if left == 0 { return }
      }
    }
  }

  /// Counts a result; returns whether the offset leaves it out.
  private func passes() -> Bool {
    left -= 1
    guard passed >= query.offset else {
      passed += 1
      return true
    }
    tally.results += 1
    return false
  }

  /// Calls `body` with all that is meant, in any order; with a limit or an offset as ``forEach(_:)``.
  func forEachInAnyOrder(_ body: (inout QueryHit) throws -> Bool) throws {
    // Along an index, what has no entry comes only with the order.
    if case .index(let access) = plan.access, access.isFollowedByNone {
      return try forEach(body)
    }
    guard query.limit == nil, query.offset == 0 else { return try forEach(body) }
    defer { remembered?.keep() }
    var candidates = try CandidateCursor(self, plan.access, for: .inAnyOrder)
    var hit = QueryHit(references: references)
    while try candidates.advance(&hit) {
      guard try accept(&hit) else { continue }
      tally.results += 1
      guard try body(&hit) else { return }
    }
  }

  /// How many results there are; nothing is read of them that the filter does not need.
  ///
  /// Of a query that sorts nothing.
  func count() throws -> Int {
    var all = 0
    left = wanted ?? .max
    if filter == nil, case .everything = plan.access, view.past == nil {
      all = try view.documentCount()
    } else if filter == nil, query.limit == nil, case .index(let access) = plan.access,
      access.hasEachOnce
    {
      all = try countEntries(of: access)
    } else if filter == nil, plan.access.isKnownToExist {
      var ids = try CandidateIDs(self, plan.access, isOrdered: false)
      while left > 0, try ids.next() != nil {
        all += 1
        left -= 1
      }
    } else {
      defer { remembered?.keep() }
      var candidates = try CandidateCursor(self, plan.access, for: .counting)
      var hit = QueryHit(references: references)
      while left > 0, try candidates.advance(&hit) {
        guard try accept(&hit) else { continue }
        all += 1
        left -= 1
      }
      all += countedInPassing
    }
    let count = min(max(0, all - query.offset), query.limit ?? .max)
    tally.results = count
    return count
  }

  /// How many of the sorted rows can be wanted; nil for all.
  private var wanted: Int? {
    query.limit.map { $0.addingReportingOverflow(query.offset) }.flatMap {
      $0.overflow ? nil : $0.partialValue
    }
  }

  // MARK: Asking

  /// Whether whoever asks has no use for the answer any more.
  var isCancelled: Bool { asksToStop?() ?? false }

  /// Throws `cancelled` if whoever asks has no use for the answer any more.
  func stopIfCancelled() throws(DatabaseError) {
    if isCancelled { throw Database.cancelledError }
  }

  /// Whether the records of candidates are read, most probably.
  var readsCandidates: Bool { filter != nil || readsResults || !query.sorts.isEmpty }

  /// Whether a candidate is a document and fulfils what is left to be asked.
  func accept(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    guard try isThere(hit) else { return false }
    guard let filter else { return true }
    if let verdict = remembered?.verdict(of: hit.place.sequence) {
      tally.remembered += 1
      return verdict == .accepted
    }
    try read(&hit)
    if let verdict = remembered?.note(hit) { return verdict == .accepted }
    let isAccepted = try filter.accepts(hit.row)
    remembered?.note(isAccepted ? .accepted : .refused, at: hit.place)
    return isAccepted
  }

  /// Whether a candidate is a document.
  func isThere(_ hit: borrowing QueryHit) throws(DatabaseError) -> Bool {
    try stopIfCancelled()
    tally.candidates += 1
    return !hit.place.isDeleted
  }

  /// The record of a document.
  @inline(__always)
  func record(of hit: borrowing QueryHit) throws(DatabaseError) -> StoredDocument {
    // What was asked something was read already. Its parts are found once more, as few are asked for them.
    if hit.isRead { return try view.stored(hit.row.payload, at: hit.place) }
    tally.documentsRead += 1
    return try view.winningRecord(at: hit.place, hit.id)
  }

  /// Reads a document, so that there is all of its row; once, however often that is asked for.
  func read(_ hit: inout QueryHit) throws(DatabaseError) {
    if !hit.isRead { hit.take(try record(of: hit)) }
  }

  /// A result with the bytes by which it is sorted.
  func sortedRow(_ hit: inout QueryHit) throws(DatabaseError) -> SortedRows.Row {
    // Whoever wants the document reads it once it is known to be among the results.
    try read(&hit)
    return SortedRows.Row(key: try sorts.key(of: hit.row), id: hit.id, place: hit.place)
  }
}

// MARK: - What is remembered

extension QueryRun {
  /// Whether anything is known of what the filter says.
  var remembersAny: Bool { remembered.map { !$0.isEmpty } ?? false }

  /// Whether those that are known to be results are counted without becoming candidates.
  ///
  /// Where there may be enough, each is counted as it comes.
  func counts(_ purpose: CandidateCursor.Purpose) -> Bool {
    purpose == .counting && query.limit == nil
  }

  /// Notes that so many candidates were passed that the filter is known to refuse and to accept; the latter are results.
  func notePassed(refused: Int, accepted: Int) {
    tally.candidates += refused + accepted
    tally.remembered += refused + accepted
    countedInPassing += accepted
  }

  /// Notes that a document is deleted that was met in the order of changes.
  func noteDeleted(_ place: DocumentPlace) {
    if place != .unknown { remembered?.note(.deleted, at: place) }
  }
}
