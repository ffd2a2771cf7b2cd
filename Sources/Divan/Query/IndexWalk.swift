import DivanLog

/// The documents that fulfil the filter of a query, in the order of an index.
///
/// Documents of one value come together, and so do those of which the index does not know the order: they are sorted
/// before they are handed out, unless their IDs decide.
struct IndexWalk: ~Copyable {
  private let run: QueryRun
  private let access: IndexAccess
  private let order: IndexOrder
  private var entries: IndexAccessCursor
  /// Whether the present entry is still to be looked at.
  private var hasEntry = false
  /// Those whose place among the results is known.
  private var waiting: WaitingCandidates
  /// Those of which the index does not know the order, as far as they were met.
  private var group: Group?
  /// A group that is whole, in its order, as far as it is not waiting.
  private var ordered: ArraySlice<SharedBytes> = []
  /// A group, sorted.
  private var rows: SortedRowCursor?
  /// Whether those without an entry are still to come, behind all others.
  private var isFollowedByNone: Bool

  private struct Group {
    let key: IndexGroup
    var ids: [SharedBytes] = []
  }

  init(
    _ run: QueryRun, along access: IndexAccess, _ order: IndexOrder
  ) throws(DatabaseError) {
    self.run = run
    self.access = access
    self.order = order
    entries = try IndexAccessCursor(run, access, descending: order.descending)
    waiting = WaitingCandidates(run, areRead: run.readsCandidates, areAllWanted: false)
    isFollowedByNone = access.isFollowedByNone
  }

  /// Moves to the next result; returns false at the end.
  mutating func advance(_ hit: inout QueryHit) throws(DatabaseError) -> Bool {
    while true {
      while waiting.next(&hit) {
        if try run.accept(&hit) { return true }
      }
      if try rows?.advance(&hit) == true { return true }
      rows = nil
      guard try gather() else { return false }
    }
  }

  /// Finds what comes next, which then waits or is in `rows`; returns false at the end.
  private mutating func gather() throws(DatabaseError) -> Bool {
    repeat {
      while !waiting.isFull, let id = ordered.popFirst() { waiting.add(id) }
      if waiting.isFull { break }
      guard try takeEntry() else {
        // What waits comes before what is sorted.
        if !waiting.isEmpty { break }
        return try sortRest()
      }
    } while true
    try waiting.bringIn()
    return true
  }

  /// Takes up the next entry; returns false if a group is to be sorted before, or there is none.
  private mutating func takeEntry() throws(DatabaseError) -> Bool {
    if !hasEntry {
      hasEntry = try entries.advance()
      if !hasEntry { return finishGroup() }
    }
    // Those come at the end, with those that have no entry.
    if access.isFollowedByNone, entries.withValue({ $0[0] == IndexedValue.type(of: .null) }) {
      hasEntry = false
      return true
    }
    if entries.withValue({ order.hasPlace(for: $0) }) {
      if group != nil { return finishGroup() }
      waiting.add(entries.takeID())
    } else {
      let key = order.group(of: entries.value)
      if let known = group?.key, known != key { return finishGroup() }
      if group == nil { group = Group(key: key) }
      group?.ids.append(entries.takeID())
    }
    hasEntry = false
    return true
  }

  /// Puts a whole group into its order, if its IDs decide; returns false if it is to be sorted, or there is none.
  private mutating func finishGroup() -> Bool {
    guard let key = group?.key, let ids = group?.ids,
      key.isEqual && order.isWhole || ids.count == 1
    else { return false }
    ordered = ArraySlice(order.isByID ? ids.reversed() : QueryRun.sorted(ids))
    group = nil
    return true
  }

  /// Sorts the group, or at the end those that have no entry; returns false if there is none.
  private mutating func sortRest() throws(DatabaseError) -> Bool {
    if let ids = group?.ids {
      group = nil
      rows = SortedRowCursor(try run.sort(ids), of: run)
      return true
    }
    guard isFollowedByNone else { return false }
    isFollowedByNone = false
    rows = SortedRowCursor(try run.sortThoseWithout(order.path), of: run)
    return true
  }
}

extension QueryRun {
  /// Those of some documents that fulfil the filter.
  fileprivate func sort(_ ids: [SharedBytes]) throws(DatabaseError) -> SortedRows {
    var rows = SortedRows(limit: left)
    var waiting = WaitingCandidates(self, areRead: readsCandidates, areAllWanted: true)
    var hit = QueryHit(references: references)
    var rest = ids[...]
    repeat {
      while waiting.next(&hit) {
        if try accept(&hit) { rows.add(try sortedRow(&hit)) }
      }
      while !waiting.isFull, let id = rest.popFirst() { waiting.add(id) }
      try waiting.bringIn()
    } while !waiting.isEmpty
    return rows
  }

  /// The documents that have null at a path, or nothing.
  fileprivate func sortThoseWithout(_ path: QueryPath) throws(DatabaseError) -> SortedRows {
    // The index has answered nothing for what it does not have.
    let filter = CompiledFilter(query.whole)
    let isNothing = CompiledFilter(.test(path, .equal(.null)))
    var rows = SortedRows(limit: left)
    var documents = try CandidateCursor(self, .everything, for: .sorting)
    var hit = QueryHit(references: references)
    while try documents.advance(&hit) {
      guard try isThere(hit) else { continue }
      try read(&hit)
      if try filter.accepts(hit.row), try isNothing.accepts(hit.row) {
        rows.add(try sortedRow(&hit))
      }
    }
    return rows
  }
}
