import DivanLog

/// One answer to a query, from one version of the store.
///
/// Candidates come from where the plan says, each is asked what the plan leaves to be asked, and what is accepted is
/// handed out in the order of the query.
struct QueryRun {
  /// A document that the query means.
  struct Hit {
    let id: String
    let entry: DocumentEntry
    /// Nil if the document did not have to be read.
    let record: DocumentRecord?
  }

  let view: StoreView
  let query: QueryCore
  let plan: QueryPlan
  let tally = QueryTally()
  /// Nil if the access has answered everything.
  private let filter: CompiledFilter?
  private let sorts: SortKeys
  private let references: QueryReferences

  init(_ view: StoreView, _ query: QueryCore) throws(DatabaseError) {
    self.view = view
    self.query = query
    plan = try QueryPlanner(view).plan(query)
    references = QueryReferences(view)
    if case .all = plan.rest { filter = nil } else { filter = CompiledFilter(plan.rest) }
    sorts = SortKeys(query.sorts)
  }
}

/// What a run has done.
final class QueryTally {
  var entriesRead = 0
  var documentsRead = 0
  var results = 0
}

extension QueryRun {
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
        guard let hit = try accept(id, entry) else { return true }
        return try emit(hit)
      }
    case .sorted:
      var rows = SortedRows(limit: wanted)
      try forEachCandidate(plan.access, isOrdered: false) { id, entry in
        if let row = try sortedRow(id, entry) { rows.add(row) }
        return true
      }
      _ = try rows.forEach { try emit($0.hit) }
    case .fromIndex: try forEachFromIndex(emit)
    }
  }

  /// Calls `body` with all that is meant, in any order; with a limit or an offset as ``forEach(_:)``.
  func forEachInAnyOrder(_ body: (Hit) throws -> Bool) throws {
    guard query.limit == nil, query.offset == 0 else { return try forEach(body) }
    try forEachCandidate(plan.access, isOrdered: false) { id, entry in
      guard let hit = try accept(id, entry) else { return true }
      tally.results += 1
      return try body(hit)
    }
  }

  /// How many results there are; nothing is read of them that the filter does not need.
  func count() throws -> Int {
    var all = 0
    if filter == nil, case .everything = plan.access, view.past == nil {
      all = Int(clamping: view.state.documentCount)
    } else {
      try forEachCandidate(plan.access, isOrdered: false) { id, entry in
        // Only what an index names is known to be there.
        let isMeant =
          if filter == nil, isKnownToExist { true } else { try accept(id, entry) != nil }
        all += isMeant ? 1 : 0
        return query.limit.map { all - query.offset < $0 } ?? true
      }
    }
    let count = min(max(0, all - query.offset), query.limit ?? .max)
    tally.results = count
    return count
  }

  private var isKnownToExist: Bool {
    if case .named = plan.access { false } else { true }
  }

  /// How many of the sorted rows can be wanted; nil for all.
  private var wanted: Int? {
    query.limit.map { $0.addingReportingOverflow(query.offset) }.flatMap {
      $0.overflow ? nil : $0.partialValue
    }
  }

  // MARK: Asking

  private func record(
    _ id: String, _ entry: DocumentEntry
  ) throws(DatabaseError) -> DocumentRecord {
    tally.documentsRead += 1
    return try view.winningRecord(of: entry, id)
  }

  /// What a candidate is, if it is a document and fulfils what is left to be asked.
  private func accept(_ id: String, _ known: DocumentEntry?) throws(DatabaseError) -> Hit? {
    var found = known
    if found == nil { found = try view.entry(id) }
    guard let entry = found, !entry.isDeleted else { return nil }
    guard let filter else { return Hit(id: id, entry: entry, record: nil) }
    let record = try record(id, entry)
    guard try filter.accepts(row(record)) else { return nil }
    return Hit(id: id, entry: entry, record: record)
  }

  func row(_ record: DocumentRecord) -> QueryRow {
    QueryRow(id: record.idBytes, body: record.body, references: references)
  }

  /// The same with the bytes by which it is sorted.
  private func sortedRow(
    _ id: String, _ entry: DocumentEntry?
  ) throws(DatabaseError) -> SortedRows.Row? {
    guard let hit = try accept(id, entry) else { return nil }
    return try sortedRow(hit, try record(of: hit))
  }

  /// The record of a candidate, which may have been read already.
  func record(of hit: Hit) throws(DatabaseError) -> DocumentRecord {
    if let record = hit.record { return record }
    return try record(hit.id, hit.entry)
  }

  private func sortedRow(
    _ hit: Hit, _ record: DocumentRecord
  ) throws(DatabaseError) -> SortedRows.Row {
    // Whoever wants the document reads it once it is known to be among the results.
    SortedRows.Row(
      key: try sorts.key(of: row(record)), hit: Hit(id: hit.id, entry: hit.entry, record: nil))
  }

  // MARK: Candidates

  /// Calls `body` with each candidate once, until it returns false.
  private func forEachCandidate(
    _ access: QueryAccess, isOrdered: Bool, _ body: (String, DocumentEntry?) throws -> Bool
  ) throws {
    switch access {
    case .nothing: return
    case .everything: try scan(.all, body)
    case .ids(let range): try scan(range, body)
    case .named(let ids):
      for id in QueryRun.sorted(Set(ids.map { Array($0.utf8) })) {
        guard try body(id, nil) else { return }
      }
    case .index(let index) where index.isOneValue || !isOrdered && index.hasEachOnce:
      for range in index.ranges {
        var entries = try IndexEntryCursor(view, index.kept, range, descending: false)
        while let id = try entries.next() {
          tally.entriesRead += 1
          guard try body(id, nil) else { return }
        }
      }
    case .index, .intersection, .union:
      for id in QueryRun.sorted(try ids(of: access)) {
        guard try body(id, nil) else { return }
      }
    }
  }

  private func scan(
    _ range: IDRange, _ body: (String, DocumentEntry?) throws -> Bool
  ) throws {
    var entries = EntryCursor(view, range, descending: false)
    while let (id, entry) = try entries.next() {
      guard try body(id, entry) else { return }
    }
  }

  /// The IDs that an access finds.
  private func ids(of access: QueryAccess) throws -> Set<[UInt8]> {
    switch access {
    case .intersection(let accesses):
      var found: Set<[UInt8]>?
      for access in accesses {
        let ids = try self.ids(of: .index(access))
        found = found.map { $0.intersection(ids) } ?? ids
        if found?.isEmpty == true { break }
      }
      return found ?? []
    case .union(let accesses):
      var found: Set<[UInt8]> = []
      for access in accesses { found.formUnion(try ids(of: access)) }
      return found
    case .index(let index):
      var found: Set<[UInt8]> = []
      for range in index.ranges {
        var entries = try IndexEntryCursor(view, index.kept, range, descending: false)
        while let id = try entries.next() {
          tally.entriesRead += 1
          found.insert(Array(id.utf8))
        }
      }
      return found
    case .nothing, .everything, .ids, .named:
      var found: Set<[UInt8]> = []
      try forEachCandidate(access, isOrdered: false) { id, _ in
        found.insert(Array(id.utf8))
        return true
      }
      return found
    }
  }

  private static func sorted(_ ids: Set<[UInt8]>) -> [String] {
    ids.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension IndexAccess {
  /// Whether walking over the ranges meets each document once.
  fileprivate var hasEachOnce: Bool { !kept.index.eachElement || ranges.count == 1 }
}

// MARK: - In the order of an index

extension QueryRun {
  /// Walks along the index.
  ///
  /// Documents of one value come together, and so do those of which the index does not know the order: they are sorted
  /// before they are handed out.
  private func forEachFromIndex(_ emit: (Hit) throws -> Bool) throws {
    guard case .index(let access) = plan.access, let sort = query.sorts.first else { return }
    var group: (key: [UInt8], ids: [String])?
    var left = wanted

    func finishGroup() throws -> Bool {
      guard let (_, ids) = group else { return true }
      group = nil
      var rows = SortedRows(limit: left)
      for id in ids {
        // Alone it needs no order.
        if ids.count == 1 {
          guard let hit = try accept(id, nil) else { return true }
          left = left.map { $0 - 1 }
          return try emit(hit)
        }
        if let row = try sortedRow(id, nil) { rows.add(row) }
      }
      return try rows.forEach { row in
        left = left.map { $0 - 1 }
        return try emit(row.hit)
      }
    }

    for range in access.ranges {
      var entries = try IndexEntryCursor(view, access.kept, range, descending: sort.descending)
      while let (id, value) = try entries.nextEntry() {
        tally.entriesRead += 1
        // Those come at the end, with those that have no entry.
        if access.isFollowedByNone, value[0] == IndexedValue.type(of: .null) { continue }
        let key = QueryRun.groupKey(value, byBytes: sort.byBytes)
        if group?.key == key {
          group?.ids.append(id)
        } else {
          guard try finishGroup() else { return }
          group = (key, [id])
        }
      }
    }
    guard try finishGroup(), access.isFollowedByNone else { return }
    let isNothing = CompiledFilter(.test(sort.path, .equal(.null)))
    var rows = SortedRows(limit: left)
    try scan(.all) { id, entry in
      guard let hit = try accept(id, entry) else { return true }
      let record = try record(of: hit)
      if try isNothing.accepts(row(record)) { rows.add(try sortedRow(hit, record)) }
      return true
    }
    _ = try rows.forEach { try emit($0.hit) }
  }

  /// What entries have in common of which the index does not know in which order they are sorted.
  private static func groupKey(_ value: SharedBytes, byBytes: Bool) -> [UInt8] {
    let type = value[0] & 0xF0
    if type > IndexedValue.type(of: .string(""))
      || type == IndexedValue.type(of: .string("")) && !byBytes
    {
      return [type]
    }
    // Of what is cut, the rest is a hash.
    return value.prefix(min(value.count, IndexedValue.cutSize)).array
  }
}
