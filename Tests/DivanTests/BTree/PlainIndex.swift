import Testing

@testable import Divan

/// A plain implementation of an index that reads all documents at each query.
///
/// The selection of documents is reimplemented here. The order of values comes from `IndexedValue`,
/// which `IndexedValueTests` test.
struct PlainIndex: Sendable {
  let index: DocumentIndex
  /// Whether a document satisfies the conditions.
  var accepts: @Sendable (Value) -> Bool = { _ in true }

  /// Returns the values of a document's entries, one for each property.
  func entries(_ properties: Value.Object) -> [[Value]] {
    let document = Value.object(properties)
    func find(_ path: [String]) -> Value? {
      path.reduce(document as Value?) { $0?[$1] }
    }
    guard accepts(document), let first = find(index.paths[0]) else { return [] }
    let others = index.paths.dropFirst().map { find($0) ?? .null }
    if index.eachElement, case .array(let elements) = first {
      return elements.map { [$0] + others }
    }
    return [[first] + others]
  }

  /// Returns the IDs of the documents with an entry in a range, each at its first occurrence.
  static func ids(
    _ rows: [(id: String, entries: [[Value]])], _ range: PlainIndexRange, descending: Bool
  ) -> [String] {
    func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      descending ? b.lexicographicallyPrecedes(a) : a.lexicographicallyPrecedes(b)
    }
    var found: [(key: [UInt8], id: String)] = []
    for (id, entries) in rows {
      let keys = entries.filter { range.contains($0) }.map {
        IndexedValue(joining: $0).bytes + Array(id.utf8)
      }
      if let first = keys.min(by: precedes) { found.append((first, id)) }
    }
    return found.sorted { precedes($0.key, $1.key) }.map(\.id)
  }

  /// Whether two documents share a value that must be unique.
  func isViolated(by documents: [String: Value.Object]) -> Bool {
    guard index.isUnique else { return false }
    var owners: [[[UInt8]]: String] = [:]
    for (id, properties) in documents {
      for values in entries(properties) where !values.contains(where: \.isNull) {
        let key = values.map { IndexedValue.whole($0) }
        if let owner = owners[key], owner != id { return true }
        owners[key] = id
      }
    }
    return false
  }
}

/// A range, and an independent definition of what it contains.
struct PlainIndexRange {
  private(set) var range: IndexRange
  private var tests: [(Value) -> Bool]

  private init(_ range: IndexRange, _ test: @escaping (Value) -> Bool) {
    self.range = range
    tests = [test]
  }

  func contains(_ values: [Value]) -> Bool { zip(tests, values).allSatisfy { $0($1) } }

  static func equal(to value: Value) -> PlainIndexRange {
    PlainIndexRange(.equal(to: value)) { order($0, value) == 0 || $0.isNull && value.isNull }
  }

  func then(_ next: PlainIndexRange) -> PlainIndexRange {
    var all = self
    all.range = range.then(next.range)
    all.tests += next.tests
    return all
  }

  /// Returns a random range of one property.
  static func random(
    _ values: [Value], using random: inout some RandomNumberGenerator
  ) -> PlainIndexRange {
    let one = values[Int.random(in: 0..<values.count, using: &random)]
    let other = values[Int.random(in: 0..<values.count, using: &random)]
    func isAbove(_ value: Value, _ end: Value) -> Bool { (order(value, end) ?? -1) > 0 }
    func isBelow(_ value: Value, _ end: Value) -> Bool { (order(value, end) ?? 1) < 0 }
    func isFrom(_ value: Value, _ end: Value) -> Bool { (order(value, end) ?? -1) >= 0 }
    func isThrough(_ value: Value, _ end: Value) -> Bool { (order(value, end) ?? 1) <= 0 }
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return PlainIndexRange(.all) { _ in true }
    case 1, 2: return equal(to: one)
    case 3: return PlainIndexRange(.init(from: one)) { isFrom($0, one) }
    case 4: return PlainIndexRange(.greater(than: one)) { isAbove($0, one) }
    case 5: return PlainIndexRange(.init(upTo: one)) { isBelow($0, one) }
    case 6: return PlainIndexRange(.init(through: one)) { isThrough($0, one) }
    case 7:
      return PlainIndexRange(.init(from: one, upTo: other)) {
        isFrom($0, one) && isBelow($0, other)
      }
    default:
      let prefix = one.stringValue ?? ""
      return PlainIndexRange(.prefix(prefix)) {
        $0.stringValue.map { $0.utf8.starts(with: prefix.utf8) } ?? false
      }
    }
  }

  /// Returns the order of two values of one type, or nil for null and for two types.
  private static func order(_ a: Value, _ b: Value) -> Int? {
    func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a == b ? 0 : 1 }
    switch (a, b) {
    case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
    case (.string(let a), .string(let b)):
      if a.utf8.elementsEqual(b.utf8) { return 0 }
      return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    default:
      guard let a = a.doubleValue, let b = b.doubleValue else { return nil }
      return compare(a, b)
    }
  }
}
