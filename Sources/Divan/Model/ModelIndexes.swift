import DivanLog

/// What an index has of a property: `@Persisted(index: .unique) var name = ""`.
///
/// The index has the documents of the class and of its subclasses only, so that a query for the class uses it; see
/// ``Database/addIndexes(for:progress:)``.
public struct PropertyIndex<Value>: Sendable {
  @usableFromInline let _kind: PropertyIndexKind

  /// The value, an array as a whole.
  public static var value: PropertyIndex { PropertyIndex(_kind: .value) }

  /// The value, which no two models of the class and its subclasses may have, other than nil.
  ///
  /// Saving a second one throws ``DatabaseError/Code/notUnique``, nothing is saved, and the models stay unsaved.
  public static var unique: PropertyIndex { PropertyIndex(_kind: .unique) }
}

extension PropertyIndex where Value: QueryElements {
  /// Each element of an array, so that models are found by any of them.
  public static var eachElement: PropertyIndex { PropertyIndex(_kind: .eachElement) }
}

/// What a property's index is, without the property's type.
@usableFromInline
enum PropertyIndexKind: Sendable {
  case value, unique, eachElement
}

/// An index of a class of models that concerns several properties, or some documents only: ``Model/indexes``.
///
/// What it cannot be made of shows when it is made: ``Database/addIndexes(for:progress:)`` throws
/// ``DatabaseError/Code/invalidIndex``.
public struct ModelIndex: Sendable {
  let name: String?
  let paths: [QueryPath]
  let isUnique: Bool
  let eachElement: Bool
  let filter: FilterExpression
  let refusal: DatabaseError?

  /// Describes an index.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - properties: what models are ordered by, the one that decides first: ``Persisted`` properties, or what stands
  ///     within them.
  ///   - name: what it is called after the class; nil for the keys of the properties, joined by `+`.
  ///   - isUnique: whether no two models of the class and its subclasses may have the same values in all properties, unless
  ///     one is nil.
  ///   - eachElement: whether each element of an array is an entry, if the first property is one.
  ///   - condition: what models must fulfil to be in the index: comparisons with constants, that a property is not nil, and
  ///     beginnings of texts, joined with `&&`.
  public init<Root: Model, each V>(
    of type: Root.Type, on properties: repeat (QuerySubject<Root>) -> QueryProperty<each V>,
    named name: String? = nil, isUnique: Bool = false, eachElement: Bool = false,
    where condition: ((QuerySubject<Root>) -> Filter)? = nil
  ) {
    var paths: [QueryPath] = []
    var refusal: DatabaseError?
    for property in repeat each properties {
      let property = property(QuerySubject())
      refusal = refusal ?? property.refusal?.error
      paths.append(property.path)
    }
    self.name = name
    self.paths = paths
    self.isUnique = isUnique
    self.eachElement = eachElement
    let filter = condition.map { $0(QuerySubject()).expression } ?? .all
    self.filter = filter
    self.refusal = refusal ?? filter.refusal
  }
}

/// The indexes that a class of models declares, or why one of them cannot be made.
///
/// They have the documents of the class alone; ``DeclaredIndexes`` knows its subclasses.
struct ModelIndexes: Sendable {
  private(set) var indexes: [DocumentIndex] = []
  private(set) var refusal: DatabaseError?

  init(of modelClass: ModelClass) {
    do throws(DatabaseError) {
      indexes = try ModelIndexes.ofProperties(modelClass)
      for index in modelClass.type.indexes {
        indexes.append(try ModelIndexes.index(index, modelClass))
      }
      try ModelIndexes.requireOneMeaning(of: indexes)
    } catch {
      refusal = error
    }
  }

  /// Throws if two indexes of one name are not the same.
  static func requireOneMeaning(of indexes: [DocumentIndex]) throws(DatabaseError) {
    for (number, index) in indexes.enumerated() {
      for other in indexes[..<number] where haveSameUTF8(other.name, index.name) && other != index {
        throw DatabaseError(
          .invalidModelClass,
          "two indexes of different meaning are called \(index.name.debugDescription)",
          hint:
            "Give one of them another name with `named:`, or one of the classes another document type"
        )
      }
    }
  }

  private static func ofProperties(
    _ modelClass: ModelClass
  ) throws(DatabaseError) -> [DocumentIndex] {
    modelClass.properties.compactMap { property in
      guard let kind = property.place.indexKind else { return nil }
      return DocumentIndex(
        modelClass.indexName(property.key), path: [property.key], isUnique: kind == .unique,
        eachElement: kind == .eachElement, where: modelClass.typeConditions)
    }
  }

