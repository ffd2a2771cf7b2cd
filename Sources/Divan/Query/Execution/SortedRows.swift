import DivanLog

/// The sort keys of documents, as bytes in the order of the results.
struct SortKeys {
  private let sorts: [(path: CompiledPath, descending: Bool, byBytes: Bool)]

  init(_ sorts: [QuerySort]) {
    self.sorts = sorts.map { (CompiledPath($0.path), $0.descending, $0.byBytes) }
  }

  /// Returns the bytes of one document, including its ID.
  ///
  /// No value's bytes are a prefix of another's, so they can be concatenated.
  func key(of row: borrowing QueryRow) throws(DatabaseError) -> [UInt8] {
    var key: [UInt8] = []
    for sort in sorts {
      let bytes = try SortKeys.bytes(of: row, at: sort.path, byBytes: sort.byBytes)
      if sort.descending {
        for byte in bytes { key.append(~byte) }
      } else {
        key += bytes
      }
    }
    return key + row.id.array
  }

  /// Returns the bytes of the value at a path, made from its stored form.
  private static func bytes(
    of row: borrowing QueryRow, at path: CompiledPath, byBytes: Bool
  ) throws(DatabaseError) -> [UInt8] {
    if path.isDocumentID || path.isCount {
      return bytes(of: try row.value(at: path) ?? .null, byBytes: byBytes)
    }
    return try row.withProperties { (bytes) throws(DatabaseError) in
      try path.follow(bytes, 0..<bytes.count, row) {
        (bytes, range) throws(DatabaseError) -> [UInt8] in
        guard let range else { return SortKeys.bytes(of: .null, byBytes: byBytes) }
        return try CollationKey.bytes(
          ofStored: bytes.extracting(range), byBytes ? .bytes : .collated)
      }
    }
  }

  /// Returns the bytes of a value; a missing value counts as null.
  static func bytes(of value: Value, byBytes: Bool) -> [UInt8] {
    CollationKey.bytes(of: value, byBytes ? .bytes : .collated)
  }
}

/// Rows to be sorted; those that cannot be among the first `limit` are dropped from time to time.
struct SortedRows {
  struct Row {
    let key: [UInt8]
    let id: SharedBytes
    let location: DocumentLocation
  }

  private var rows: [Row] = []
  private let limit: Int?

  init(limit: Int?) { self.limit = limit }

  mutating func add(_ row: Row) {
    rows.append(row)
    // Sorting at times costs less than keeping the order, and memory is still bounded.
    if let limit, limit < .max / 4, rows.count >= 2 * limit + 1000 { cut(to: limit) }
  }

  private mutating func cut(to limit: Int) {
    sort()
    rows.removeLast(max(0, rows.count - limit))
  }

  private mutating func sort() {
    rows.sort { a, b in compare(a.key.span, b.key.span) < 0 }
  }

  /// Returns all rows in their order.
  mutating func sorted() -> [Row] {
    sort()
    return rows
  }
}

/// A cursor over the documents of rows, in the order of the rows.
struct SortedRowCursor: ~Copyable {
  private let rows: [SortedRows.Row]
  private var index = 0
  private var waiting: PrefetchQueue

  init(_ rows: consuming SortedRows, of execution: QueryExecution) {
    var rows = rows
    self.rows = rows.sorted()
    waiting = PrefetchQueue(execution, areRead: execution.readsResults, areAllWanted: false)
  }

  /// Moves to the next row; returns false at the end.
  mutating func advance(_ candidate: inout QueryCandidate) throws(DatabaseError) -> Bool {
    while !waiting.next(&candidate) {
      guard index < rows.count else { return false }
      while index < rows.count, !waiting.isFull {
        waiting.add(rows[index].id, rows[index].location)
        index += 1
      }
      try waiting.fill()
    }
    return true
  }
}
