import Divan
import DivanLog
import Foundation
import Testing

/// A plain implementation of a view that maps every document and sorts all rows at each query.
struct PlainView {
  struct Row: Equatable {
    var key: Value
    var value: Value
    var id: String
    var index: Int
  }

  let rows: [Row]

  /// A function that returns what `view.map` would emit.
  typealias Map = @Sendable (_ document: Document, _ conflicts: [Document]) -> [(Value, Value)]

  init(_ snapshot: Snapshot, _ map: Map) throws {
    var rows: [Row] = []
    var documents = snapshot.documents()
    while let document = try documents.next() {
      let conflicts = Array(try snapshot.branches(of: document.id).dropFirst())
      for (index, row) in map(document, conflicts).enumerated() {
        rows.append(Row(key: row.0, value: row.1, id: document.id, index: index))
      }
    }
    self.rows = rows.sorted { a, b in
      let order = PlainCollation.compare(a.key, b.key)
      if order != 0 { return order < 0 }
      return (Array(a.id.utf8), a.index) < (Array(b.id.utf8), b.index)
    }
  }

  private static func begins(_ value: Value, with prefix: Value, _ level: Int) -> Bool? {
    switch prefix {
    case .string(let prefix) where level == 1:
      guard case .string(let text) = value else { return false }
      return PlainText(text).letters.starts(with: PlainText(prefix).letters)
    case .array(let prefix):
      let elements = value.arrayValue
      func startsWith(_ count: Int) -> Bool {
        guard let elements, elements.count >= count else { return false }
        return zip(elements, prefix.prefix(count)).allSatisfy {
          PlainCollation.compare($0, $1) == 0
        }
      }
      if level == 1 { return startsWith(prefix.count) }
      guard let last = prefix.last, begins(.null, with: last, level - 1) != nil else { return nil }
      guard startsWith(prefix.count - 1), let elements, elements.count >= prefix.count else {
        return false
      }
      return begins(elements[prefix.count - 1], with: last, level - 1)
    default: return nil
    }
  }

  private func isRequested(_ row: Row, _ query: ViewQuery) -> Bool {
    var (low, high) = (query.start, query.end)
    var (lowID, highID) = (query.startID, query.endID)
    var (includesLow, includesHigh) = (query.includesStart, query.includesEnd)
    if query.isDescending {
      swap(&low, &high)
      swap(&lowID, &highID)
      swap(&includesLow, &includesHigh)
    }
    func side(_ bound: Value, _ id: String?, _ isIncluded: Bool) -> Int {
      let order = PlainCollation.compare(row.key, bound)
      guard order == 0, let id else { return order == 0 ? (isIncluded ? 0 : 9) : order }
      let (mine, other) = (Array(row.id.utf8), Array(id.utf8))
      return mine == other
        ? (isIncluded ? 0 : 9) : mine.lexicographicallyPrecedes(other) ? -1 : 1
    }
    let begins =
      query.prefixLevel > 0
      ? high.flatMap { PlainView.begins(row.key, with: $0, query.prefixLevel) } : nil
    if let begins, let low, let high, PlainCollation.compare(low, high) == 0 { return begins }
    if let low {
      let side = side(low, lowID, includesLow)
      if side < 0 || side == 9 { return false }
    }
    guard let high else { return true }
    if let begins { return begins || PlainCollation.compare(row.key, high) < 0 }
    let side = side(high, highID, includesHigh)
    return side <= 0
  }

  private func all(_ query: ViewQuery) -> [[Row]] {
    guard let keys = query.keys else {
      let requested = rows.filter { isRequested($0, query) }
      return [query.isDescending ? requested.reversed() : requested]
    }
    return keys.map { key in
      let requested = rows.filter { PlainCollation.compare($0.key, key) == 0 }
      return query.isDescending ? requested.reversed() : requested
    }
  }

  /// Returns the rows that a query requests.
  func found(_ query: ViewQuery) -> [Row] {
    Array(all(query).flatMap(\.self).dropFirst(query.skip).prefix(query.limit ?? .max))
  }

  /// Returns the groups that a query requests: their keys, and the values of their rows.
  func groups(_ query: ViewQuery) -> [(key: Value, values: [Value])] {
    let level = query.groupLevel ?? 0
    var groups: [(key: Value, values: [Value])] = []
    for run in level > 0 ? all(query) : [all(query).flatMap(\.self)] {
      var isFirst = true
      for row in run {
        var key = level > 0 ? row.key : .null
        if case .array(let elements) = key { key = .array(Array(elements.prefix(level))) }
        if let last = groups.last, !isFirst, PlainCollation.compare(last.key, key) == 0 {
          groups[groups.count - 1].values.append(row.value)
        } else {
          groups.append((key, [row.value]))
        }
        isFirst = false
      }
    }
    return Array(groups.dropFirst(query.skip).prefix(query.limit ?? .max))
  }
}

/// Compares the bytes first, then the number.
private func < (a: ([UInt8], Int), b: ([UInt8], Int)) -> Bool {
  a.0 == b.0 ? a.1 < b.1 : a.0.lexicographicallyPrecedes(b.0)
}
