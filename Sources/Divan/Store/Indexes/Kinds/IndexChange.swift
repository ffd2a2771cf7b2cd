import DivanLog

/// What a change of a document changes in the indexes.
struct IndexChange {
  let id: SharedBytes
  private var edits: [any IndexEdit] = []
  /// The beginnings of entries that only one document may have, with the names of their indexes.
  private(set) var uniqueStarts: [(start: [UInt8], name: String)] = []

  init(of id: SharedBytes) { self.id = id }

  /// Adds the change of one index.
  mutating func add(_ edit: some IndexEdit) { edits.append(edit) }

  /// Says that no other document may have an entry with this beginning.
  mutating func requireUnique(_ start: [UInt8], in name: String) {
    uniqueStarts.append((start, name))
  }

  func apply(to version: inout Version) {
    for edit in edits { edit.apply(to: &version) }
  }
}