  private static func index(
    _ index: ModelIndex, _ modelClass: ModelClass
  ) throws(DatabaseError) -> DocumentIndex {
    func refuse(_ what: String, _ hint: String) -> DatabaseError {
      DatabaseError(.invalidIndex, "an index of \(modelClass.type) \(what)", hint: hint)
    }
    if let refusal = index.refusal {
      throw refuse("cannot be made: \(refusal.message)", refusal.hint ?? "Index what is stored")
    }
    guard !index.paths.isEmpty else {
      throw refuse("is of no property", "Name the properties by which models are to be found")
    }
    var paths: [[String]] = []
    for path in index.paths {
      guard let keys = path.keys else {
        throw refuse(
          "is on \"\(path)\", which is no property of its documents",
          "Index a property, and follow references when you query")
      }
      paths.append(keys)
    }
    var conditions = modelClass.typeConditions
    for part in index.filter.conjuncts {
      guard let condition = part.indexCondition else {
        throw refuse(
          "has a condition that no index can have: \(part)",
          "Compare properties with constants, or with nil, and join that with &&")
      }
      conditions.append(condition)
    }
    let name = index.name ?? paths.map { $0.joined(separator: ".") }.joined(separator: "+")
    return DocumentIndex(
      modelClass.indexName(name), paths: paths, isUnique: index.isUnique,
      eachElement: index.eachElement, where: conditions)
  }
}

extension ModelClass {
  /// The name of an index of the class.
  fileprivate func indexName(_ name: String) -> String {
    documentType.map { "model:\($0).\(name)" } ?? "model:\(name)"
  }

  /// That documents are of the class, if they say so.
  fileprivate var typeConditions: [IndexCondition] {
    documentType.map { [IndexCondition(path: [documentTypeKey], .equal(.string($0)))] } ?? []
  }
}

extension FilterExpression {
  /// The condition of a partial index that says the same; nil if there is none.
  fileprivate var indexCondition: IndexCondition? {
    switch self {
    case .not(.test(let path, .equal(.null))):
      path.keys.map { IndexCondition(path: $0, .isPresent) }
    case .test(let path, let test):
      if let keys = path.keys, let test = test.indexTest {
        IndexCondition(path: keys, test)
      } else {
        nil
      }
    default: nil
    }
  }
}

extension FilterTest {
  fileprivate var indexTest: IndexCondition.Test? {
    switch self {
    case .equal(let value): .equal(value)
    case .order(.less, let value): .less(value)
    case .order(.lessOrEqual, let value): .lessOrEqual(value)
    case .order(.greater, let value): .greater(value)
    case .order(.greaterOrEqual, let value): .greaterOrEqual(value)
    case .text(.beginning, let text, []): .hasPrefix(text)
    case .text, .oneOf, .isMissing: nil
    }
  }
}

// MARK: - Making them

