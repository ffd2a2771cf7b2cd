import DivanLog

/// The records that are held of one document, and which of them which version needs.
///
/// A version needs the newest record that a document had in it, and those in which the other leaves
/// stand that the record's tree names. A record that is no leaf any more never becomes one again; so
/// what versions from some point on need is what the first of them needs, and all that came later.
struct HeldHistory {
  let id: SharedBytes
  /// Those besides the newest one, ascending.
  let records: [Held]
  let newest: DocumentEntry

  struct Held {
    let sequence: UInt64
    let locator: RecordLocator
  }
}

extension HeldHistory {
  /// Looks at the document to which a key of ``StoreState/older`` belongs, if it is its first key;
  /// nil otherwise, and where the document is gone.
  init?(firstKey key: SharedBytes, in view: StoreView) throws(DatabaseError) {
    let (id, sequence) = OlderKey.parts(key)
    var scan = view.state.older.scan(
      from: .inclusive(OlderKey.bytes(id, 0)), to: .inclusive(OlderKey.bytes(id, .max)))
    var records: [Held] = []
    while let item = try view.step(&scan) {
      guard let found = OlderKey.sequence(item.key, idSize: id.count) else { continue }
      guard !records.isEmpty || found == sequence else { return nil }
      records.append(Held(sequence: found, locator: try view.decodeLocator(item)))
    }
    guard let newest = try view.newestEntry(id) else { return nil }
    self.init(id: id, records: records.filter { $0.sequence < newest.sequence }, newest: newest)
  }

  /// The sequence number of the newest record at or below a number; nil if there is none.
  func version(at sequence: UInt64) -> UInt64? {
    if newest.sequence <= sequence { return newest.sequence }
    return records.last { $0.sequence <= sequence }?.sequence
  }

  /// The sequence number of the record that came after one of those.
  func successor(of index: Int) -> UInt64 {
    index + 1 < records.count ? records[index + 1].sequence : newest.sequence
  }

  /// The sequence numbers of the records that the tree of one of them names, or that of the newest one.
  func leaves(
    of sequence: UInt64, in view: StoreView
  ) throws(DatabaseError) -> [UInt64] {
    let locator = records.first { $0.sequence == sequence }?.locator ?? newest.locator
    let record = try view.record(at: locator)
    guard record.details?.tree != nil else { return [] }
    return Array(try view.tree(of: record).heldSequences)
  }

  /// What current leaves and named versions need of the records.
  func needed(
    byVersions sequences: [UInt64], in view: StoreView
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

extension HeldHistory {
  /// How many bytes go with each of the records: its own, and those of the attachments that no later one
  /// has, nor one of the `current` ones.
  ///
  /// What other documents have as well counts all the same. Reads records only if the store has attachments.
  func sizes(
    besides current: Set<UInt64>, in view: StoreView, hasAttachments: Bool
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

  /// How many bytes of attachments some of the records have that neither the newest one has nor one of the
  /// `current` ones.
  func attachmentSize(
    of needed: Set<UInt64>, besides current: Set<UInt64>, in view: StoreView
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

  /// What is attached to the newest record and the `current` ones.
  private func digests(
    besides current: Set<UInt64>, in view: StoreView
  ) throws(DatabaseError) -> Set<SHA256.Digest> {
    var digests = Set(try attachments(at: newest.locator, in: view).map(\.digest))
    for record in records where current.contains(record.sequence) {
      digests.formUnion(try attachments(at: record.locator, in: view).map(\.digest))
    }
    return digests
  }

  /// What is attached to the revision of a record; nothing if it is damaged.
  private func attachments(
    at locator: RecordLocator, in view: StoreView
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
  /// Adds a number of bytes, which may come from a forged file: the sum ends at the highest number.
  mutating func add(_ size: UInt64) { self += Swift.min(size, .max - self) }
}

extension StoreView {
  /// Calls `body` with what is held of each document that has records besides its newest one.
  func forEachHeld(
    _ body: (HeldHistory) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var scan = state.older.scan()
    while let item = try step(&scan) {
      guard let held = try HeldHistory(firstKey: item.key, in: self) else { continue }
      guard try body(held) else { return }
    }
  }

  /// How many bytes of superseded revisions, and of attachments that only they have, versions need that end
  /// with some sequence numbers.
  func pinnedSizes(_ sequences: [UInt64]) throws(DatabaseError) -> [UInt64] {
    var sizes = [UInt64](repeating: 0, count: sequences.count)
    guard !sequences.isEmpty else { return sizes }
    let hasAttachments = try hasReferences()
    try forEachHeld { (held) throws(DatabaseError) in
      let current = try held.needed(byVersions: [], in: self)
      for (index, sequence) in sequences.enumerated() {
        let needed = try held.needed(byVersions: [sequence], in: self).subtracting(current)
        for record in held.records where needed.contains(record.sequence) {
          sizes[index].add(UInt64(record.locator.size))
        }
        guard hasAttachments, !needed.isEmpty else { continue }
        sizes[index].add(try held.attachmentSize(of: needed, besides: current, in: self))
      }
      return true
    }
    return sizes
  }
}
