import DivanLog

/// An index of documents by one or several of their properties, maintained with every commit.
///
/// With it, documents are found by their values without reading the others.
///
/// ```swift
/// try database.addIndex(DocumentIndex("by year", on: "year"))
/// var films = try database.snapshot().documents(by: "by year", 1920..<1930)
/// while let film = try films.next() { print(film.id) }
/// ```
///
/// A document has one entry: the property's value in its winning revision. Documents without the
/// property and deleted documents have no entry. With ``eachElement`` an array has an entry for
/// each of its distinct elements, so that a film is found by any of its actors.
///
/// An index of several properties is ordered by the first, then by the second, and so on. A
/// document with the first property has an entry; any other property that is missing counts as
/// null.
///
/// A partial index contains only documents that fulfil all of its ``conditions``. It is smaller,
/// and writing other documents costs nothing. You write the conditions like a filter:
///
/// ```swift
/// DocumentIndex("open by date", on: "due") { $0["done"] == false && $0["due"] != .null }
/// ```
///
/// Values are ordered as null, false, true, numbers, strings by the bytes of their UTF-8, arrays,
/// objects. Numbers are equal if their values are, however they are written. About 160 bytes of
/// strings and arrays, or of several properties together, decide the order. Values that agree for
/// that long are in no particular order, but are still distinguished.
public struct DocumentIndex: Sendable {
  /// The name of the index.
  public let name: String
  /// The paths to the properties that order the index, the most significant first.
  ///
  /// A path is the property's name, preceded by the names of the objects around it.
  public let paths: [[String]]
  /// Whether no two documents may have the same value, other than null.
  ///
  /// With several properties, no two may have the same values in all of them, unless one of these
  /// is null or missing.
  public let isUnique: Bool
  /// Whether each element of an array has an entry, if the first property is an array.
  public let eachElement: Bool
  /// The conditions for documents to be in the index; empty if all documents are.
  public let conditions: [IndexCondition]
  /// The options of a full-text index; nil if the index orders documents by values.
  public private(set) var fullText: FullTextOptions?

  /// The path to the first property: its name, preceded by the names of the objects around it.
  public var path: [String] { paths.first ?? [] }

  /// The error that building the index throws; nil if it can be built.
  var refusal: DatabaseError?

  /// Creates the definition of an index, for ``Database/addIndex(_:progress:)-9g191``.
  ///
  /// ```swift
  /// DocumentIndex("by year", on: "year")             // one property
  /// DocumentIndex("by place", on: "made.city")       // a property of an object
  /// DocumentIndex("by list", on: "list", "due")      // several properties, in this order
  /// ```
  ///
  /// A dot separates the name of an object from that of its property. If a name itself has a dot,
  /// use ``init(_:paths:isUnique:eachElement:)``.
  ///
  /// - Parameters:
  ///   - name: The name of the index: 1 to 240 bytes of UTF-8.
  ///   - properties: The paths to 1 to 8 properties, the most significant first.
  ///   - isUnique: Whether no two documents may have the same values in all properties, unless one
  ///     is null or missing. A transaction at whose end two have them fails with
  ///     ``DatabaseError/Code/notUnique``, also if it inserts revisions of other stores, or purges
  ///     one so that another one wins. In a partial index this applies to documents that meet the
  ///     condition.
  ///   - eachElement: Whether each element of an array has an entry, instead of the array as a
  ///     whole, if the first property is an array.
  public init(
    _ name: String, on properties: String..., isUnique: Bool = false, eachElement: Bool = false
  ) {
    self.init(
      name, paths: properties.map(DocumentIndex.names(inPath:)), isUnique: isUnique,
      eachElement: eachElement)
  }

  /// Creates the definition of an index of one property, with the names in its path.
  public init(
    _ name: String, path: [String], isUnique: Bool = false, eachElement: Bool = false
  ) {
    self.init(name, paths: [path], isUnique: isUnique, eachElement: eachElement)
  }

  /// Creates the definition of an index of several properties, with the names in their paths.
  public init(
    _ name: String, paths: [[String]], isUnique: Bool = false, eachElement: Bool = false
  ) {
    self.init(name, paths: paths, isUnique: isUnique, eachElement: eachElement, where: [])
  }

  /// Creates the definition of an index of the documents that fulfil all conditions.
  package init(
    _ name: String, on properties: String..., isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition]
  ) {
    self.init(
      name, paths: properties.map(DocumentIndex.names(inPath:)), isUnique: isUnique,
      eachElement: eachElement, where: conditions)
  }

  /// Creates the definition of an index of the documents that fulfil all conditions.
  package init(
    _ name: String, paths: [[String]], isUnique: Bool = false, eachElement: Bool = false,
    where conditions: [IndexCondition]
  ) {
    self.name = name
    self.paths = paths
    self.isUnique = isUnique
    self.eachElement = eachElement
    self.conditions = conditions
    fullText = nil
  }

  /// Creates the definition of a full-text index, which finds documents by the words in their text.
  ///
  /// ```swift
  /// try database.addIndex(DocumentIndex("text", fullText: "title", "body"))
  /// ```
  ///
  /// A property that is an array has the text of its elements. Values that are not text have no
  /// words.
  ///
  /// - Parameters:
  ///   - name: The name of the index: 1 to 240 bytes of UTF-8.
  ///   - properties: The paths to 1 to 8 properties.
  ///   - options: How text becomes terms, and how much each property counts.
  public init(
    _ name: String, fullText properties: String..., options: FullTextOptions = FullTextOptions()
  ) {
    self.init(
      name, fullTextPaths: properties.map(DocumentIndex.names(inPath:)), options: options, where: []
    )
  }

  /// Creates the definition of a full-text index of the documents that fulfil all conditions.
  package init(
    _ name: String, fullTextPaths paths: [[String]], options: FullTextOptions,
    where conditions: [IndexCondition]
  ) {
    self.name = name
    self.paths = paths
    isUnique = false
    eachElement = false
    self.conditions = conditions
    fullText = options
  }

  /// Returns the names in a path that is written with dots.
  static func names(inPath path: String) -> [String] {
    // By bytes: a dot with a combining accent would be another character.
    path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
  }
}

extension DocumentIndex: Hashable {
  /// Whether both define the same index; names are compared by their bytes, as in documents.
  public static func == (a: DocumentIndex, b: DocumentIndex) -> Bool {
    haveSameUTF8(a.name, b.name) && a.isUnique == b.isUnique && a.eachElement == b.eachElement
      && a.paths.count == b.paths.count
      && zip(a.paths, b.paths).allSatisfy { haveSameNames($0, $1) }
      && a.conditions == b.conditions && a.fullText == b.fullText
  }

  /// Hashes the values that `==` compares.
  public func hash(into hasher: inout Hasher) {
    // Strings with the same bytes have the same hash.
    hasher.combine(name)
    hasher.combine(paths)
    hasher.combine(isUnique)
    hasher.combine(eachElement)
    hasher.combine(conditions)
    hasher.combine(fullText)
  }
}

extension DocumentIndex {
  /// Whether two full-text indexes have the same terms: they differ at most in their weights.
  func hasSameTerms(as other: DocumentIndex) -> Bool {
    guard fullText != nil, let weights = other.fullText?.weights else { return false }
    var index = self
    index.fullText?.weights = weights
    return index == other
  }
}

/// Whether two paths have the same names, byte by byte.
func haveSameNames(_ a: [String], _ b: [String]) -> Bool {
  a.count == b.count && zip(a, b).allSatisfy { haveSameUTF8($0, $1) }
}