extension Database {
  /// Makes the indexes that classes of models declare, unless they are there.
  ///
  /// ```swift
  /// try database.addIndexes(for: Todo.self, Person.self)
  /// ```
  ///
  /// These are the ones of ``Persisted`` properties with an `index`, those in ``Model/indexes``, and those that ``Inverse``
  /// properties look into. To be called when the database was opened, before anything is saved; see
  /// ``addIndex(_:progress:)`` for what it costs. A context that saves models of a class for the first time makes what is
  /// missing then, and tells its ``ModelContext/errorHandler`` if it cannot: with ``DatabaseError/Code/invalidModelClass``
  /// if another class has declared another index of that name since the database was opened, which stays.
  ///
  /// If a class declares a ``Model/documentType``, its indexes have the documents of that type and of its subclasses' types
  /// only, are called `model:`, the type, a dot and the keys of the properties, and what is unique is so among these. If it
  /// declares none, they have all documents with these properties, and their names have no type. Indexes for inverses are
  /// called `reference:` and the key of the property that refers.
  ///
  /// A subclass inherits what its superclass declares. With a type of its own it has indexes of its own, which have less than
  /// those of the superclass; and those of its superclasses that declare a type are made with its own. So
  /// `addIndexes(for: Film.self, Series.self)` makes those of `Show`, in the order of which
  /// all shows are sorted, and unique values of `Show` are unique among films and series together. Subclasses are known when
  /// they are named here, when a context saves that has them in its ``ModelRegistry``, or when one of their models is saved.
  /// An index that does not have the documents of a subclass that becomes known is made again with them; name all classes
  /// here, so that this happens at once. Types that an existing index has and that no known class declares stay in it.
  /// Subclasses with another ``Model/documentTypeKey`` are not among the documents of the superclass's indexes.
  ///
  /// An index that a class declares in another way than before is removed and made again. If two documents have the same
  /// value where none may, the earlier one is put back. One that is not declared any more stays, until
  /// ``removeIndex(named:)``.
  ///
  /// - Parameters:
  ///   - types: classes of models.
  ///   - progress: told the share that was done, between 0 and 1; making them stops with
  ///     ``DatabaseError/Code/cancelled`` when it returns false, and those that are made stay.
  /// - Throws: ``DatabaseError/Code/invalidIndex`` if a class declares an index that there cannot be, and
  ///   ``DatabaseError/Code/invalidModelClass`` if two different ones would have the same name; then none is made. What
  ///   ``addIndex(_:progress:)`` throws.
  public func addIndexes(
    for types: Model.Type..., progress: ((Double) -> Bool)? = nil
  ) throws {
    var wanted: [(index: DocumentIndex, of: ModelClass)] = []
    for type in types {
      for known in ModelClass.of(type).andIndexedSuperclasses {
        let declared = known.indexes
        if let refusal = declared.refusal { throw refusal }
        wanted += (declared.indexes + known.inverses.map(\.index)).map { ($0, known) }
      }
    }
    try ModelIndexes.requireOneMeaning(of: wanted.map(\.index))
    for (index, _) in wanted { try index.validate(path) }
    let declared = DeclaredIndexes.of(store)
    declared.know(types)
    for (index, _) in wanted { declared.set(index) }
    for (number, (index, known)) in wanted.enumerated() {
      try addDeclaredIndex(index, of: known) { share in
        progress?((Double(number) + share) / Double(wanted.count)) ?? true
      }
    }
  }

  /// Makes an index that a class declares, with the documents of its known subclasses, in place of another one of that name.
  func addDeclaredIndex(
    _ own: DocumentIndex, of known: ModelClass, progress: ((Double) -> Bool)? = nil
  ) throws {
    let existing = try indexes()
    let index = DeclaredIndexes.of(store).index(own, of: known, amid: existing)
    // Before the other one goes.
    try index.validate(path)
    let other = existing.first { haveSameUTF8($0.name, index.name) }
    if let other, other != index { try removeIndex(named: index.name) }
    do {
      try addIndex(index, progress: progress)
    } catch let error as DatabaseError where error.code == .notUnique {
      // What was unique stays so. If that fails too, the next save that looks for the index makes it.
      if let other, other != index { try? addIndex(other) }
      throw error
    }
  }
}

extension ModelContextCore {
  /// Makes the indexes of classes whose models are saved for the first time, before they are.
  ///
  /// What cannot be made is told, and keeps nothing from being saved. An index that another class has declared stays.
  func addDeclaredIndexes(of classes: some Sequence<ModelClass>) {
    guard case .database(let database) = source else { return }
    var new: [ModelClass] = []
    for known in classes where indexedClasses.insert(ObjectIdentifier(known)).inserted {
      new.append(known)
    }
    if new.isEmpty { return }
    let declared = DeclaredIndexes.of(database.store)
    declared.know((registry?.types ?? []) + new.map(\.type))
    var seen: Set<ObjectIdentifier> = []
    for saved in new {
      for known in saved.andIndexedSuperclasses
      where seen.insert(ObjectIdentifier(known)).inserted {
        if let refusal = known.indexes.refusal { handle?.errorHandler?(refusal) }
        for own in known.indexes.indexes {
          do {
            try declared.add(own)
            let snapshot = try requireSnapshot()
            let index = declared.index(own, of: known, amid: snapshot.readyIndexes)
            if !snapshot.hasIndex(index) { try database.addDeclaredIndex(own, of: known) }
          } catch let error as DatabaseError where error.code == .nestedWrite {
            // Nothing can be saved now either, which is told at once.
            indexedClasses.subtract(new.map { ObjectIdentifier($0) })
            return
          } catch let error as DatabaseError where error.code == .alreadyExists {
            // It is being made elsewhere; the next save looks again.
            indexedClasses.remove(ObjectIdentifier(saved))
          } catch {
            handle?.errorHandler?(error)
          }
        }
      }
    }
  }
}
