import DivanLog

/// The results of a query as of one version of the store, which can be advanced to a later one.
///
/// Changes are evaluated document by document, so the cost of a step depends on the changes, not on
/// the results. The query is executed again where that is not sufficient: the first time, after an
/// error, always for a query that follows references, when the spare rows after the shown ones are
/// used up, and when an index by which text is analysed was replaced. In the order of relevance, it
/// is executed again when a changed document matches, or was among the rows: one more match changes
/// the ranks of all. Rows then have their ranks as keys.
///
/// Invariants: `list` has the rows of all documents that match the query without its limit and
/// offset, or of the first of them, up to `completeThrough`. `byID` has the same rows. Rows that
/// are shown have content, if any is wanted.
struct LiveRows: Sendable {
  /// Loads the content that is shown of a document; nil if its ID is enough.
  typealias Load = @Sendable (Document) throws -> any AnyObject & Sendable

  private let query: QueryCore
  private let load: Load?
  /// Nil until the query has been executed.
  private var evaluator: DocumentEvaluator?
  private(set) var list = RankedList<LiveRow> { LiveRow.order($0.key, $1.key) }
  private var byID: [DocumentKey: LiveRow] = [:]
  /// The key up to which `list` is complete, if there may be more after it; nil if it has all rows.
  private var completeThrough: [UInt8]?
  /// The version of these rows.
  private var sequence: UInt64 = 0
  private var purgeCount: UInt64 = 0
  /// Whether the query must be executed again.
  private var isStale = true

  /// The number of spare rows after the shown ones, some of which can be removed without executing
  /// the query again.
  private let spareCount: Int

  init(_ query: QueryCore, spareCount: Int = 128, load: Load?) {
    self.query = query
    self.spareCount = spareCount
    self.load = load
  }
}

/// The change of one document's row: at least one of the two is not nil.
struct LiveEdit {
  let old: LiveRow?
  let new: LiveRow?

  var id: String? { old?.id ?? new?.id }
}

extension LiveRows {
  /// The indexes of the rows that are shown.
  var window: Range<Int> {
    let start = min(query.offset, list.count)
    return start..<(start + min(query.limit ?? .max, list.count - start))
  }

  /// Whether there may be rows that are not shown.
  private var isWindowed: Bool { query.offset > 0 || query.limit != nil }

  /// The maximum number of rows that are shown or skipped; nil if there is no limit.
  private var wantedCount: Int? {
    query.limit.flatMap { limit in
      let (sum, isTooLarge) = limit.addingReportingOverflow(query.offset)
      return isTooLarge || sum > .max - 2 * spareCount ? nil : sum
    }
  }

  /// Returns the row at an index among those that are shown.
  func row(at index: Int) -> LiveRow { list[window.lowerBound + index] }
}

// MARK: - Advancing

extension LiveRows {
  /// Advances the results to a later version.
  ///
  /// - Parameters:
  ///   - view: the later version.
  ///   - isCancelled: called before each document or row that is examined.
  /// - Returns: the changes in the rows that are shown.
  /// - Throws: the errors of reading and of `load`, and `cancelled`. The rows are then unchanged,
  ///   and the next step executes the query again.
  mutating func advance(
    to view: ReadView, isCancelled: @escaping () -> Bool = { false }
  ) throws -> ListDifference {
    let newest = view.past?.sequence ?? view.state.lastSequence
    guard isStale || newest != sequence || view.state.purgeCount != purgeCount else {
      return ListDifference()
    }
    let wasStale = isStale
    isStale = true
    let (evaluator, isReplaced) = try requireEvaluator(in: view)
    var edits: [LiveEdit]?
    if !wasStale, !isReplaced, !evaluator.followsReferences {
      if !query.isByRelevance {
        edits = try editsForChanges(by: evaluator, in: view, isCancelled)
      } else if try !isConcerned(by: evaluator, in: view, isCancelled) {
        edits = []
      }
    }
    var completeThrough = completeThrough
    if edits == nil {
      (edits, completeThrough) = try editsForNewResults(by: evaluator, in: view, isCancelled)
    }
    let difference = try apply(edits ?? [], view, isCancelled)
    self.completeThrough = completeThrough
    dropSpareRows()
    (sequence, purgeCount) = (newest, view.state.purgeCount)
    isStale = false
    return difference
  }

