import DivanLog

/// A change of a document in the indexes.
struct IndexChange {
  let id: SharedBytes
  let old: IndexKeySet
  let new: IndexedKeys
  /// The changes of full-text indexes.
  let texts: [FullTextEdit]
}
