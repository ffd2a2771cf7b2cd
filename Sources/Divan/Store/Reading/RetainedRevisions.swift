import DivanLog

/// The retained records of one document, and which versions need them.
///
/// A version needs the newest record that the document had in it, and the records of the other
/// leaves that this record's tree names. A record that is no longer a leaf never becomes one again.
/// So the versions from some point on need the records that the first of them needs, and all that
/// came later.
struct RetainedRevisions {
  let id: SharedBytes
  /// The retained records, in ascending order.
  let records: [Entry]
  let newest: DocumentEntry

  /// A retained record.
  struct Entry {
    let sequence: UInt64
    let locator: RecordLocator
  }
}

extension RetainedRevisions {
  /// Reads the history of the document to which a key of ``Version/retained`` belongs.
  ///
  /// Returns nil if that is not the document's first key, and if the document is gone.
  init?(firstKey key: SharedBytes, in view: ReadView) throws(DatabaseError) {
    let (id, sequence) = RetainedKey.parts(key)
    var scan = view.state.retained.scan(
      from: .inclusive(RetainedKey.bytes(id, 0)), to: .inclusive(RetainedKey.bytes(id, .max)))
    var records: [Entry] = []
    while let item = try view.step(&scan) {
      guard let found = RetainedKey.sequence(item.key, idSize: id.count) else { continue }
      guard !records.isEmpty || found == sequence else { return nil }
      records.append(Entry(sequence: found, locator: try view.decodeLocator(item)))
    }
    guard let newest = try view.newestEntry(id) else { return nil }
    self.init(id: id, records: records.filter { $0.sequence < newest.sequence }, newest: newest)
  }

  /// Returns the sequence number of the newest record at or below a number; nil if there is none.
  func version(at sequence: UInt64) -> UInt64? {
    if newest.sequence <= sequence { return newest.sequence }
    return records.last { $0.sequence <= sequence }?.sequence
  }

  /// Returns the sequence number of the record that came after one of `records`.
  func successor(of index: Int) -> UInt64 {
    index + 1 < records.count ? records[index + 1].sequence : newest.sequence
  }

  /// Returns the sequence numbers that the tree of one of the records, or of the newest one, names.
  func leaves(
    of sequence: UInt64, in view: ReadView
  ) throws(DatabaseError) -> [UInt64] {
    let locator = records.first { $0.sequence == sequence }?.locator ?? newest.locator
    let record = try view.record(at: locator)
    guard record.details?.tree != nil else { return [] }
    return Array(try view.tree(of: record).storedSequences)
  }

  /// Returns the records that current leaves and versions with these numbers need.
  func needed(
    byVersions sequences: [UInt64], in view: ReadView
  ) throws(DatabaseError) -> Set<UInt64> {
    var needed: Set<UInt64> = []
    if newest.traits.contains(.tree) {
      needed.formUnion(try leaves(of: newest.sequence, in: view))
    }
    let versions = Set(sequences.compactMap { version(at: $0) }).sorted()
    for version in versions where version < newest.sequence {
      needed.insert(version)
      needed.formUnion(try leaves(of: version, in: view))
    }
    return needed
  }
}

extension RetainedRevisions {
  /// Returns the bytes that releasing each of the records would free.
  ///
  /// They include attachments that neither a later record nor one of the `current` ones has, even
  /// if other documents share them. Reads records only if the store has attachments.
  func sizes(
    besides current: Set<UInt64>, in view: ReadView, hasAttachments: Bool
  ) throws(DatabaseError) -> [UInt64] {
    var sizes = records.map { UInt64($0.locator.size) }
    guard hasAttachments else { return sizes }
    var others = try digests(besides: current, in: view)
    for (index, record) in records.enumerated().reversed() {
      for attachment in try attachments(at: record.locator, in: view)
      where others.insert(attachment.digest).inserted {
        sizes[index].add(attachment.length)
      }
    }
    return sizes
  }

  /// Returns the bytes of attachments that only `needed` records have.
  ///
  /// The newest record and the `current` ones do not have them.
  func attachmentSize(
    of needed: Set<UInt64>, besides current: Set<UInt64>, in view: ReadView
  ) throws(DatabaseError) -> UInt64 {
    var others = try digests(besides: current, in: view)
    var size: UInt64 = 0
    for record in records where needed.contains(record.sequence) {
      for attachment in try attachments(at: record.locator, in: view)
      where others.insert(attachment.digest).inserted {
        size.add(attachment.length)
      }
    }
    return size
  }

  /// Returns the attachments of the newest record and the `current` ones.
  private func digests(
    besides current: Set<UInt64>, in view: ReadView
  ) throws(DatabaseError) -> Set<SHA256.Digest> {
    var digests = Set(try attachments(at: newest.locator, in: view).map(\.digest))
    for record in records where current.contains(record.sequence) {
      digests.formUnion(try attachments(at: record.locator, in: view).map(\.digest))
    }
    return digests
  }

  /// Returns the attachments of a record's revision; none if it is damaged.
  private func attachments(
    at locator: RecordLocator, in view: ReadView
  ) throws(DatabaseError) -> [AttachmentEntry] {
    do throws(DatabaseError) {
      return try view.record(at: locator).details?.attachments ?? []
    } catch {
      guard error.code == .damaged else { throw error }
      return []
    }
  }
}

extension UInt64 {
  /// Adds a number of bytes, which may come from a forged file: the sum saturates.
  mutating func add(_ size: UInt64) { self += Swift.min(size, .max - self) }
}
