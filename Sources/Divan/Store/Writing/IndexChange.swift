import DivanLog

/// A change of the index entries of a document.
struct IndexChange {
  let id: SharedBytes
  let old: IndexKeySet
  let new: IndexedKeys
}
