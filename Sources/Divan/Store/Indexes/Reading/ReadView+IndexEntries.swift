import DivanLog

extension ReadView {
  /// Returns the number of documents that an index has in a range.
  func count(by index: String, _ range: IndexRange) throws(DatabaseError) -> Int {
    var entries = try IndexEntryCursor(self, index, range, descending: false)
    return try entries.countRest()
  }

  /// Returns an index that is ready for use.
  func index(named name: String) throws(DatabaseError) -> IndexDefinition {
    guard let definition = state.indexes.first(where: { haveSameUTF8($0.index.name, name) }),
      definition.isReady
    else {
      if let locator = try locator(in: \.catalog, CatalogKey.index(SharedBytes(utf8: name))) {
        // This throws if the index's record is unreadable, which differs from a missing index.
        _ = try indexDefinition(at: locator)
      }
      let others = state.indexes.filter(\.isReady).map { $0.index.name.debugDescription }
      throw DatabaseError(
        .notFound, "there is no index \(name.debugDescription)",
        hint: others.isEmpty
          ? "Create it with `addIndex`, or name the class that declares it in the schema"
          : "The indexes are \(others.sorted().joined(separator: ", "))", path: environment.path)
    }
    return definition
  }

  /// Returns the index in a record; nil if the record removes it.
  func indexDefinition(at locator: RecordLocator) throws(DatabaseError) -> IndexDefinition? {
    let payload = try payload(of: .indexDefinition, at: locator)
    do throws(ByteError) {
      return try IndexDefinitionRecord.decode(payload).definition
    } catch {
      throw damage(at: locator, error.reason)
    }
  }

  /// Returns the IDs that an index would have in a version without indexes, in index order.
  func computedEntries(
    of definition: IndexDefinition, _ range: IndexRange
  ) throws(DatabaseError) -> [SharedBytes] {
    var keys: [(key: [UInt8], id: SharedBytes)] = []
    var documents = DocumentLocationCursor(self, .all, descending: false)
    while try documents.advance() {
      let id = documents.id
      let properties = EncodedValue(try winningRecord(at: documents.location, id).body)
      var found: Set<[UInt8]> = []
      for values in IndexEntries.values(definition.index, of: properties)
      where range.contains(values) {
        found.insert(IndexedValue(joining: values).bytes)
      }
      keys += found.map { ($0 + id.array, id) }
    }
    return keys.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.id)
  }
}
