import DivanLog

// The effect of each kind of record on the index. Writers and replay share this code, so that they
// arrive at the same state.

extension Version {
  /// Indexes a document's newest record instead of the one that it supersedes.
  ///
  /// Costs lookups only for documents that also have other records.
  mutating func put(
    _ record: DocumentRecord, at locator: RecordLocator, commit: UInt64, scratch: inout ByteWriter
  ) throws(PageError) {
    if let old = record.superseded {
      // A record that recovery has reappended supersedes itself: the old one is not an earlier
      // revision.
      if record.details?.keepsSuperseded == true, old.sequence != record.sequence {
        setRetained(RetainedKey.bytes(record.idBytes, old.sequence), old.locator, scratch: &scratch)
      } else {
        segments.noteDead(old.locator)
        if old.sequence != record.sequence { historyHorizon = max(historyHorizon, commit) }
      }
      if old.sequence != record.sequence { removeSequence(old.sequence) }
    }
    segments.noteAdded(locator)
    if let details = record.details {
      // A revision that an earlier version may show is dropped.
      if !details.released.isEmpty { historyHorizon = max(historyHorizon, commit) }
      try put(details, of: record, scratch: &scratch)
    }
    index(DocumentEntry(record, at: locator), record.idBytes, scratch: &scratch)
  }

  /// Inserts an entry into the trees by ID and by sequence number.
  mutating func index(_ entry: DocumentEntry, _ id: SharedBytes, scratch: inout ByteWriter) {
    scratch.removeAll()
    entry.encode(to: &scratch)
    scratch.withSpan { (value: Span<UInt8>) in
      id.withSpan { (key: Span<UInt8>) in documents.set(key, value) }
    }
    scratch.removeAll()
    entry.locator.encode(to: &scratch)
    scratch.withSpan { (value: Span<UInt8>) in
      entry.sequence.withBigEndianBytes { key in sequences.set(key, value) }
    }
  }

  private mutating func removeSequence(_ sequence: UInt64) {
    let isNew = sequence > immutableSequence
    sequence.withBigEndianBytes { key in sequences.remove(key, isNewSinceCheckpoint: isNew) }
  }

  /// Inserts a record's locator into ``retained``.
  mutating func setRetained(_ key: [UInt8], _ locator: RecordLocator, scratch: inout ByteWriter) {
    scratch.removeAll()
    locator.encode(to: &scratch)
    scratch.withSpan { (value: Span<UInt8>) in retained.set(key.span, value) }
  }

  /// Drops a retained record.
  mutating func release(_ sequence: UInt64, of id: SharedBytes) throws(PageError) {
    let key = RetainedKey.bytes(id, sequence)
    guard let value = try retained.find(key.span) else { return }
    if let locator = RecordLocator(indexed: value) { segments.noteDead(locator) }
    retained.remove(key.span)
    mayHaveUnreferenced = true
  }

  private mutating func put(
    _ details: DocumentDetails, of record: DocumentRecord, scratch: inout ByteWriter
  ) throws(PageError) {
    for sequence in details.released { try release(sequence, of: record.idBytes) }
    if details.releasesOlder { try releaseRetained(of: record.idBytes) }
    if let expiry = details.supersededExpiry {
      catalog.remove(CatalogKey.expiry(expiry, record.idBytes).span)
    }
    if let expiry = details.expiry {
      catalog.set(CatalogKey.expiry(expiry, record.idBytes).span, [1 as UInt8].span)
    }
    for attachment in details.attachments {
      if let old = record.superseded, !details.keepsSuperseded, old.sequence != record.sequence {
        catalog.remove(CatalogKey.reference(attachment.digest, old.sequence).span)
      }
      let key = CatalogKey.reference(attachment.digest, record.sequence)
      record.idBytes.withSpan { (id: Span<UInt8>) in catalog.set(key.span, id) }
    }
  }

  /// Removes a document with everything known about it, or one record of it.
  mutating func purge(_ record: PurgeRecord, at locator: RecordLocator) throws(PageError) {
    segments.noteAdded(locator)
    historyHorizon = max(historyHorizon, record.historyHorizon)
    if let sequence = record.sequence {
      return try release(sequence, of: record.idBytes)
    }
    mayHaveUnreferenced = true
    purgeCount += 1
    record.idBytes.withSpan { (key: Span<UInt8>) in documents.remove(key) }
    if let old = record.superseded {
      removeSequence(old.sequence)
      segments.noteDead(old.locator)
    }
    if let expiry = record.supersededExpiry {
      catalog.remove(CatalogKey.expiry(expiry, record.idBytes).span)
    }
    if record.mayRetainOlder { try releaseRetained(of: record.idBytes) }
  }

