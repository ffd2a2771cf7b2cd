import Divan

/// A set of IDs, which are equal if their bytes are.
///
/// A `Set` has one of two IDs if Swift holds them for one string: `é` as one scalar and as two.
package struct DocumentIDs: Sendable {
  /// The IDs as keys, which are ordered and compared by their bytes.
  private let keys: Value.Object

  init(_ ids: some Sequence<String>) { keys = Value.Object(ids.map { ($0, Value.null) }) }

  /// The IDs in the order of their bytes.
  package func sorted() -> [String] { Array(keys.keys) }

  /// Returns whether an ID is here, in logarithmic time.
  package func contains(_ id: String) -> Bool { keys[id] != nil }
}