  /// Returns the evaluator, and whether it replaces one with other indexes.
  private mutating func requireEvaluator(
    in view: ReadView
  ) throws(DatabaseError) -> (DocumentEvaluator, isReplaced: Bool) {
    if let evaluator, evaluator.textIndexes.isEmpty { return (evaluator, false) }
    let made = try DocumentEvaluator(query, in: view)
    if let evaluator, evaluator.textIndexes == made.textIndexes { return (evaluator, false) }
    defer { evaluator = made }
    return (made, evaluator != nil)
  }

  /// Whether any change since the last step is of a document that matches, or is among the rows.
  private func isConcerned(
    by evaluator: DocumentEvaluator, in view: ReadView, _ isCancelled: () -> Bool
  ) throws -> Bool {
    if try !purgedRows(in: view, isCancelled).isEmpty { return true }
    var changes = ChangeCursor(view, since: sequence)
    while let change = try changes.next() {
      if isCancelled() { throw Database.cancelledError }
      if byID[DocumentKey(change.id)] != nil { return true }
      if try key(of: change, by: evaluator, in: view) != nil { return true }
    }
    return false
  }

  /// Returns the rows whose documents were purged since the last step.
  ///
  /// Purges are not recorded. A document that was stored again has changed, and is no such row.
  private func purgedRows(in view: ReadView, _ isCancelled: () -> Bool) throws -> [LiveRow] {
    guard purgeCount != view.state.purgeCount else { return [] }
    var purged: [LiveRow] = []
    try list.forEach { row in
      if isCancelled() { throw Database.cancelledError }
      if try view.entry(row.id) == nil { purged.append(row) }
    }
    return purged
  }

  /// Returns the edits for the changes since the last step; nil if too few rows would be left.
  private func editsForChanges(
    by evaluator: DocumentEvaluator, in view: ReadView, _ isCancelled: () -> Bool
  ) throws -> [LiveEdit]? {
    var edits = try purgedRows(in: view, isCancelled).map { LiveEdit(old: $0, new: nil) }
    var changes = ChangeCursor(view, since: sequence)
    while let change = try changes.next() {
      if isCancelled() { throw Database.cancelledError }
      let old = byID[DocumentKey(change.id)]
      let new = try row(of: change, by: evaluator, in: view, old)
      guard old !== new else { continue }
      edits.append(LiveEdit(old: old, new: new))
    }
    guard completeThrough != nil, let wantedCount else { return edits }
    let left = edits.reduce(list.count) { count, edit in
      count + (edit.new == nil ? 0 : 1) - (edit.old == nil ? 0 : 1)
    }
    return left >= wantedCount ? edits : nil
  }

  /// Returns the row of a changed document: the old one if it is the same, nil if there is none.
  private func row(
    of change: Change, by evaluator: DocumentEvaluator, in view: ReadView, _ old: LiveRow?
  ) throws -> LiveRow? {
    guard let revision = change.revision, let key = try key(of: change, by: evaluator, in: view)
    else { return nil }
    if let completeThrough, LiveRow.order(key, completeThrough) > 0 { return nil }
    return try row(key, change.id, revision, old) { change.document }
  }

  /// Returns the key of a changed document; nil if it does not match.
  private func key(
    of change: Change, by evaluator: DocumentEvaluator, in view: ReadView
  ) throws -> [UInt8]? {
    guard !change.isDeleted, change.revision != nil else { return nil }
    return try evaluator.key(of: change.document, in: view)
  }

  /// Returns the row of a document: the old one if it is the same.
  ///
  /// The content is loaded here, from the document at hand, if the row is known to be shown.
  private func row(
    _ key: [UInt8], _ id: String, _ revision: RevisionID, _ old: LiveRow?,
    _ document: () -> Document
  ) throws -> LiveRow {
    if let old, old.revision == revision {
      return old.key == key ? old : LiveRow(key, id, revision, old.content)
    }
    guard let load, !isWindowed else { return LiveRow(key, id, revision, nil) }
    return LiveRow(key, id, revision, try load(document()))
  }