  /// Drops all retained records of a document.
  mutating func releaseRetained(of id: SharedBytes) throws(PageError) {
    for sequence in try retainedSequences(of: id) { try release(sequence, of: id) }
  }

  /// Returns the sequence numbers of a document's records other than the newest one, ascending.
  func retainedSequences(of id: SharedBytes) throws(PageError) -> [UInt64] {
    var scan = retained.scan(
      from: .inclusive(RetainedKey.bytes(id, 0)), to: .inclusive(RetainedKey.bytes(id, .max)))
    var sequences: [UInt64] = []
    while let item = try scan.next() {
      if let sequence = RetainedKey.sequence(item.key, idSize: id.count) {
        sequences.append(sequence)
      }
    }
    return sequences
  }

  /// Inserts the locator of a record of the catalog, or removes its key.
  mutating func put(
    _ record: some CatalogRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      record.catalogKey, isThere: !record.isRemoval, at: locator, superseding: record.superseded,
      scratch: &scratch)
    guard let record = record as? IndexDefinitionRecord else { return }
    indexes.removeAll { record.name.isUTF8(of: $0.index.name) }
    guard let definition = record.definition else { return }
    let position = indexes.firstIndex { compareUTF8(definition.index.name, $0.index.name) < 0 }
    indexes.insert(definition, at: position ?? indexes.count)
  }

  /// Inserts the locator of an attachment's record into the catalog.
  mutating func putAttachment(
    _ digest: SHA256.Digest, at locator: RecordLocator, scratch: inout ByteWriter
  ) throws(PageError) {
    let key = CatalogKey.attachment(digest)
    let old = try catalog.find(key.span).flatMap { RecordLocator(indexed: $0) }
    setCatalog(key, isThere: true, at: locator, superseding: old, scratch: &scratch)
  }

  /// Returns the sequence numbers and document IDs of records that may refer to an attachment.
  func attachmentReferences(
    _ digest: SHA256.Digest
  ) throws(PageError) -> [(sequence: UInt64, id: SharedBytes)] {
    var scan = catalog.scan(
      from: .inclusive(CatalogKey.reference(digest, 0)),
      to: .inclusive(CatalogKey.reference(digest, .max)))
    var references: [(sequence: UInt64, id: SharedBytes)] = []
    while let item = try scan.next() {
      let sequence = UInt64(bigEndian: item.key.load(UInt64.self, at: item.key.count - 8))
      references.append((sequence, item.value))
    }
    return references
  }

  /// Whether a document's record is reachable: its newest one, or a retained one.
  func reaches(_ sequence: UInt64, of id: SharedBytes) throws(PageError) -> Bool {
    let value = try id.withSpan { (key) throws(PageError) in try documents.find(key) }
    guard let value, let entry = try? DocumentEntry.decode(value) else { return false }
    if entry.sequence == sequence { return true }
    guard entry.traits.contains(.mayRetainOlder) else { return false }
    return try retained.contains(RetainedKey.bytes(id, sequence).span)
  }

  mutating func put(
    _ record: CommitPointRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      CatalogKey.commitPoint(record.commitPoint.sequence), isThere: true, at: locator,
      superseding: nil,
      scratch: &scratch)
  }

  /// Inserts a record's locator into the catalog, or removes the key.
  mutating func setCatalog(
    _ key: [UInt8], isThere: Bool, at locator: RecordLocator, superseding old: RecordLocator?,
    scratch: inout ByteWriter
  ) {
    segments.noteAdded(locator)
    if let old { segments.noteDead(old) }
    guard isThere else { return catalog.remove(key.span) }
    setCatalog(key, leadingTo: locator, scratch: &scratch)
  }

  mutating func setCatalog(
    _ key: [UInt8], leadingTo locator: RecordLocator, scratch: inout ByteWriter
  ) {
    scratch.removeAll()
    locator.encode(to: &scratch)
    scratch.withSpan { (value: Span<UInt8>) in catalog.set(key.span, value) }
  }
}

extension RecordLocator {
  /// Decodes a value of the index; nil if it is malformed.
  init?(indexed bytes: SharedBytes) {
    var reader = ByteReader(bytes)
    guard let locator = try? RecordLocator.decode(&reader) else { return nil }
    self = locator
  }
}
