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
  ///
  /// - Returns: The errors of attachments whose text is missing in full-text indexes, because it
  ///   cannot be read from `files`.
  mutating func catchUpIndexes(
    since base: Version?, changed ids: Set<[UInt8]>, _ files: AttachmentFiles?
  ) throws(PageError) -> [DatabaseError] {
    var unread: [DatabaseError] = []
    indexes.removeAll { !$0.isReady }
    var whole: [IndexDefinition] = []
    for index in indexes {
      guard let base, base.indexes.contains(where: { $0.isReady && $0.hasEntries(of: index) }),
        try !index.kind.isOutdated(in: base)
      else { continue }
      whole.append(index)
    }
    let numbers = Set(whole.map(\.number))
    if base != nil {
      for kind in indexKinds {
        let own = Set(whole.filter { type(of: $0.kind) == kind }.map(\.number))
        try remove(kind) { !own.contains($0) }
      }
    }
    if let base, !whole.isEmpty {
      for id in ids.inOrder {
        unread += try follow(SharedBytes(copying: id), in: whole, since: base, files)
      }
    }
    unread += try fill(indexes.filter { !numbers.contains($0.number) }, files)
    return unread
  }

  /// Fills the indexes that follow from the documents, in a version in which they have nothing.
  mutating func fillIndexesThatFollowFromDocuments() throws(PageError) {
    // None of them has the text of attachments.
    _ = try fill(indexes.filter { type(of: $0.kind).followsFromDocuments }, nil)
  }

  /// Returns what a change of a document changes in some indexes.
  func indexChange(
    of id: SharedBytes, from old: IndexedContent, to new: IndexedContent,
    in indexes: [IndexDefinition]
  ) throws(PageError) -> IndexChange {
    var change = IndexChange(of: id)
    for definition in indexes {
      try definition.kind.addChange(from: old, to: new, in: self, to: &change)
    }
    return change
  }

  /// Removes what indexes of a kind have whose numbers match.
  private mutating func remove(
    _ kind: any IndexKind.Type, where isObsolete: (UInt64) -> Bool
  ) throws(PageError) {
    let tree = kind.tree
    var next: UInt64? = 0
    while let number = next {
      var scan = self[keyPath: tree].scan(from: .inclusive(kind.prefix(of: number)))
      guard let found = try scan.next().flatMap({ kind.number(ofKey: $0.key) }) else { return }
      if isObsolete(found) {
        var last: [UInt8]?
        repeat {
          last = try self[keyPath: tree].removeSome(
            withPrefix: kind.prefix(of: found), after: last, limit: 4096)
        } while last != nil
      }
      next = found == .max ? nil : found + 1
    }
  }

  /// Updates indexes for one document, from its state in a version to the current one.
  private mutating func follow(
    _ id: SharedBytes, in indexes: [IndexDefinition], since base: Version,
    _ files: AttachmentFiles?
  ) throws(PageError) -> [DatabaseError] {
    var old = try base.indexedContent(of: id, files)
    var new = try indexedContent(of: id, files)
    let reads = attachmentReads(from: old, to: new, in: indexes)
    // The attachments that a document had may be deleted by now.
    if reads.old { _ = try old.readIndexedAttachments(of: id) }
    let unread = reads.new ? try new.readIndexedAttachments(of: id) : []
    try indexChange(of: id, from: old, to: new, in: indexes).apply(to: &self)
    return unread
  }

  /// Fills indexes that have nothing with all documents.
  private mutating func fill(
    _ indexes: [IndexDefinition], _ files: AttachmentFiles?
  ) throws(PageError) -> [DatabaseError] {
    guard !indexes.isEmpty else { return [] }
    var unread: [DatabaseError] = []
    let analysers = indexes.compactMap(\.analyser)
    var fillings = indexes.map { $0.kind.makeFilling() }
    var scan = documents.scan()
    while let item = try scan.next() {
      let id = item.key
      var content = try indexedContent(of: id, files)
      guard let listed = content.revision else { continue }
      if analysers.contains(where: { $0.readsAttachments(of: listed) }) {
        unread += try content.readIndexedAttachments(of: id)
      }
      guard let revision = content.revision else { continue }
      for index in fillings.indices { try fillings[index].add(id, revision, to: &self) }
    }
    for index in fillings.indices { try fillings[index].finish(in: &self) }
    return unread
  }

  private func indexedContent(
    of id: SharedBytes, _ files: AttachmentFiles?
  ) throws(PageError) -> IndexedContent {
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
    return .revision(
      IndexedRevision(
        EncodedValue(document.body), try attachedTexts(document.attachments, files)))
  }

  /// Returns the record at a locator; nil if it is damaged or its file is missing.
  private func record(at locator: RecordLocator) throws(PageError) -> Record? {
    guard let segment = segments[locator.fileID] else { return nil }
    do throws(LogError) {
      return try segment.record(at: locator)
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
