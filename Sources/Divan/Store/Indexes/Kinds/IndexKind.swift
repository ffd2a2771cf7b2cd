import DivanLog

/// A kind of secondary index: what the store calls to keep, build, check and measure an index.
///
/// A ``ValueIndex`` has an entry for each document, or one for each element of an array. A
/// ``FullTextIndex`` has postings for each term. Only code that reads an index asks which one it
/// is.
///
/// To add a kind:
/// - conform a type, and name it in ``indexKinds`` and in ``IndexDefinition/kind``;
/// - give ``DocumentIndex`` what a user declares, and its record the bytes
///   (`Store/Records/IndexDefinitionRecord.swift`);
/// - a tree of its own is one of ``Version/trees``, and in the file of a checkpoint;
/// - let queries use it: `Query/Planner` finds the indexes that serve a condition, and
///   `Query/Execution` reads them. Which ranges or matches there are differs from kind to kind.
protocol IndexKind: Sendable {
  /// The tree with everything that indexes of this kind have.
  static var tree: WritableKeyPath<Version, LayeredTree> { get }

  /// Whether what an index has follows from the documents, in whichever order they were written.
  ///
  /// If so, a tool can compare the index with the log. If it is in the catalog, damaged pages of it
  /// are rebuilt from the log, too.
  static var followsFromDocuments: Bool { get }

  /// Returns the prefix of all keys of an index, by its number.
  ///
  /// Prefixes have the order of the numbers, and no other keys are between them.
  static func prefix(of number: UInt64) -> [UInt8]

  /// Returns the number of the index that a key belongs to; nil if it is of nothing of this kind.
  static func number(ofKey key: SharedBytes) -> UInt64?

  /// Adds what has to change in the index when a document changes.
  ///
  /// It reads what it needs, and changes nothing, so that applying the change cannot fail. The text
  /// of attachments was read before, if an index needs it.
  func addChange(
    from old: IndexedContent, to new: IndexedContent, in version: Version,
    to change: inout IndexChange
  ) throws(PageError)

  /// Whether the index was made by rules of an earlier program, and has to be built again.
  func isOutdated(in version: Version) throws(PageError) -> Bool

  /// Begins to fill an index that has nothing, while nothing else writes.
  func makeFilling() -> any IndexFilling

  /// Fills an index with all documents, with several threads, beside other writers.
  ///
  /// These change the index for the documents that they write. So nothing is added for a document
  /// that has changed since it was read. `progress` receives the completed share, and cancels the
  /// build by returning false.
  func fill(_ store: Store, _ progress: ((Double) -> Bool)?) throws(DatabaseError)

  /// Begins to compare the index with all documents of a view.
  func makeCheck(_ view: ReadView) -> any IndexCheck

  /// Measures the index, which costs a scan of it.
  ///
  /// `progress` receives the number of entries so far, now and then.
  func measure(_ view: ReadView, progress: (Int) -> Void) throws(DatabaseError) -> IndexMeasure
}

/// All kinds of indexes.
let indexKinds: [any IndexKind.Type] = [ValueIndex.self, FullTextIndex.self]

extension IndexDefinition {
  /// The index as one of its kind.
  var kind: any IndexKind {
    if let analyser {
      FullTextIndex(definition: self, analyser: analyser)
    } else {
      ValueIndex(definition: self)
    }
  }
}

/// A change in one index.
protocol IndexEdit {
  func apply(to version: inout Version)
}

/// An index that is being filled, document by document.
protocol IndexFilling {
  /// Adds a document, which the index does not have.
  mutating func add(
    _ id: SharedBytes, _ revision: IndexedRevision, to version: inout Version
  ) throws(PageError)

  /// Adds what is still in memory.
  mutating func finish(in version: inout Version) throws(PageError)
}

/// A comparison of an index with the documents.
protocol IndexCheck {
  /// Throws `damaged` if the index does not have what it should of a document.
  mutating func check(_ document: StoredDocument, _ id: String) throws(DatabaseError)

  /// Throws `damaged` if the index has more than the documents that were checked.
  ///
  /// Does nothing if it threw `damaged` before.
  mutating func finish() throws(DatabaseError)
}

/// The size of an index, and how well it tells documents apart.
package struct IndexMeasure: Sendable {
  package let index: DocumentIndex
  /// The number of entries; an array may have one for each element.
  ///
  /// In a full-text index, the number of postings: of each term, one for each document.
  package internal(set) var entryCount = 0
  /// The number of distinct values; with several properties, of their combinations.
  ///
  /// In a full-text index, the number of terms.
  package internal(set) var distinctCount = 0
  /// The bytes of the entries' keys and values, before pages and their checksums.
  package internal(set) var size = 0
}
