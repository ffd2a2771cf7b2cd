import DivanLog

/// A document's ID as the store tells IDs apart: by their bytes, where texts are equal that look alike.
package struct DocumentKey: Hashable, Sendable {
  package let id: String

  package init(_ id: String) { self.id = id }

  // Texts of the same bytes have the same hash, as all do that are equal.
  package static func == (a: Self, b: Self) -> Bool { haveSameUTF8(a.id, b.id) }

  /// The order of the store: that of the bytes.
  static func isOrdered(_ a: Self, _ b: Self) -> Bool { compareUTF8(a.id, b.id) < 0 }
}
