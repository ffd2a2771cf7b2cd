import DivanLog

// How indexes follow the documents during replay. A writer does the same with each change:
// WriteTransaction+Indexes.swift.

extension Version {
  /// Returns the indexes in the catalog with their states, and the records that cannot be read.
  ///
  /// Without these records it is unknown which values must be unique, so nothing may be written.
  /// For entries without a record, the damage is reported in `checkpointPath`.
  func readIndexes(
    _ checkpointPath: String
  ) throws(PageError) -> (indexes: [IndexDefinition], damage: [Damage]) {
    var scan = catalog.scan(
      from: .inclusive([CatalogKey.Kind.index.rawValue]),
      to: .exclusive([CatalogKey.Kind.index.rawValue + 1]))
    var indexes: [IndexDefinition] = []
    var damage: [Damage] = []
    while let item = try scan.next() {
      let locator = RecordLocator(indexed: item.value)
      if let locator, let record = try self.record(at: locator), record.kind == .indexDefinition,
        let index = try? IndexDefinitionRecord.decode(record.payload),
        let definition = index.definition,
        item.key.array == CatalogKey.index(index.name)
      {
        indexes.append(definition)
      } else {
        damage.append(
          Damage(
            path: locator.flatMap { segments[$0.fileID]?.file.path } ?? checkpointPath,
            offset: Int(clamping: locator?.offset ?? 0),
            reason: "the record of an index of documents cannot be read"))
      }
    }
    return (indexes, damage)
  }

  /// Updates the entries of indexes to the current documents.
  ///
  /// Indexes that are ready in `base`, a checkpoint's version, are complete there, and follow the
  /// documents that were `changed` since. Other indexes that were ready are rebuilt, at a cost
  /// proportional to the store. Indexes that were not ready are discarded: adding them starts
  /// again. Their leftover entries are removed.
  mutating func catchUpIndexes(
    since base: Version?, changed ids: Set<[UInt8]>
  ) throws(PageError) {
    indexes.removeAll { !$0.isReady }
    var whole: [IndexDefinition] = []
    for index in indexes {
      guard let base, base.indexes.contains(where: { $0.isReady && $0.hasEntries(of: index) }),
        try !base.isOutdated(index)
      else { continue }
      whole.append(index)
    }
    let numbers = Set(whole.map(\.number))
    if base != nil {
      try removeIndexEntries { !numbers.contains($0) }
      try removeTexts { !numbers.contains($0) }
    }
    if let base, !whole.isEmpty {
      for id in ids.inOrder { try follow(SharedBytes(copying: id), in: whole, since: base) }
    }
    let fresh = indexes.filter { !numbers.contains($0.number) }
    if !fresh.isEmpty { try addIndexEntries(fresh) }
  }

  /// Adds the entries of all indexes of values to a version that has none.
  mutating func makeValueIndexes() throws(PageError) {
    let ofValues = indexes.filter { $0.analyser == nil }
    if !ofValues.isEmpty { try addIndexEntries(ofValues) }
  }

  /// Removes the entries of the indexes whose numbers match.
  private mutating func removeIndexEntries(
    where isObsolete: (UInt64) -> Bool
  ) throws(PageError) {
    var next: UInt64? = 0
    while let number = next {
      var scan = catalog.scan(
        from: .inclusive(IndexEntries.prefix(number)),
        to: .end(ofPrefix: [CatalogKey.Kind.indexEntry.rawValue]))
      guard let first = try scan.next(), let found = IndexEntries.number(of: first.key) else {
        return
      }
      if isObsolete(found) {
        var item: TreeEntry? = first
        var obsolete: [[UInt8]] = []
        while let entry = item, IndexEntries.number(of: entry.key) == found {
          obsolete.append(entry.key.array)
          item = try scan.next()
        }
        for key in obsolete { catalog.remove(key.span) }
      }
      next = found == .max ? nil : found + 1
    }
  }

  /// Updates index entries for one document, from its state in a version to the current one.
  private mutating func follow(
    _ id: SharedBytes, in indexes: [IndexDefinition], since base: Version
  ) throws(PageError) {
    let old = try base.indexedContent(of: id)
    let new = try indexedContent(of: id)
    let edits = try textEdits(of: id, from: old, to: new, in: indexes)
    changeIndexEntries(
      from: try indexKeys(of: id, old, in: indexes),
      to: new.properties.map { IndexEntries.keys(indexes, of: $0, id: id) } ?? IndexKeySet(),
      of: id)
    for edit in edits { edit.apply(to: &texts) }
  }