  /// Executes the query, and returns the edits and the new ``completeThrough``.
  private func editsForNewResults(
    by evaluator: DocumentEvaluator, in view: ReadView, _ isCancelled: @escaping () -> Bool
  ) throws -> (edits: [LiveEdit], completeThrough: [UInt8]?) {
    var core = query
    core.offset = 0
    let isByRelevance = query.isByRelevance
    core.limit = wantedCount.map { isByRelevance ? $0 : $0 + spareCount }
    if core.limit == nil { core.dropOrder() }
    let execution = try QueryExecution(view, core, readsResults: true, isCancelled: isCancelled)
    var edits: [LiveEdit] = []
    var found: Set<DocumentKey> = []
    var last: [UInt8]?
    try execution.forEach(inAnyOrder: !isByRelevance) { candidate in
      if isCancelled() { throw Database.cancelledError }
      try execution.read(&candidate)
      var key = try evaluator.key(ofResult: candidate.row)
      if isByRelevance { key = LiveRow.key(ofRank: found.count, candidate.id) }
      let record = try execution.record(of: candidate)
      if last.map({ LiveRow.order($0, key) < 0 }) ?? true { last = key }
      let id = try view.text(ofID: candidate.id)
      let document = DocumentKey(id)
      found.insert(document)
      let old = byID[document]
      let new = try row(key, id, record.revision, old) { view.document(of: record) }
      if old !== new { edits.append(LiveEdit(old: old, new: new)) }
      return true
    }
    list.forEach { row in
      if !found.contains(DocumentKey(row.id)) { edits.append(LiveEdit(old: row, new: nil)) }
    }
    return (edits, found.count == core.limit && !isByRelevance ? last : nil)
  }

  /// Applies edits, and returns the changes in the shown rows; changes nothing if it throws.
  private mutating func apply(
    _ edits: [LiveEdit], _ view: ReadView, _ isCancelled: () -> Bool
  ) throws -> ListDifference {
    guard !edits.isEmpty else { return ListDifference() }
    let removed = edits.compactMap(\.old).sorted(by: LiveRow.isBefore)
    let added = edits.compactMap(\.new).sorted(by: LiveRow.isBefore)
    let positions = LivePositions(of: edits, in: list, window, isWindowed: isWindowed)
    // In place: with a second reference to the list, chunks would be copied, which costs more than
    // all else.
    list.replace(removed, with: added)
    let shift = LiveShift(from: positions, to: list, window)
    let exchanged: [LiveRow]
    do {
      exchanged = try contentExchanges(shift, view, isCancelled)
    } catch {
      list.replace(added, with: removed)
      throw error
    }
    // Nothing throws from here on.
    for edit in edits { if let id = edit.id { byID[DocumentKey(id)] = edit.new } }
    for row in exchanged {
      list.exchange(row)
      byID[DocumentKey(row.id)] = row
    }
    return shift.difference
  }

  /// Returns replacements for shown rows without content, and for hidden rows with content.
  private func contentExchanges(
    _ shift: LiveShift, _ view: ReadView, _ isCancelled: () -> Bool
  ) throws -> [LiveRow] {
    guard let load, isWindowed else { return [] }
    var exchanged: [LiveRow] = []
    for row in shift.shown where row.content == nil {
      if isCancelled() { throw Database.cancelledError }
      guard let document = try view.document(row.id) else {
        throw DatabaseError(
          .damaged, "an index has the document, but it is not found by its ID",
          documentID: row.id)
      }
      exchanged.append(row.with(try load(document)))
    }
    for row in shift.hidden where row.content != nil { exchanged.append(row.with(nil)) }
    return exchanged
  }

  /// Drops rows far after those that are shown.
  private mutating func dropSpareRows() {
    guard let wantedCount else { return }
    let limit = wantedCount + spareCount
    guard list.count > limit + spareCount else { return }
    let spare = (limit..<list.count).map { list[$0] }
    list.replace(spare, with: [])
    for row in spare { byID[DocumentKey(row.id)] = nil }
    completeThrough = list[limit - 1].key
  }
}

extension LiveRow {
  static func isBefore(_ a: LiveRow, _ b: LiveRow) -> Bool { order(a.key, b.key) < 0 }
}
