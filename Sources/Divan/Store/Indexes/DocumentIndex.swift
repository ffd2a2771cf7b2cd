import DivanLog

/// An order of documents by one or several of their properties, which is kept with every commit, so that documents
/// are found by them without reading the others.
///
/// ```swift
/// try database.addIndex(DocumentIndex("by year", on: "year"))
/// var films = try database.snapshot().documents(by: "by year", .from(1920, upTo: 1930))
/// while let film = try films.next() { print(film.id) }
/// ```
///
/// A document has one entry: the property's value, of its winning revision. One that has no such property has
/// none, and deleted documents have none. With ``eachElement`` an array has an entry for each of its elements
/// that is different from the others, so that a film is found by any of its actors.
///
/// An index of several properties is in the order of the first, where that is equal of the second, and so on. A document
/// that has the first one has an entry; of the others, what is missing counts as null.
///
/// A partial index has only documents that fulfil all of its ``conditions``. It is smaller, and costs nothing when
/// others are written.
///
/// Values are in the order null, false, true, numbers, texts by the bytes of their UTF-8, arrays, objects. Equal
/// numbers are equal however they are written. Of texts and arrays some 160 bytes decide about the order, of
/// several properties together as many; those that begin alike for so long come in no particular order, and are told
/// apart all the same.
public struct DocumentIndex: Sendable {
  /// What the index is called.
  public let name: String
  /// The ways to the properties by which documents are ordered, the first one first: of each its name, or the names of
  /// the objects around it before that.
  public let paths: [[String]]
  /// Whether no two documents may have the same value, other than null; of several properties, the same values in all
  /// of them, unless one of these is null or missing.
  public let isUnique: Bool
  /// Whether each element of an array has an entry, if the first property is one.
  public let eachElement: Bool
  /// What documents must fulfil to be in the index; empty if all are meant.
  public let conditions: [IndexCondition]

  /// The way to the first property: its name, or the names of the objects around it before that.
  public var path: [String] { paths.first ?? [] }

  /// Describes an index of one property, which ``Database/addIndex(_:progress:)`` makes.
  ///
  /// - Parameters:
  ///   - name: what it is called: 1 to 240 bytes of UTF-8.
  ///   - path: the property's name; for one within objects, their names before it.
  ///   - isUnique: whether no two documents may have the same value, other than null. A transaction at whose
  ///     end two have it is refused with ``DatabaseError/Code/notUnique``, also if it inserts revisions that were
  ///     made elsewhere, or purges one so that another one wins. In a partial index that is asked of documents that
  ///     fulfil the conditions.
  ///   - eachElement: whether each element of an array has an entry, instead of the array as a whole.
  ///   - conditions: what documents must fulfil to be in the index, all of it; at most 16 conditions.
  public init(
    _ name: String, on path: String..., isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition] = []
  ) {
    self.init(
      name, paths: [path], isUnique: isUnique, eachElement: eachElement, where: conditions)
  }

  /// Describes an index of several properties: `DocumentIndex("by list and date", on: ["list"], ["due"])`.
  ///
  /// - Parameters:
  ///   - name: what it is called: 1 to 240 bytes of UTF-8.
  ///   - paths: the ways to 1 to 8 properties, the one that decides about the order first.
  ///   - isUnique: whether no two documents may have the same values in all properties, unless one is null or missing.
  ///   - eachElement: whether each element of an array has an entry, if the first property is one.
  ///   - conditions: what documents must fulfil to be in the index, all of it; at most 16 conditions.
  public init(
    _ name: String, on paths: [String]..., isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition] = []
  ) {
    self.init(name, paths: paths, isUnique: isUnique, eachElement: eachElement, where: conditions)
  }

  /// Describes an index of one property, with the names of the way to it in an array.
  public init(
    _ name: String, path: [String], isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition] = []
  ) {
    self.init(name, paths: [path], isUnique: isUnique, eachElement: eachElement, where: conditions)
  }

  /// Describes an index of several properties, with the ways to them in an array.
  public init(
    _ name: String, paths: [[String]], isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition] = []
  ) {
    self.name = name
    self.paths = paths
    self.isUnique = isUnique
    self.eachElement = eachElement
    self.conditions = conditions
  }
}

extension DocumentIndex: Hashable {
  /// Whether both are the same index of the same documents; names are told apart by their bytes, as in documents.
  public static func == (a: DocumentIndex, b: DocumentIndex) -> Bool {
    haveSameUTF8(a.name, b.name) && a.isUnique == b.isUnique && a.eachElement == b.eachElement
      && a.paths.count == b.paths.count
      && zip(a.paths, b.paths).allSatisfy { haveSameNames($0, $1) }
      && a.conditions == b.conditions
  }

  /// Feeds what `==` compares into the hasher.
  public func hash(into hasher: inout Hasher) {
    // Texts of the same bytes have the same hash.
    hasher.combine(name)
    hasher.combine(paths)
    hasher.combine(isUnique)
    hasher.combine(eachElement)
    hasher.combine(conditions)
  }
}

/// Whether two ways to a property have the same names, byte by byte.
func haveSameNames(_ a: [String], _ b: [String]) -> Bool {
  a.count == b.count && zip(a, b).allSatisfy { haveSameUTF8($0, $1) }
}

/// An index as a version of the store has it.
///
/// An object that never changes, since versions, plans and walks have it in common.
final class KeptIndex: Sendable {
  let index: DocumentIndex
  /// What its entries begin with: the number of the commit since which there is such an index, so that no other
  /// one ever has it, and what is left of one that is gone is never taken for another's.
  let number: UInt64
  /// Whether every document has its entries.
  let isReady: Bool
  /// What the keys of its entries begin with.
  let keyPrefix: [UInt8]

  init(index: DocumentIndex, number: UInt64, isReady: Bool) {
    self.index = index
    self.number = number
    self.isReady = isReady
    keyPrefix = IndexEntries.prefix(number)
  }
}

extension KeptIndex: Equatable {
  /// Whether both say the same of the same index.
  static func == (a: KeptIndex, b: KeptIndex) -> Bool {
    a === b || a.number == b.number && a.isReady == b.isReady && a.index == b.index
  }
}
