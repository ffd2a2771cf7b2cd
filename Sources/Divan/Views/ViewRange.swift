import DivanLog

/// A range of rows by their keys and documents.
struct ViewRange {
  /// A bound of the range: between the rows before this key and ID, and the others.
  private struct Bound {
    /// The sort key, or its prefix.
    var key: [UInt8]
    /// Whether sort keys that begin with it count as equal, and not as greater.
    var isPrefix = false
    var id: String?
    /// Whether equal rows are before the bound.
    var isAfterEqual: Bool

    func isAfter(_ row: ViewContents.Row) -> Bool {
      let isEqual = isPrefix ? row.sortKey.starts(with: key) : row.sortKey == key
      guard isEqual else { return Collation.compare(keys: row.sortKey, key) < 0 }
      guard let id else { return isAfterEqual }
      let byID = compareUTF8(row.id, id)
      return byID == 0 ? isAfterEqual : byID < 0
    }
  }

  private var lower: Bound?
  private var upper: Bound?

  init(_ query: ViewQuery) {
    let (low, high) = query.isDescending ? (query.end, query.start) : (query.start, query.end)
    let (lowID, highID) =
      query.isDescending ? (query.endID, query.startID) : (query.startID, query.endID)
    let (includesLow, includesHigh) =
      query.isDescending
      ? (query.includesEnd, query.includesStart) : (query.includesStart, query.includesEnd)
    let lowKey = low.map { Collation.key(of: $0) }
    let highKey = high.map { Collation.key(of: $0) }
    let prefix = query.prefixLevel > 0 ? high.flatMap { $0.keyPrefix(query.prefixLevel) } : nil
    if let lowKey {
      lower = Bound(key: lowKey, id: lowID, isAfterEqual: !includesLow)
      if let prefix, lowKey == highKey {
        lower = Bound(key: prefix, isPrefix: true, isAfterEqual: false)
      }
    }
    if let prefix {
      upper = Bound(key: prefix, isPrefix: true, isAfterEqual: true)
    } else if let highKey {
      upper = Bound(key: highKey, id: highID, isAfterEqual: includesHigh)
    }
  }

  /// The rows with a key.
  init(key: Value) { self.init(.key(key)) }

  /// Returns the positions in the rows of a view where the range begins and ends.
  func positions(
    in rows: ChunkedList<ViewContents.Row>
  ) -> (start: ChunkedList<ViewContents.Row>.Position, end: ChunkedList<ViewContents.Row>.Position)
  {
    (
      lower.map { bound in rows.position { bound.isAfter($0) } } ?? rows.start,
      upper.map { bound in rows.position { bound.isAfter($0) } } ?? rows.end
    )
  }
}

extension Value {
  /// Returns the common sort key prefix of keys with this value as a prefix; nil if it is not one.
  fileprivate func keyPrefix(_ level: Int) -> [UInt8]? {
    switch self {
    case .string(let text) where level == 1: return CollationKey.prefix(ofTexts: text, .collated)
    case .array(let elements):
      let whole = { (elements: [Value]) in
        // Without the byte that ends the array.
        [UInt8](Collation.key(of: .array(elements)).dropLast())
      }
      if level == 1 { return whole(elements) }
      guard let last = elements.last?.keyPrefix(level - 1) else { return nil }
      return whole(elements.dropLast()) + last
    default: return nil
    }
  }
}
