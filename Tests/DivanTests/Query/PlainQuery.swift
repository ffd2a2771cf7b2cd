import DivanLog
import Foundation

@testable import Divan

/// A plain implementation of queries that decodes and tests every document and sorts all results.
struct PlainQuery {
  /// The documents by their IDs.
  var documents: [String: Value.Object]

  /// Returns the IDs of a query's results in its order.
  func ids(_ query: QueryCore) -> [String] {
    let found = documents.filter { accepts(query.filter, .object($0.value), $0.key) }
    let sorted = found.sorted { a, b in
      for sort in query.sorts {
        let (x, y) = (
          value(sort.path, .object(a.value), a.key) ?? .null,
          value(sort.path, .object(b.value), b.key) ?? .null
        )
        var order = sort.byBytes ? PlainQuery.byteOrder(x, y) : Collation.compare(x, y)
        if sort.descending { order = -order }
        if order != 0 { return order < 0 }
      }
      return Array(a.key.utf8).lexicographicallyPrecedes(Array(b.key.utf8))
    }
    return sorted.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.key)
  }

  private func value(_ path: QueryPath, _ start: Value, _ id: String) -> Value? {
    if path.isDocumentID { return .string(id) }
    var value = start
    for step in path.steps {
      let next: Value?
      switch step {
      case .key(let key): next = value.objectValue?[key]
      case .element(let index): next = value[index]
      case .reference:
        next = value.stringValue.flatMap { id in
          documents.first { haveSameUTF8($0.key, id) }.map { .object($0.value) }
        }
      }
      guard let next else { return path.measure == .count ? 0 : nil }
      value = next
    }
    return path.measure == .count ? .int(Int64(elements(value).count)) : value
  }

  private func elements(_ value: Value) -> [Value] {
    if case .array(let elements) = value { elements } else { value.isNull ? [] : [value] }
  }

  func accepts(_ filter: FilterExpression, _ value: Value, _ id: String) -> Bool {
    switch filter {
    case .all: true
    case .nothing, .refused, .custom, .fullText: false
    case .not(let part): !accepts(part, value, id)
    case .and(let parts): parts.allSatisfy { accepts($0, value, id) }
    case .or(let parts): parts.contains { accepts($0, value, id) }
    case .test(let path, let test): passes(test, self.value(path, value, id))
    case .anyElement(let path, let part):
      elements(self.value(path, value, id) ?? .null).contains { accepts(part, $0, id) }
    case .everyElement(let path, let part):
      elements(self.value(path, value, id) ?? .null).allSatisfy { accepts(part, $0, id) }
    }
  }

  private func passes(_ test: ComparisonOperator, _ found: Value?) -> Bool {
    switch test {
    case .isMissing: return found == nil
    case .equal(let value): return PlainQuery.areEqual(found ?? .null, value)
    case .oneOf(let values): return values.contains { PlainQuery.areEqual(found ?? .null, $0) }
    case .order(let order, let value):
      guard let found, !found.isNull, PlainQuery.type(found) == PlainQuery.type(value),
        !PlainQuery.isNaN(value)
      else { return false }
      let result = PlainQuery.byteOrder(found, value)
      return switch order {
      case .less: result < 0
      case .lessOrEqual: result <= 0
      case .greater: result > 0
      case .greaterOrEqual: result >= 0
      }
    case .text(let position, let text, let ignored):
      guard case .string(let found)? = found else { return false }
      let (whole, part) = (PlainQuery.folded(found, ignored), PlainQuery.folded(text, ignored))
      return switch position {
      case .beginning: whole.starts(with: part)
      case .end: whole.reversed().starts(with: part.reversed())
      case .anywhere:
        part.isEmpty
          || whole.indices.contains { whole[$0...].starts(with: part) }
      case .whole: whole == part
      case .pattern: PlainQuery.looksAlike(whole[...], part[...])
      }
    }
  }

  private static func areEqual(_ a: Value, _ b: Value) -> Bool {
    !isNaN(b) && type(a) == type(b) && byteOrder(a, b) == 0
  }

  private static func isNaN(_ value: Value) -> Bool {
    if case .double(let number) = value { number.isNaN } else { false }
  }

  static func type(_ value: Value) -> Int {
    switch value {
    case .null: 0
    case .bool: 1
    case .int, .unsigned, .double: 2
    case .string: 3
    case .array: 4
    case .object: 5
    }
  }

  /// Returns the order of two values, with texts compared by their bytes.
  static func byteOrder(_ a: Value, _ b: Value) -> Int {
    guard type(a) == type(b) else { return type(a) - type(b) }
    switch (a, b) {
    case (.bool(let a), .bool(let b)): return a == b ? 0 : a ? 1 : -1
    case (.string(let a), .string(let b)): return compareUTF8(a, b)
    case (.array(let a), .array(let b)):
      for (x, y) in zip(a, b) where byteOrder(x, y) != 0 { return byteOrder(x, y) }
      return a.count - b.count
    case (.object(let a), .object(let b)):
      for (x, y) in zip(a, b) {
        if compareUTF8(x.key, y.key) != 0 { return compareUTF8(x.key, y.key) }
        if byteOrder(x.value, y.value) != 0 { return byteOrder(x.value, y.value) }
      }
      return a.count - b.count
    case (.null, .null): return 0
    default:
      // Beyond the range of `Decimal`, none of the test's numbers are near each other.
      if let x = a.doubleValue, let y = b.doubleValue, max(abs(x), abs(y)) > 1e30 {
        return x < y ? -1 : x == y ? 0 : 1
      }
      let (x, y) = (decimal(a), decimal(b))
      return x < y ? -1 : x == y ? 0 : 1
    }
  }

  private static func decimal(_ value: Value) -> Decimal {
    switch value {
    case .int(let number): Decimal(number)
    case .unsigned(let number): Decimal(number)
    case .double(let number): Decimal(string: "\(number)") ?? 0
    default: 0
    }
  }

  static func folded(_ text: String, _ ignored: TextDifferences) -> [Character] {
    var text = text
    if ignored.contains(.diacritics) {
      text = String(
        String.UnicodeScalarView(
          text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
            $0.properties.generalCategory != .nonspacingMark
          }))
    }
    if ignored.contains(.letterCase) { text = text.uppercased().lowercased() }
    // One character for each scalar.
    return text.unicodeScalars.map { Character($0) }
  }

  private static func looksAlike(
    _ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    if first == "*" {
      return (text.startIndex...text.endIndex).contains {
        looksAlike(text[$0...], pattern.dropFirst())
      }
    }
    guard let next = text.first, first == "?" || first == next else { return false }
    return looksAlike(text.dropFirst(), pattern.dropFirst())
  }
}
