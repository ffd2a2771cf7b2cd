import Divan
import Foundation

/// An order of JSON values that CouchDB has.
enum CouchDBOrder: Sendable {
  /// That of conditions: null, false, true, numbers, texts as people sort them, arrays, objects.
  case collated
  /// That of conditions on `_id`: numbers, false, null, true, objects, arrays, texts by bytes.
  case raw

  /// Returns the order of two values: below, at or above zero.
  ///
  /// Visits as many levels as the value that is less deep has.
  func compare(_ a: Value, _ b: Value) -> Int {
    switch (a, b) {
    case (.string(let a), .string(let b)): return compareTexts(a, b)
    case (.array(let a), .array(let b)):
      for (a, b) in zip(a, b) {
        let order = compare(a, b)
        if order != 0 { return order }
      }
      return a.count - b.count
    case (.object(let a), .object(let b)):
      for (a, b) in zip(a, b) {
        let keyOrder = compareTexts(a.key, b.key)
        let order = keyOrder != 0 ? keyOrder : compare(a.value, b.value)
        if order != 0 { return order }
      }
      return a.count - b.count
    default:
      let ranks = (rank(of: a), rank(of: b))
      if ranks.0 != ranks.1 || a.doubleValue == nil { return ranks.0 - ranks.1 }
      return Collation.precedes(a, b) ? -1 : Collation.precedes(b, a) ? 1 : 0
    }
  }

  private func compareTexts(_ a: String, _ b: String) -> Int {
    switch self {
    case .collated:
      let (a, b) = (a.collatedForm, b.collatedForm)
      return a == b ? 0 : Collation.precedes(a, b) ? -1 : 1
    case .raw:
      if a.utf8.elementsEqual(b.utf8) { return 0 }
      return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    }
  }

  private func rank(of value: Value) -> Int {
    let isRaw = self == .raw
    return switch value {
    case .bool(false): 1
    case .null: isRaw ? 2 : 0
    case .bool(true): isRaw ? 3 : 2
    case .int, .unsigned, .double: isRaw ? 0 : 3
    case .object: isRaw ? 4 : 6
    case .array: 5
    case .string: isRaw ? 6 : 4
    }
  }
}

extension String {
  /// The text without the scalars that the Unicode Collation Algorithm ignores, in composed form.
  var collatedForm: String {
    // Most texts have only ASCII, and no control characters.
    let isPlain = utf8.allSatisfy { (0x20..<0x7F).contains($0) || (9...13).contains($0) }
    if isPlain { return self }
    return String(unicodeScalars.filter { !$0.isIgnoredInOrder })
      .precomposedStringWithCanonicalMapping
  }
}

extension Unicode.Scalar {
  /// Whether the root collation of Unicode ignores the scalar.
  fileprivate var isIgnoredInOrder: Bool {
    switch value {
    case 9...13, 0x85: false
    case 0...0x1F, 0x7F...0x9F: true
    // Fillers of Hangul have weights, and unassigned scalars have their numbers.
    case 0x115F, 0x1160, 0x3164, 0xFFA0, 0xFFF0...0xFFF8: false
    case 0xFFF9...0xFFFB: true
    default: properties.isDefaultIgnorableCodePoint && properties.generalCategory != .unassigned
    }
  }
}
