import DivanLog

extension Snapshot {
  /// Returns the rows of a view as of this snapshot.
  ///
  /// Costs a search and a step for each row, after the view is updated to this snapshot. The update
  /// costs one call of the map function for each document changed since the newest earlier snapshot
  /// whose rows are kept, or for every document if there is none. After opening, the view's file
  /// provides those rows; they are read about as fast as they could be written, and may be some
  /// changes behind. For a past version (``Database/snapshot(at:)-(UInt64)``) every document is
  /// mapped each time.
  ///
  /// - Parameters:
  ///   - view: The view.
  ///   - query: The query for its rows.
  /// - Returns: The rows. With a reduction, one for each group, or one for all, unless there are no
  ///   rows.
  /// - Throws: ``DatabaseError`` with the codes `viewFailed` if the map function or the reduction
  ///   threw, or emitted a value that cannot be stored, with the document's ID; `invalidQuery` if
  ///   the query reduces and the view does not, or has a limit below 0; and the errors of reading.
  ///   Then nothing changes, and the next query begins where the last one did.
  public func rows(of view: MapReduceView, _ query: ViewQuery = .all) throws -> ViewRows {
    try rows(of: view, query) { false }
  }

  /// Returns the number of view rows that a query matches, whether it reduces them or not.
  ///
  /// It does not iterate over the rows.
  /// - Throws: The errors of ``rows(of:_:)``.
  public func rowCount(of view: MapReduceView, _ query: ViewQuery = .all) throws -> Int {
    try query.validate(for: view)
    let rows = try contents(of: view) { false }.rows
    let count = query.ranges.reduce(0) { count, range in
      let (start, end) = range.positions(in: rows)
      return count + rows.count(from: start, to: end)
    }
    return min(max(0, count - query.skip), query.limit ?? .max)
  }

  fileprivate func contents(
    of view: MapReduceView, isCancelled: () -> Bool
  ) throws -> ViewContents {
    guard !self.view.environment.isClosed else { throw Store.closedError }
    try self.view.requireWhole()
    return try self.view.environment.views.contents(of: view, in: self, isCancelled: isCancelled)
  }

  /// Returns the rows like ``rows(of:_:)``; throws if the computation is cancelled.
  func rows(
    of view: MapReduceView, _ query: ViewQuery, isCancelled: () -> Bool
  ) throws -> ViewRows {
    try query.validate(for: view)
    let rows = try contents(of: view, isCancelled: isCancelled).rows
    guard let reduction = query.reduction(of: view) else {
      return ViewRows(query.rows(in: rows), of: self)
    }
    do {
      return ViewRows(reduced: try query.groups(in: rows, reduction), of: self)
    } catch {
      throw DatabaseError(
        .viewFailed, "the reduction of the view \"\(view.name)\" failed", underlying: error)
    }
  }
}

extension ViewQuery {
  fileprivate func validate(for view: MapReduceView) throws(DatabaseError) {
    guard skip >= 0, limit ?? 0 >= 0, groupLevel ?? 0 >= 0, prefixLevel >= 0 else {
      throw DatabaseError(.invalidQuery, "a limit, a skip count or a level is negative")
    }
    guard isReduced != false || groupLevel == nil else {
      throw DatabaseError(.invalidQuery, "a query that groups rows must reduce them")
    }
    guard isReduced == true || groupLevel != nil, view.reduction == nil else { return }
    throw DatabaseError(
      .invalidQuery, "the view \"\(view.name)\" has no reduction, and the query requires one",
      hint: "Give the view a reduction, or query its rows")
  }

  fileprivate func reduction(of view: MapReduceView) -> ViewReduction? {
    isReduced ?? true ? view.reduction : nil
  }

  /// The ranges of rows to return, one after the other.
  fileprivate var ranges: [ViewRange] {
    guard let keys else { return [ViewRange(self)] }
    return keys.map { ViewRange(key: $0) }
  }

  /// Returns the rows that the query matches.
  fileprivate func rows(in rows: ChunkedList<ViewContents.Row>) -> [ViewContents.Row] {
    var found: [ViewContents.Row] = []
    var left = skip
    for range in ranges {
      let (start, end) = range.positions(in: rows)
      rows.forEach(from: start, to: end, descending: isDescending) { row in
        guard found.count < limit ?? .max else { return false }
        if left > 0 { left -= 1 } else { found.append(row) }
        return true
      }
    }
    return found
  }

  /// Returns the groups of rows that the query matches, each reduced.
  fileprivate func groups(
    in rows: ChunkedList<ViewContents.Row>, _ reduction: ViewReduction
  ) throws -> [ViewRow] {
    guard limit != 0 else { return [] }
    var groups = RowGroups(self, reduction)
    for range in ranges {
      let (start, end) = range.positions(in: rows)
      try rows.forEach(from: start, to: end, descending: isDescending) { try groups.add($0) }
      // Listed keys are separate groups, once for each time they are listed.
      if keys != nil, groupLevel ?? 0 > 0 { try groups.endGroup() }
    }
    try groups.endGroup()
    return groups.reduced
  }
}

/// Collects rows into groups.
private struct RowGroups {
  private(set) var reduced: [ViewRow] = []
  private let query: ViewQuery
  private let reduction: ViewReduction
  private var skipped = 0
  /// The key of the current group; null if rows are not grouped.
  private var key: Value = .null
  /// The sort key prefix that only rows of the current group have; nil if no group has begun.
  private var prefix: [UInt8]?
  private var accumulator: (any ViewAccumulator)?

  init(_ query: ViewQuery, _ reduction: ViewReduction) {
    self.query = query
    self.reduction = reduction
  }

  /// Adds a row; returns false if no more are needed.
  mutating func add(_ row: ViewContents.Row) throws -> Bool {
    if !(prefix.map { row.sortKey.starts(with: $0) } ?? false) {
      try endGroup()
      if reduced.count == query.limit ?? .max { return false }
      begin(row)
    }
    try accumulator?.add(row)
    return true
  }

  private mutating func begin(_ row: ViewContents.Row) {
    accumulator = reduction.makeAccumulator()
    let level = query.groupLevel ?? 0
    if level == 0 {
      (key, prefix) = (.null, [])
    } else if case .array(let elements) = row.key, elements.count >= level {
      key = .array(Array(elements.prefix(level)))
      // Without the byte that ends the array, so that longer ones belong to it.
      prefix = Collation.key(of: key).dropLast()
    } else {
      (key, prefix) = (row.key, row.sortKey)
    }
  }

  /// Ends the current group and adds its reduced value, if it has any rows.
  mutating func endGroup() throws {
    guard var rows = accumulator else { return }
    (accumulator, prefix) = (nil, nil)
    if skipped < query.skip {
      skipped += 1
    } else {
      reduced.append(ViewRow(key: key, value: try rows.finish()))
    }
  }
}
