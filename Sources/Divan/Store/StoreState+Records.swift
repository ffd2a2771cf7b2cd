import DivanLog

// What each kind of record does to the index. A writer and those who read the log do it in the same
// way, so that what they arrive at is the same.

extension StoreState {
  /// Puts a document's newest record in the place of the one it supersedes.
  ///
  /// Looks something up only for documents that have other records besides.
  mutating func put(
    _ record: DocumentRecord, at locator: RecordLocator, commit: UInt64, scratch: inout ByteWriter
  ) throws(PageError) {
    if let old = record.superseded {
      // One that recovery has logged again stands in its own place: it is no older one.
      if record.details?.keepsSuperseded == true, old.sequence != record.sequence {
        setOlder(OlderKey.bytes(record.idBytes, old.sequence), old.locator, scratch: &scratch)
      } else {
        segments.noteDead(old.locator)
        if old.sequence != record.sequence { historyFloor = max(historyFloor, commit) }
      }
      if old.sequence != record.sequence { removeSequence(old.sequence) }
    }
    segments.noteAdded(locator)
    if let details = record.details {
      // What a version before this one may have shown is gone.
      if !details.released.isEmpty { historyFloor = max(historyFloor, commit) }
      try put(details, of: record, scratch: &scratch)
    }
    index(DocumentEntry(record, at: locator), record.idBytes, scratch: &scratch)
  }

  /// Lets both orders of documents lead to an entry's record.
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
    let isNew = sequence > frozenSequence
    sequence.withBigEndianBytes { key in sequences.remove(key, isNewSinceCheckpoint: isNew) }
  }

  /// Lets a key of ``older`` lead to a record.
  mutating func setOlder(_ key: [UInt8], _ locator: RecordLocator, scratch: inout ByteWriter) {
    scratch.removeAll()
    locator.encode(to: &scratch)
    scratch.withSpan { (value: Span<UInt8>) in older.set(key.span, value) }
  }

  /// Holds a record no longer.
  mutating func release(_ sequence: UInt64, of id: SharedBytes) throws(PageError) {
    let key = OlderKey.bytes(id, sequence)
    guard let value = try older.find(key.span) else { return }
    if let locator = RecordLocator(indexed: value) { segments.noteDead(locator) }
    older.remove(key.span)
    mayHaveUnreferenced = true
  }

  private mutating func put(
    _ details: DocumentDetails, of record: DocumentRecord, scratch: inout ByteWriter
  ) throws(PageError) {
    for sequence in details.released { try release(sequence, of: record.idBytes) }
    if details.releasesOlder { try releaseOlder(of: record.idBytes) }
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

  /// Takes away all that is known of a document, or one record of it.
  mutating func purge(_ record: PurgeRecord, at locator: RecordLocator) throws(PageError) {
    segments.noteAdded(locator)
    historyFloor = max(historyFloor, record.historyFloor)
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
    if record.mayHoldOlder { try releaseOlder(of: record.idBytes) }
  }

  /// Holds nothing any more besides a document's newest record.
  mutating func releaseOlder(of id: SharedBytes) throws(PageError) {
    for sequence in try olderSequences(of: id) { try release(sequence, of: id) }
  }

  /// The sequence numbers of the records that are held besides a document's newest one, ascending.
  func olderSequences(of id: SharedBytes) throws(PageError) -> [UInt64] {
    var scan = older.scan(
      from: .inclusive(OlderKey.bytes(id, 0)), to: .inclusive(OlderKey.bytes(id, .max)))
    var sequences: [UInt64] = []
    while let item = try scan.next() {
      if let sequence = OlderKey.sequence(item.key, idSize: id.count) { sequences.append(sequence) }
    }
    return sequences
  }

  mutating func put(
    _ record: LocalRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      CatalogKey.local(record.idBytes), isThere: record.body != nil, at: locator,
      superseding: record.superseded, scratch: &scratch)
  }

  mutating func put(
    _ record: NamedRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      CatalogKey.named(record.name), isThere: record.moment != nil, at: locator,
      superseding: record.superseded, scratch: &scratch)
  }

  mutating func put(
    _ record: IndexRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      CatalogKey.index(record.name), isThere: record.kept != nil, at: locator,
      superseding: record.superseded, scratch: &scratch)
    indexes.removeAll { record.name.isUTF8(of: $0.index.name) }
    guard let kept = record.kept else { return }
    let place = indexes.firstIndex { compareUTF8(kept.index.name, $0.index.name) < 0 }
    indexes.insert(kept, at: place ?? indexes.count)
  }

  /// Lets a digest lead to a record of its content.
  mutating func putAttachment(
    _ digest: SHA256.Digest, at locator: RecordLocator, scratch: inout ByteWriter
  ) throws(PageError) {
    let key = CatalogKey.attachment(digest)
    let old = try catalog.find(key.span).flatMap { RecordLocator(indexed: $0) }
    setCatalog(key, isThere: true, at: locator, superseding: old, scratch: &scratch)
  }

  /// The sequence numbers of records that may refer to an attachment, with their documents' IDs.
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

  /// Whether a record of a document is held.
  func holds(_ sequence: UInt64, of id: SharedBytes) throws(PageError) -> Bool {
    let value = try id.withSpan { (key) throws(PageError) in try documents.find(key) }
    guard let value, let entry = try? DocumentEntry.decode(value) else { return false }
    if entry.sequence == sequence { return true }
    guard entry.traits.contains(.mayHoldOlder) else { return false }
    return try older.contains(OlderKey.bytes(id, sequence).span)
  }

  mutating func put(
    _ record: MomentRecord, at locator: RecordLocator, scratch: inout ByteWriter
  ) {
    setCatalog(
      CatalogKey.moment(record.moment.sequence), isThere: true, at: locator, superseding: nil,
      scratch: &scratch)
  }

  /// Lets a key of the catalog lead to a record, or to none any more.
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
  /// The place that a value of the index leads to; nil if the bytes are none.
  init?(indexed bytes: SharedBytes) {
    var reader = ByteReader(bytes)
    guard let locator = try? RecordLocator.decode(&reader) else { return nil }
    self = locator
  }
}
