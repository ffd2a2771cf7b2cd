import DivanLog

// How indexes follow the documents when the log is read. A writer does the same with each change:
// WriteTransaction+Indexes.swift.

extension StoreState {
  /// The indexes that the catalog names, and which of them are ready; and the records that cannot be read.
  ///
  /// Without these it is not known what must be unique, so that nothing may be written. Where the pages lead
  /// nowhere, what is damaged is `checkpointPath`.
  func readIndexes(
    _ checkpointPath: String
  ) throws(PageError) -> (indexes: [KeptIndex], damage: [Damage]) {
    var scan = catalog.scan(
      from: .inclusive([CatalogKey.Kind.index.rawValue]),
      to: .exclusive([CatalogKey.Kind.index.rawValue + 1]))
    var indexes: [KeptIndex] = []
    var damage: [Damage] = []
    while let item = try scan.next() {
      let locator = RecordLocator(indexed: item.value)
      if let locator, let record = try self.record(at: locator), record.kind == .index,
        let index = try? IndexRecord.decode(record.payload), let kept = index.kept,
        item.key.array == CatalogKey.index(index.name)
      {
        indexes.append(kept)
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

  /// Brings the entries of indexes to what the documents are now.
  ///
  /// Those that `base`, the version of a checkpoint, has as ready are whole there, and follow the documents
  /// that were `changed` since. Others are made anew, if they were ready once, which is proportional to the store.
  /// One that was not is given up: whoever adds it begins again. What is left of such ones goes.
  mutating func catchUpIndexes(
    since base: StoreState?, changed ids: Set<[UInt8]>
  ) throws(PageError) {
    indexes.removeAll { !$0.isReady }
    let whole = indexes.filter { base?.indexes.contains($0) == true }
    let numbers = Set(whole.map(\.number))
    if base != nil { try removeIndexEntries { !numbers.contains($0) } }
    if let base, !whole.isEmpty {
      for id in ids.inOrder { try follow(SharedBytes(copying: id), in: whole, since: base) }
    }
    let fresh = indexes.filter { !numbers.contains($0.number) }
    if !fresh.isEmpty { try addIndexEntries(fresh) }
  }

  /// Gives all indexes the entries that they should have once they are whole, in a version that has none.
  mutating func makeIndexes() throws(PageError) {
    if !indexes.isEmpty { try addIndexEntries(indexes) }
  }

  /// Takes away the entries of the indexes whose numbers are meant.
  private mutating func removeIndexEntries(
    where isMeant: (UInt64) -> Bool
  ) throws(PageError) {
    var next: UInt64? = 0
    while let number = next {
      var scan = catalog.scan(
        from: .inclusive(IndexEntries.prefix(number)),
        to: .end(ofPrefix: [CatalogKey.Kind.indexEntry.rawValue]))
      guard let first = try scan.next(), let found = IndexEntries.number(of: first.key) else {
        return
      }
      if isMeant(found) {
        var item: IndexEntry? = first
        var doomed: [[UInt8]] = []
        while let entry = item, IndexEntries.number(of: entry.key) == found {
          doomed.append(entry.key.array)
          item = try scan.next()
        }
        for key in doomed { catalog.remove(key.span) }
      }
      next = found == .max ? nil : found + 1
    }
  }

  /// Lets indexes follow one document from what a version had of it to what there is now.
  private mutating func follow(
    _ id: SharedBytes, in indexes: [KeptIndex], since base: StoreState
  ) throws(PageError) {
    var old = IndexKeySet()
    switch try base.indexedBody(of: id) {
    case .none: break
    case .body(let body): old = IndexEntries.keys(indexes, of: body, id: id)
    case .unreadable: old = try indexKeys(of: id, in: indexes)
    }
    var new = IndexKeySet()
    if case .body(let body) = try indexedBody(of: id) {
      new = IndexEntries.keys(indexes, of: body, id: id)
    }
    changeIndexEntries(from: old, to: new, of: id)
  }

  /// Adds the entries of all documents.
  private mutating func addIndexEntries(_ indexes: [KeptIndex]) throws(PageError) {
    var scan = documents.scan()
    while let item = try scan.next() {
      let id = item.key
      guard case .body(let body) = try indexedBody(of: id) else { continue }
      changeIndexEntries(
        from: IndexKeySet(), to: IndexEntries.keys(indexes, of: body, id: id), of: id)
    }
  }

  /// Puts the entries of one document in the place of others.
  mutating func changeIndexEntries(
    from old: IndexKeySet, to new: IndexKeySet, of id: SharedBytes
  ) {
    for key in old.subtracting(new) { catalog.remove(key.span) }
    // An index that is being made may lack what the document should have had: whoever makes it leaves to others what they change.
    let isWhole = indexes.allSatisfy(\.isReady)
    let value = [UInt8(id.count)]
    for key in isWhole ? new.subtracting(old) : new { catalog.set(key.span, value.span) }
  }

  /// All keys that some indexes have of a document, looked for one after the other: for documents that cannot
  /// be asked what they are.
  func indexKeys(of id: SharedBytes, in indexes: [KeptIndex]) throws(PageError) -> IndexKeySet {
    var keys: [[UInt8]] = []
    for kept in indexes {
      let prefix = IndexEntries.prefix(kept.number)
      var scan = catalog.scan(from: .inclusive(prefix), to: .end(ofPrefix: prefix))
      while let item = try scan.next() {
        if IndexEntries.read(item)?.id == id { keys.append(item.key.array) }
      }
    }
    return IndexKeySet(keys)
  }

  /// What indexes look at of a document.
  private enum IndexedBody {
    /// There is none, or it is deleted.
    case none
    /// The properties of its winning revision.
    case body(EncodedValue)
    /// They cannot be read.
    case unreadable
  }

  private func indexedBody(of id: SharedBytes) throws(PageError) -> IndexedBody {
    let value = try id.withSpan { (key) throws(PageError) in try documents.find(key) }
    guard let value else { return .none }
    guard let entry = try? DocumentEntry.decode(value) else { return .unreadable }
    guard !entry.isDeleted else { return .none }
    var locator: RecordLocator? = entry.locator
    if let sequence = entry.winningSequence {
      locator = try older.find(OlderKey.bytes(id, sequence).span)
        .flatMap { RecordLocator(indexed: $0) }
    }
    guard let locator, let record = try self.record(at: locator), record.kind == .document,
      let document = try? DocumentRecord.decode(record.payload)
    else { return .unreadable }
    return .body(EncodedValue(document.body))
  }

  /// The record at a place; nil if it is damaged, or its file is gone.
  private func record(at locator: RecordLocator) throws(PageError) -> Record? {
    guard let segment = segments[locator.fileID] else { return nil }
    do throws(LogError) {
      return try segment.record(try segment.recordBytes(at: locator), at: locator)
    } catch .system(let error) {
      // It is told like a page that the system does not read, since both keep the index from being used.
      throw .unreadable(page: 0, error)
    } catch {
      return nil
    }
  }
}

extension Set<[UInt8]> {
  /// Its members in their order: that of a set is another one in each process, and would make other pages of the
  /// same changes.
  fileprivate var inOrder: [[UInt8]] { sorted { $0.lexicographicallyPrecedes($1) } }
}