  /// Adds the entries of all documents.
  private mutating func addIndexEntries(_ indexes: [IndexDefinition]) throws(PageError) {
    var batches = indexes.compactMap { FullTextBatch($0) }
    var scan = documents.scan()
    while let item = try scan.next() {
      let id = item.key
      guard case .properties(let properties) = try indexedContent(of: id) else { continue }
      changeIndexEntries(
        from: IndexKeySet(), to: IndexEntries.keys(indexes, of: properties, id: id), of: id)
      for index in batches.indices {
        batches[index].add(id, properties)
        if batches[index].isFull { try batches[index].move(to: &texts) }
      }
    }
    for index in batches.indices { try batches[index].move(to: &texts) }
  }

  /// Whether the terms of a full-text index follow other rules than this program's.
  private func isOutdated(_ definition: IndexDefinition) throws(PageError) -> Bool {
    definition.analyser == nil ? false : try texts.tables(of: definition).figures().isOutdated
  }

  /// Removes the tables of the full-text indexes whose numbers match.
  private mutating func removeTexts(where isObsolete: (UInt64) -> Bool) throws(PageError) {
    var next: UInt64? = 0
    while let number = next {
      var scan = texts.scan(from: .inclusive(number.bigEndianBytes))
      guard let found = try scan.next().flatMap({ FullTextKeys.indexNumber(of: $0.key) }) else {
        return
      }
      if isObsolete(found) {
        var last: [UInt8]?
        repeat {
          last = try texts.removeSome(withPrefix: found.bigEndianBytes, after: last, limit: 4096)
        } while last != nil
      }
      next = found == .max ? nil : found + 1
    }
  }

  /// Replaces the index entries of one document.
  mutating func changeIndexEntries(
    from old: IndexKeySet, to new: IndexKeySet, of id: SharedBytes
  ) {
    for key in old.subtracting(new) { catalog.remove(key.span) }
    // An index being built may lack the document's old entries: its builder skips changed
    // documents.
    let isWhole = indexes.allSatisfy(\.isReady)
    let value = [UInt8(id.count)]
    for key in isWhole ? new.subtracting(old) : new { catalog.set(key.span, value.span) }
  }

  /// Returns the keys that a document with some content has in indexes.
  func indexKeys(
    of id: SharedBytes, _ content: IndexedContent, in indexes: [IndexDefinition]
  ) throws(PageError) -> IndexKeySet {
    switch content {
    case .none: IndexKeySet()
    case .properties(let properties): IndexEntries.keys(indexes, of: properties, id: id)
    // Its values are unknown, but the document must not be found by them any longer.
    case .unreadable: try indexKeys(of: id, in: indexes)
    }
  }

  /// Returns all keys of a document in some indexes, by scanning them, for unreadable documents.
  func indexKeys(of id: SharedBytes, in indexes: [IndexDefinition]) throws(PageError) -> IndexKeySet
  {
    var keys: [[UInt8]] = []
    for index in indexes {
      let prefix = IndexEntries.prefix(index.number)
      var scan = catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
      while let item = try scan.next() {
        if IndexEntries.read(item)?.id == id { keys.append(item.key.array) }
      }
    }
    return IndexKeySet(keys)
  }

  private func indexedContent(of id: SharedBytes) throws(PageError) -> IndexedContent {
    let value = try id.withSpan { (key) throws(PageError) in try documents.find(key) }
    guard let value else { return .none }
    guard let entry = try? DocumentEntry.decode(value) else { return .unreadable }
    guard !entry.isDeleted else { return .none }
    var locator: RecordLocator? = entry.locator
    if let sequence = entry.winningSequence {
      locator = try retained.find(RetainedKey.bytes(id, sequence).span)
        .flatMap { RecordLocator(indexed: $0) }
    }
    guard let locator, let record = try self.record(at: locator), record.kind == .document,
      let document = try? DocumentRecord.decode(record.payload)
    else { return .unreadable }
    return .properties(EncodedValue(document.body))
  }

  /// Returns the record at a locator; nil if it is damaged or its file is missing.
  private func record(at locator: RecordLocator) throws(PageError) -> Record? {
    guard let segment = segments[locator.fileID] else { return nil }
    do throws(LogError) {
      return try segment.record(try segment.recordBytes(at: locator), at: locator)
    } catch .system(let error) {
      // Reported as an unreadable page, because both prevent the use of the index.
      throw .unreadable(page: 0, error)
    } catch {
      return nil
    }
  }
}

extension Set<[UInt8]> {
  /// The members in byte order.
  ///
  /// A set's order differs between processes, and would make different pages of the same changes.
  fileprivate var inOrder: [[UInt8]] { sorted { $0.lexicographicallyPrecedes($1) } }
}
