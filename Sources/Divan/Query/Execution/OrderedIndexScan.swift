import DivanLog

/// A cursor over the documents that match a query, in the order of an index.
///
/// Documents with the same value come together, and so do those whose order the index does not
/// know. They are sorted before they are returned, unless their IDs decide.
struct OrderedIndexScan: ~Copyable {
  private let execution: QueryExecution
  private let access: IndexAccess
  private let order: IndexOrder
  private var entries: IndexScan
  /// Whether the current entry has not been processed yet.
  private var hasEntry = false
  /// Candidates whose position among the results is known.
  private var waiting: PrefetchQueue
  /// The candidates read so far whose order the index does not know.
  private var group: Group?
  /// The candidates of a complete group in their order, except those that are waiting.
  private var ordered: ArraySlice<SharedBytes> = []
  /// A sorted group.
  private var rows: SortedRowCursor?
  /// Whether documents without an entry are still to come, after all others.
  private var endsWithMissing: Bool

  private struct Group {
    let key: IndexGroup
    var ids: [SharedBytes] = []
  }

  init(
    _ execution: QueryExecution, along access: IndexAccess, _ order: IndexOrder
  ) throws(DatabaseError) {
    self.execution = execution
    self.access = access
    self.order = order
    entries = try IndexScan(execution, access, descending: order.descending)
    waiting = PrefetchQueue(execution, areRead: execution.readsCandidates, areAllWanted: false)
    endsWithMissing = access.endsWithMissing
  }

  /// Moves to the next result; returns false at the end.
  mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool {
    while true {
      while waiting.next(&candidate) {
        if try execution.accept(&candidate) { return true }
      }
      if try rows?.advance(&candidate) == true { return true }
      rows = nil
      guard try gather() else { return false }
    }
  }

  /// Finds the next candidates, which then wait or are in `rows`; returns false at the end.
  private mutating func gather() throws(DatabaseError) -> Bool {
    repeat {
      while !waiting.isFull, let id = ordered.popFirst() { waiting.add(id) }
      if waiting.isFull { break }
      guard try takeEntry() else {
        // Waiting candidates come before those that are sorted.
        if !waiting.isEmpty { break }
        return try sortRest()
      }
    } while true
    try waiting.fill()
    return true
  }

  /// Processes the next entry; returns false if a group must be sorted first, or there is none.
  private mutating func takeEntry() throws(DatabaseError) -> Bool {
    if !hasEntry {
      hasEntry = try entries.advance()
      if !hasEntry { return finishGroup() }
    }
    // Documents with null come at the end, with those that have no entry.
    if access.endsWithMissing, entries.withValue({ $0[0] == IndexedValue.type(of: .null) }) {
      hasEntry = false
      return true
    }
    if entries.withValue({ order.hasFixedPosition(for: $0) }) {
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

  /// Orders a complete group by IDs if they decide; returns false if it must be sorted, or is nil.
  private mutating func finishGroup() -> Bool {
    guard let key = group?.key, let ids = group?.ids,
      key.isEqual && order.isWhole || ids.count == 1
    else { return false }
    ordered = ArraySlice(order.isByID ? ids.reversed() : QueryExecution.sorted(ids))
    group = nil
    return true
  }

  /// Sorts the group, or at the end the documents without an entry; returns false if there is none.
  private mutating func sortRest() throws(DatabaseError) -> Bool {
    if let ids = group?.ids {
      group = nil
      rows = SortedRowCursor(try execution.sort(ids), of: execution)
      return true
    }
    guard endsWithMissing else { return false }
    endsWithMissing = false
    rows = SortedRowCursor(try execution.sortMissing(order.path), of: execution)
    return true
  }
}
