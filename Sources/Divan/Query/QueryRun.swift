import DivanLog

/// One answer to a query, from one version of the store.
///
/// Candidates come from where the plan says (QueryCandidates.swift), each is asked what the plan leaves to be asked, and what
/// is accepted is handed out in the order of the query; along an index as IndexWalk.swift has it.
final class QueryRun {
  /// A document that the query means.
  struct Hit {
    let id: SharedBytes
    let entry: DocumentEntry
    /// Nil if the document did not have to be read.
    let record: StoredDocument?
  }

  let planner: QueryPlanner
  let query: QueryCore
  let plan: QueryPlan
  var tally = QueryTally()
  /// What is left to be asked; nil if the access has answered everything.
  let filter: CompiledFilter?
  private let sorts: SortKeys
  /// Nil where nothing is asked of other documents.
  private let references: QueryReferences?
  /// Asked for each candidate, whether it is found or not; the run throws `cancelled` when it says so.
  private let isCancelled: (() -> Bool)?

  init(
    _ view: StoreView, _ query: QueryCore, isCancelled: (() -> Bool)? = nil
  ) throws(DatabaseError) {
    self.isCancelled = isCancelled
    self.query = query
    let planner = QueryPlanner(view)
    plan = try planner.plan(query)
    self.planner = planner
    references = query.followsReferences ? QueryReferences(view) : nil
    if case .all = plan.rest { filter = nil } else { filter = CompiledFilter(plan.rest) }
    sorts = SortKeys(query.sorts)
  }
}

/// What a run has done.
struct QueryTally {
  var candidates = 0
  var entriesRead = 0
  var documentsRead = 0
  var results = 0
}

extension QueryRun {
  /// The version that is asked.
  var view: StoreView { planner.view }

  /// Calls `body` with the results in their order, until it returns false.
  func forEach(_ body: (Hit) throws -> Bool) throws {
    var left = query.limit ?? .max
    var passed = 0
    guard left > 0 else { return }
    func emit(_ hit: Hit) throws -> Bool {
      guard passed >= query.offset else {
        passed += 1
        return true
      }
      tally.results += 1
      left -= 1
      return try body(hit) && left > 0
    }
    switch plan.order {
    case .byID:
      try forEachCandidate(plan.access, isOrdered: true) { id, entry in
        guard let hit = try accept(id, entry, filter) else { return true }
        return try emit(hit)
      }
    case .sorted:
      var rows = SortedRows(limit: wanted)
      try forEachCandidate(plan.access, isOrdered: false) { id, entry in
        if let hit = try accept(id, entry, filter) { rows.add(try sortedRow(hit)) }
        return true
      }
      _ = try rows.forEach { try emit($0.hit) }
    case .fromIndex(let order):
      guard case .index(let access) = plan.access else { return }
      try forEach(along: access, order, emit)
    }
  }

  /// Calls `body` with all that is meant, in any order; with a limit or an offset as ``forEach(_:)``.
  func forEachInAnyOrder(_ body: (Hit) throws -> Bool) throws {
    // Along an index, what has no entry comes only with the order.
    if case .index(let access) = plan.access, access.isFollowedByNone {
      return try forEach(body)
    }
    guard query.limit == nil, query.offset == 0 else { return try forEach(body) }
    try forEachCandidate(plan.access, isOrdered: false) { id, entry in
      guard let hit = try accept(id, entry, filter) else { return true }
      tally.results += 1
      return try body(hit)
    }
  }

  /// How many results there are; nothing is read of them that the filter does not need.
  ///
  /// Of a query that sorts nothing.
  func count() throws -> Int {
    var all = 0
    if filter == nil, case .everything = plan.access, view.past == nil {
      all = Int(clamping: view.state.documentCount)
    } else if filter == nil, query.limit == nil, case .index(let access) = plan.access,
      access.hasEachOnce
    {
      all = try countEntries(of: access)
    } else {
      let isKnown = filter == nil && plan.access.isKnownToExist
      try forEachCandidate(plan.access, isOrdered: false) { id, entry in
        let isMeant = try isKnown || accept(id, entry, filter) != nil
        all += isMeant ? 1 : 0
        return query.limit.map { all - query.offset < $0 } ?? true
      }
    }
    let count = min(max(0, all - query.offset), query.limit ?? .max)
    tally.results = count
    return count
  }

  /// How many of the sorted rows can be wanted; nil for all.
  var wanted: Int? {
    query.limit.map { $0.addingReportingOverflow(query.offset) }.flatMap {
      $0.overflow ? nil : $0.partialValue
    }
  }

  // MARK: Asking

  /// Throws `cancelled` if whoever asks has no use for the answer any more.
  func stopIfCancelled() throws(DatabaseError) {
    if let isCancelled, isCancelled() { throw Database.cancelledError }
  }

  private func record(
    _ id: SharedBytes, _ entry: DocumentEntry
  ) throws(DatabaseError) -> StoredDocument {
    tally.documentsRead += 1
    return try view.winningRecord(of: entry, id)
  }

  /// What a candidate is, if it is a document and fulfils a filter.
  func accept(
    _ id: SharedBytes, _ known: DocumentEntry?, _ filter: CompiledFilter?
  ) throws(DatabaseError) -> Hit? {
    try stopIfCancelled()
    tally.candidates += 1
    var found = known
    if found == nil { found = try view.entry(id) }
    guard let entry = found, !entry.isDeleted else { return nil }
    guard let filter else { return Hit(id: id, entry: entry, record: nil) }
    let record = try record(id, entry)
    guard try filter.accepts(row(record)) else { return nil }
    return Hit(id: id, entry: entry, record: record)
  }

  func row(_ record: StoredDocument) -> QueryRow {
    QueryRow(id: record.idBytes, body: record.body, references: references)
  }

  /// The record of a candidate, which may have been read already.
  func record(of hit: Hit) throws(DatabaseError) -> StoredDocument {
    if let record = hit.record { return record }
    return try record(hit.id, hit.entry)
  }

  /// A result with the bytes by which it is sorted.
  func sortedRow(_ hit: Hit) throws(DatabaseError) -> SortedRows.Row {
    // Whoever wants the document reads it once it is known to be among the results.
    SortedRows.Row(
      key: try sorts.key(of: row(try record(of: hit))),
      hit: Hit(id: hit.id, entry: hit.entry, record: nil))
  }
}
