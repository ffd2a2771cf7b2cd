import DivanLog

/// The entries that an index should have of some documents, read from a version of the store that may be old by the time
/// they are added.
///
/// It takes no more memory than is allowed, and beyond that what the last document has.
struct IndexBatch: ~Copyable {
  private var maker: IndexKeyMaker
  /// The source of each is an index in `revisions`.
  private var entries = EntryBatch(sharedSize: IndexEntries.prefixSize)
  /// Which revisions were read of the documents that have entries.
  private var revisions: [RevisionID] = []
  /// What tells whether anything has changed since the documents were read.
  private var changesAndPurges: UInt64 = 0
  /// How many documents were read.
  private(set) var documentCount = 0
  private let documentLimit: Int
  private let sizeLimit: Int
  /// The sequence number of the last document, and of the last that is to be read.
  private var last: UInt64 = 0
  private var end: UInt64?
  /// Whether no documents come after these.
  private(set) var isAtEnd = false

  /// After how many documents it is told how many were read.
  private static let progressInterval = 4096

  /// Begins before the first document.
  ///
  /// At most `documentLimit` documents are read at once, and none after `sizeLimit` bytes of keys, places and revisions
  /// together.
  init(_ kept: KeptIndex, documentLimit: Int, sizeLimit: Int = 32 << 20) {
    maker = IndexKeyMaker(kept)
    self.documentLimit = max(documentLimit, 1)
    self.sizeLimit = sizeLimit
  }
}

extension IndexBatch {
  var entryCount: Int { entries.count }

  /// How many bytes the entries and what is known of their documents take.
  var size: Int { entries.size + revisions.count * MemoryLayout<RevisionID>.stride }

  private var isFull: Bool { documentCount >= documentLimit || size >= sizeLimit }

  /// Reads the documents behind those that were read before, in place of them, and tells now and then how many.
  ///
  /// They come in the order of their changes, in which most of their records lie, too. A document that was changed after
  /// the first version that was read has got its entries from whoever changed it, and is passed over.
  mutating func read(
    _ view: StoreView, _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    entries.removeAll()
    revisions.removeAll(keepingCapacity: true)
    changesAndPurges = view.state.changesAndPurges
    documentCount = 0
    let end = self.end ?? view.state.lastSequence
    self.end = end
    reserveRoom(documentCount: Int(clamping: view.state.documentCount))
    var scan = view.state.sequences.scan(
      from: .exclusive(last.bigEndianBytes), to: .inclusive(end.bigEndianBytes))
    // One at least, or it would go on for ever.
    repeat {
      guard let item = try view.step(&scan) else {
        isAtEnd = true
        break
      }
      try readDocument(of: view, item)
      documentCount += 1
      if documentCount % IndexBatch.progressInterval == 0, !isFull { try progress(documentCount) }
    } while !isFull
    entries.sort()
  }

  /// Makes room for what is kept of each document and one entry, as far as that is allowed, so that it is not copied while it
  /// grows.
  private mutating func reserveRoom(documentCount: Int) {
    let documentSize = MemoryLayout<RevisionID>.stride + EntryBatch.guessedEntrySize
    let count = min(documentCount, documentLimit, sizeLimit / documentSize)
    entries.reservePlaces(count)
    revisions.reserveCapacity(count)
  }

  /// Makes the entries of the document to which an entry of the order of changes leads.
  private mutating func readDocument(
    of view: StoreView, _ item: IndexEntry
  ) throws(DatabaseError) {
    last = item.withKey { $0.count == 8 ? $0.word(at: 0).byteSwapped : last }
    let locator = try view.decodeLocator(item)
    do throws(DatabaseError) {
      let record = try view.stored(at: locator)
      guard record.sequence == last, record.hasTextAsID
      else { throw view.damage(at: locator, "another record stands here") }
      // Most records are all that there is of their documents.
      guard record.hasDetails else {
        if !record.isDeleted { addEntries(of: record) }
        return
      }
      let entry = DocumentEntry(record, at: locator)
      guard !entry.isDeleted else { return }
      addEntries(
        of: entry.winningSequence == nil
          ? record : try view.winningRecord(of: entry, record.idBytes))
    } catch {
      guard error.code == .damaged else { throw error }
      // It need not be the record that counts, and whose it is stands elsewhere, too.
      guard let (id, entry) = try view.document(at: locator), !entry.isDeleted else { return }
      addEntries(of: try view.winningRecord(of: entry, id))
    }
  }

  /// Adds the entries of a document by the record of its winning revision.
  private mutating func addEntries(of record: StoredDocument) {
    guard maker.includes(record) else { return }
    let entryCount = entries.count
    let layout = record.layout
    record.payload.withSpan { bytes in
      maker.addEntries(
        of: bytes.extracting(Int(layout.bodyStart)...), id: bytes.extracting(layout.idRange),
        source: UInt32(revisions.count), to: &entries)
    }
    if entries.count > entryCount { revisions.append(record.revision) }
  }

  /// Keeps of some entries those of documents that a later version still has as they were read; returns which these are.
  mutating func keepUnchanged(
    _ range: Range<Int>, in newest: StoreView
  ) throws(DatabaseError) -> Range<Int> {
    guard newest.state.changesAndPurges != changesAndPurges else { return range }
    let revisions = self.revisions
    return try entries.keep(range) { (place, key, value) throws(DatabaseError) in
      let id = SharedBytes(copying: key.extracting(last: Int(value)))
      let entry = try newest.newestEntry(id)
      return entry?.revision == revisions[Int(place.source)]
    }
  }

  /// Gives a tree some of the entries.
  func add(_ range: Range<Int>, to tree: inout LayeredTree) { tree.set(entries, range) }

  /// What some of the entries begin with that no other may begin with.
  func uniqueStarts(_ range: Range<Int>) -> [[UInt8]] {
    range.compactMap { index in
      let size = Int(entries.places[index].uniqueSize)
      return size == 0 ? nil : entries.withEntry(index) { key, _ in key.prefix(size).array }
    }
  }
}

extension StoreView {
  /// The document whose newest record should stand at a place, of which all are asked; nil if there is none.
  fileprivate func document(
    at locator: RecordLocator
  ) throws(DatabaseError) -> (id: SharedBytes, entry: DocumentEntry)? {
    var cursor = EntryCursor(self, .all, descending: false)
    while let (id, entry) = try cursor.next() {
      if entry.locator == locator { return (id, entry) }
    }
    return nil
  }
}
