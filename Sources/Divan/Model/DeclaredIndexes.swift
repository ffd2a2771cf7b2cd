import DivanLog
import Synchronization

/// The indexes that classes of models have declared since the database was opened.
///
/// An index in the store may be what an earlier program declared, and is replaced; one that another class of this
/// program declared is not.
///
/// Invariant: no two have the same name.
final class DeclaredIndexes: Sendable {
  private let indexes = Guarded<[DocumentIndex]>([])

  /// Those of a store.
  static func of(_ store: Store) -> DeclaredIndexes {
    store.companions.get(DeclaredIndexes.self) { DeclaredIndexes() }
  }

  /// Notes an index that is asked for, in place of another one of its name.
  func set(_ index: DocumentIndex) {
    indexes.withLock { all in
      all.removeAll { haveSameUTF8($0.name, index.name) }
      all.append(index)
    }
  }

  /// Notes an index.
  ///
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if there is another one of its name; then that stays.
  func add(_ index: DocumentIndex) throws(DatabaseError) {
    let known = indexes.withLock { all in
      if let known = all.first(where: { haveSameUTF8($0.name, index.name) }) { return known }
      all.append(index)
      return index
    }
    try ModelIndexes.requireOneMeaning(of: [known, index])
  }
}
