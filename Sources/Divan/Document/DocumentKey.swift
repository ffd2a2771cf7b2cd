import DivanLog

/// A document's ID, compared by its bytes; `String` treats texts that look alike as equal.
package struct DocumentKey: Hashable, Sendable {
  package let id: String

  package init(_ id: String) { self.id = id }

  // Texts with the same bytes have the same hash, as all equal texts do.
  package static func == (a: Self, b: Self) -> Bool { haveSameUTF8(a.id, b.id) }

  /// Returns whether `a` precedes `b` in the order of the store, that of the bytes.
  static func isOrdered(_ a: Self, _ b: Self) -> Bool { compareUTF8(a.id, b.id) < 0 }
}
