import DivanLog
import Synchronization

/// The indexes that classes of models have declared since the database was opened, and the classes that are known since
/// then.
///
/// An index in the store may be what an earlier program declared, and is replaced; one that another class of this
/// program declared is not.
///
/// The index of a class has the documents of its subclasses, too, so it is in the order of all that a query for the class
/// means, and unique among them. Which subclasses there are shows only as they are named: by
/// ``Database/addIndexes(for:progress:)``, by the ``ModelRegistry`` of a context that saves, or by saving one of their models.
///
/// Invariant: no two indexes have the same name. They have the documents of the class alone, since what a class declares
/// does not change with its subclasses.
final class DeclaredIndexes: Sendable {
  private struct State {
    var indexes: [DocumentIndex] = []
    /// Classes that declare a document type, superclasses among them.
    var classes: [Model.Type] = []
  }

  private let state = Guarded(State())

  /// Those of a store.
  static func of(_ store: Store) -> DeclaredIndexes {
    store.companions.get(DeclaredIndexes.self) { DeclaredIndexes() }
  }

  /// Notes an index that is asked for, in place of another one of its name.
  func set(_ index: DocumentIndex) {
    state.withLock { state in
      state.indexes.removeAll { haveSameUTF8($0.name, index.name) }
      state.indexes.append(index)
    }
  }

  /// Notes an index.
  ///
  /// - Throws: ``DatabaseError/Code/invalidModelClass`` if there is another one of its name; then that stays.
  func add(_ index: DocumentIndex) throws(DatabaseError) {
    let known = state.withLock { state in
      if let known = state.indexes.first(where: { haveSameUTF8($0.name, index.name) }) {
        return known
      }
      state.indexes.append(index)
      return index
    }
    try ModelIndexes.requireOneMeaning(of: [known, index])
  }

  /// Notes classes and their superclasses.
  func know(_ types: some Sequence<Model.Type>) {
    let types = types.flatMap { [$0] + $0.superclasses }.filter { $0.documentType != nil }
    state.withLock { state in
      for type in types where !state.classes.contains(where: { $0 == type }) {
        state.classes.append(type)
      }
    }
  }

  /// An index that a class declares, with the documents of its known subclasses.
  ///
  /// An earlier program may have named subclasses that this one names only later, or never. So the types that an existing
  /// index has, and that no known class has, stay; otherwise every start would make the index twice.
  ///
  /// - Parameters:
  ///   - own: the index, of documents of the class alone.
  ///   - modelClass: the class.
  ///   - existing: the indexes that there are.
  /// - Returns: the index as it is to be made.
  func index(
    _ own: DocumentIndex, of modelClass: ModelClass, amid existing: [DocumentIndex]
  ) -> DocumentIndex {
    guard let documentType = modelClass.documentType else { return own }
    let classes = state.withLock { $0.classes }
    let key = modelClass.documentTypeKey
    var names = [documentType]
    for type in classes
    where type.isSubclass(of: modelClass.type) && haveSameUTF8(type.documentTypeKey, key) {
      if let name = type.documentType { names.append(name) }
    }
    if let other = existing.first(where: { haveSameUTF8($0.name, own.name) }) {
      names += other.documentTypes(under: key).filter { name in
        !classes.contains { $0.documentType.map { haveSameUTF8($0, name) } ?? false }
      }
    }
    return own.having(documentTypes: names, under: key)
  }
}

extension Model {
  /// The superclasses of the class between it and `Model`, the next one first.
  static var superclasses: [Model.Type] {
    var found: [Model.Type] = []
    while let next = _getSuperclass(found.last ?? self) as? Model.Type, next != Model.self {
      found.append(next)
    }
    return found
  }

  fileprivate static func isSubclass(of type: Model.Type) -> Bool {
    superclasses.contains { $0 == type }
  }
}

extension ModelClass {
  /// The class, and those of its superclasses whose indexes have its documents: the ones with a document type of their own.
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
  /// The types of the documents in an index of a class of models, which its first condition says.
  fileprivate func documentTypes(under key: String) -> [String] {
    guard let first = conditions.first, haveSameNames(first.path, [key]) else { return [] }
    return switch first.test {
    case .equal(.string(let name)): [name]
    case .isIn(let values): values.compactMap(\.stringValue)
    default: []
    }
  }

  /// The index of a class with the documents of several types.
  fileprivate func having(documentTypes names: [String], under key: String) -> DocumentIndex {
    let condition = IndexCondition(path: [key], .isIn(names.map { .string($0) }))
    guard case .isIn(let values) = condition.test, values.count > 1,
      let first = conditions.first, haveSameNames(first.path, [key])
    else { return self }
    return DocumentIndex(
      name, paths: paths, isUnique: isUnique, eachElement: eachElement,
      where: [condition] + conditions.dropFirst())
  }
}
