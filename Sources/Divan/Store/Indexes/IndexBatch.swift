import DivanLog

/// The entries that an index should have of the documents that one reader has read, from a version of the store that may be
/// old by the time they are added.
///
/// It takes no more memory than is allowed, and beyond that what the last document has.
struct IndexBatch: ~Copyable {
  private var maker: IndexKeyMaker
  /// The source of each is an index in `revisions`.
  private var entries = EntryBatch(sharedSize: IndexEntries.prefixSize)
  /// Which revisions were read of the documents that have entries.
  private var revisions: [RevisionID] = []
  /// How many documents were read.
  private(set) var documentCount = 0
  private let limits: Limits
  /// What is left of the share of the order of changes that is being read; nil if nothing is.
  private(set) var share: IndexShare?
  /// The sequence number of the document that was read last, or was to be read.
  private(set) var last: UInt64 = 0
  /// How many entries were handed on.
  private var takenCount = 0
  /// How many entries were brought in to be handed on.
  private var touchedCount = 0

  /// How much is read before it is added, and what is told meanwhile.
  struct Limits {
    /// So many documents are read at once, at most.
    var documentCount = Int.max
    /// None is read after so many bytes of keys, places and revisions together.
    var size = Int.max
    /// After how many documents it is told that they were read.
    var progressInterval = 4096
  }

  /// Begins with nothing.
  init(_ kept: KeptIndex, _ limits: Limits) {
    maker = IndexKeyMaker(kept)
    self.limits = limits
  }
}

extension IndexBatch {
  /// How many bytes the entries and what is known of their documents take.
  var size: Int { entries.size + revisions.count * MemoryLayout<RevisionID>.stride }

  private var isFull: Bool { documentCount >= limits.documentCount || size >= limits.size }

  /// Reads what is left of its share and others that it takes, while there is room, in place of what was read before, and
  /// tells now and then how many more documents were read.
  ///
  /// They come in the order of their changes, in which most of their records lie, too. A document that was changed after
  /// the first version that was read has got its entries from whoever changed it, and is passed over.
  mutating func read(
    _ view: StoreView, expectedCount: Int, takeShare: () -> IndexShare?,
    _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    entries.removeAll()
    revisions.removeAll(keepingCapacity: true)
    documentCount = 0
    takenCount = 0
    touchedCount = 0
    reserveRoom(documentCount: expectedCount)
    repeat {
      guard let taken = share.take() ?? takeShare() else { break }
      share = try read(taken, of: view, progress)
    } while !isFull
    entries.sort()
  }

  /// Reads documents of a share while there is room; returns what is left of it, nil if it is at its end.
  private mutating func read(
    _ share: IndexShare, of view: StoreView, _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) -> IndexShare? {
    last = share.start
    var scan = share.scan(view)
    // One at least, or it would go on for ever.
    repeat {
      guard let item = try view.step(&scan) else { return nil }
      try readDocument(of: view, item)
      documentCount += 1
      if documentCount % limits.progressInterval == 0, !isFull {
        try progress(limits.progressInterval)
      }
    } while !isFull
    return IndexShare(start: last, end: share.end)
  }

  /// Makes room for what is kept of each document and one entry, as far as that is allowed, so that it is not copied while it
  /// grows.
  private mutating func reserveRoom(documentCount: Int) {
    let documentSize = MemoryLayout<RevisionID>.stride + EntryBatch.guessedEntrySize
    let count = min(documentCount, limits.documentCount, limits.size / documentSize)
    entries.reserveRoom(count)
    revisions.reserveCapacity(count)
  }

  /// Makes the entries of the document to which an entry of the order of changes leads.
  private mutating func readDocument(
    of view: StoreView, _ item: IndexEntry
  ) throws(DatabaseError) {
    last = IndexShare.sequence(item) ?? last
    let (place, record) = try view.changedDocument(last, at: view.decodeLocator(item))
    if !place.isDeleted, let record { addEntries(of: record) }
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

  /// Whether there is an entry that was not handed on.
  var hasEntry: Bool { takenCount < entries.count }

  /// Brings in so many entries that will be handed on.
  mutating func touchEntries(_ count: Int) {
    let end = max(touchedCount, min(takenCount + count, entries.count))
    entries.touch(touchedCount..<end)
    touchedCount = end
  }

  /// How the key of the next entry stands to that of another batch's: less than zero if it comes before it.
  func order(against other: borrowing IndexBatch) -> Int {
    entries.order(of: takenCount, against: other.takenCount, of: other.entries)
  }

  /// Hands on the next entry, in the order of keys, as the reader of a number.
  mutating func takeEntry(into slice: inout IndexSlice, reader: Int) {
    slice.append(takenCount, of: entries, reader: reader)
    takenCount += 1
  }

  /// Passes the next entry.
  mutating func dropEntry() { takenCount += 1 }

  /// Which revision was read of the document with a number.
  func revision(_ source: Int) -> RevisionID { revisions[source] }
}
