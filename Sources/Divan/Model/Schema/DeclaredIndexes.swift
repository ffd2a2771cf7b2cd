import DivanLog
import Synchronization

/// The indexes and classes that were declared since the database was opened.
///
/// An index in the store may be one that an earlier program declared, and is then replaced. An
/// index that another class of this program declared is not replaced.
///
/// The index of a class also contains the documents of its subclasses. It thus has the order of
/// everything that a query for the class returns, and unique values are unique among all of that.
/// Subclasses become known when they are named: in ``Database/addIndexes(for:progress:)-8y952``, in
/// the ``ModelRegistry`` of a context that saves, or by saving one of their models.
///
/// Invariant: no two indexes have the same name. They are stored with the documents of the class
/// alone, since the declaration of a class does not depend on its subclasses.
final class DeclaredIndexes: Sendable {
  private struct State {
    var indexes: [DocumentIndex] = []
    /// The classes that declare a document type, including superclasses.
    var classes: [Model.Type] = []
  }

  private let state = Guarded(State())

  /// The declared indexes of a store.
  static func of(_ store: Store) -> DeclaredIndexes {
    store.services.get(DeclaredIndexes.self) { DeclaredIndexes() }
  }

  /// Registers an index, replacing another one with its name.
  func set(_ index: DocumentIndex) {
    state.withLock { state in
      state.indexes.removeAll { haveSameUTF8($0.name, index.name) }
      state.indexes.append(index)
    }
  }

  /// Registers an index.
  ///
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if another index has its name; that one
  ///   stays.
  func add(_ index: DocumentIndex) throws(DatabaseError) {
    let known = state.withLock { state in
      if let known = state.indexes.first(where: { haveSameUTF8($0.name, index.name) }) {
        return known
      }
      state.indexes.append(index)
      return index
    }
    try ModelIndexes.requireUniqueNames(of: [known, index])
  }

  /// Registers classes and their superclasses.
  func know(_ types: some Sequence<Model.Type>) {
    let types = types.flatMap { [$0] + $0.superclasses }.filter { $0.documentType != nil }
    state.withLock { state in
      for type in types where !state.classes.contains(where: { $0 == type }) {
        state.classes.append(type)
      }
    }
  }

  /// Returns an index that a class declares, extended to the documents of its known subclasses.
  ///
  /// An earlier program may have named subclasses that this one names later, or never. Types in an
  /// existing index that no known class declares are therefore kept. Otherwise each start of a
  /// program would rebuild the index once without them, and again when their classes become known.
  ///
  /// - Parameters:
  ///   - own: the index, for documents of the class alone.
  ///   - modelClass: the class.
  ///   - existing: the existing indexes.
  /// - Returns: the index to build.
  func index(
    _ own: DocumentIndex, of modelClass: ModelClass, amid existing: [DocumentIndex]
  ) -> DocumentIndex {
    guard modelClass.documentType != nil else { return own }
    let classes = state.withLock { $0.classes }
    let key = modelClass.documentTypeKey
    var names = modelClass.documentTypes
    for type in classes
    where type.isSubclass(of: modelClass.type) && haveSameUTF8(type.documentTypeKey, key) {
      names += type.allDocumentTypes
    }
    if let other = existing.first(where: { haveSameUTF8($0.name, own.name) }) {
      names += other.documentTypes(under: key).filter { name in
        !classes.contains { $0.allDocumentTypes.contains { haveSameUTF8($0, name) } }
      }
    }
    return own.having(documentTypes: names, under: key)
  }
}

extension ModelClass {
  /// The class, and its superclasses whose indexes contain its documents.
  ///
  /// These are the superclasses that declare a document type of their own.
  var andIndexedSuperclasses: [ModelClass] {
    guard let documentType else { return [self] }
    var names = [documentType]
    var found = [self]
    for type in type.superclasses where haveSameUTF8(type.documentTypeKey, documentTypeKey) {
      guard let name = type.documentType, !names.contains(where: { haveSameUTF8($0, name) }) else {
        continue
      }
      names.append(name)
      found.append(ModelClass.of(type))
    }
    return found
  }
}

extension DocumentIndex {
  /// The document types in a class's index, taken from its first condition.
  fileprivate func documentTypes(under key: String) -> [String] {
    guard let first = conditions.first, haveSameNames(first.path, [key]) else { return [] }
    return switch first.test {
    case .equal(.string(let name)): [name]
    case .isIn(let values): values.compactMap(\.stringValue)
    default: []
    }
  }

  /// Returns the index of a class for the documents of several types.
  fileprivate func having(documentTypes names: [String], under key: String) -> DocumentIndex {
    let condition = IndexCondition(path: [key], .isIn(names.map { .string($0) }))
    guard case .isIn(let values) = condition.test, values.count > 1,
      let first = conditions.first, haveSameNames(first.path, [key])
    else { return self }
    let conditions = [condition] + conditions.dropFirst()
    if let fullText {
      return DocumentIndex(name, fullTextPaths: paths, options: fullText, where: conditions)
    }
    return DocumentIndex(
      name, paths: paths, isUnique: isUnique, eachElement: eachElement, where: conditions)
  }
}
