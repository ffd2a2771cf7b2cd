import DivanLog

/// The index entries of documents that one reader has read, sorted by key.
///
/// They come from a version of the store that may be outdated by the time they are added. The batch
/// takes no more memory than allowed, except for the entries of the last document.
struct IndexBuildBatch: ~Copyable {
  private var maker: IndexKeyMaker
  /// The source of each entry is an index in `sequences`.
  private var entries = EntryBatch(sharedSize: IndexEntries.prefixSize)
  /// The sequence numbers of the records that were read, one for each document with entries.
  private var sequences: [UInt64] = []
  /// The number of documents that were read.
  private(set) var documentCount = 0
  private let limits: Limits
  /// The rest of the partition that is being read; nil if there is none.
  private(set) var partition: SequencePartition?
  /// The sequence number of the document that was read last, or whose reading failed.
  private(set) var last: UInt64 = 0
  /// The number of entries that were taken.
  private var takenCount = 0
  /// The number of entries that were prefetched.
  private var prefetchedCount = 0

  /// Limits on a batch, and the interval of progress reports.
  struct Limits {
    /// The maximum number of documents in a batch.
    var documentCount = Int.max
    /// No more documents are read after this many bytes of entries and sequence numbers together.
    var size = Int.max
    /// The number of documents between two progress reports.
    var progressInterval = 4096
  }

  /// Creates an empty batch.
  init(_ definition: IndexDefinition, _ limits: Limits) {
    maker = IndexKeyMaker(definition)
    self.limits = limits
  }
}

extension IndexBuildBatch {
  /// The size of the entries and their documents' sequence numbers, in bytes.
  var size: Int { entries.size + sequences.count * MemoryLayout<UInt64>.stride }

  private var isFull: Bool { documentCount >= limits.documentCount || size >= limits.size }

  /// Replaces the batch's contents with more of the order of changes, while there is room.
  ///
  /// It reads the rest of its partition, and then further ones. Reports now and then how many more
  /// documents were read. They are read in the order of their changes, which is mostly the order of
  /// their records in the log. A document that was changed after the first version that was read is
  /// skipped: its writer has added its entries.
  mutating func read(
    _ view: ReadView, expectedCount: Int, takePartition: () -> SequencePartition?,
    _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    entries.removeAll()
    sequences.removeAll(keepingCapacity: true)
    documentCount = 0
    takenCount = 0
    prefetchedCount = 0
    reserveRoom(documentCount: expectedCount)
    repeat {
      guard let taken = partition.take() ?? takePartition() else { break }
      partition = try read(taken, of: view, progress)
    } while !isFull
    entries.sort()
  }

  /// Reads documents of a partition while there is room; returns the rest of it, nil at its end.
  private mutating func read(
    _ partition: SequencePartition, of view: ReadView,
    _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) -> SequencePartition? {
    last = partition.start
    var scan = partition.scan(view)
    // Read at least one document, or the loop would not advance.
    repeat {
      guard let item = try view.step(&scan) else { return nil }
      try readDocument(of: view, item)
      documentCount += 1
      if documentCount % limits.progressInterval == 0, !isFull {
        try progress(limits.progressInterval)
      }
    } while !isFull
    return SequencePartition(start: last, end: partition.end)
  }

  /// Reserves memory for one entry per document, within the limits, to avoid copies during growth.
  private mutating func reserveRoom(documentCount: Int) {
    let documentSize = MemoryLayout<UInt64>.stride + EntryBatch.guessedEntrySize
    let count = min(documentCount, limits.documentCount, limits.size / documentSize)
    entries.reserveRoom(count)
    sequences.reserveCapacity(count)
  }

  /// Adds the entries of the document that an entry in the order of changes leads to.
  private mutating func readDocument(
    of view: ReadView, _ item: TreeEntry
  ) throws(DatabaseError) {
    last = SequencePartition.sequence(item) ?? last
    let (location, record) = try view.changedDocument(last, at: view.decodeLocator(item))
    if !location.isDeleted, let record { addEntries(of: record) }
  }

  /// Adds the entries of a document from the record of its winning revision.
  private mutating func addEntries(of record: StoredDocument) {
    guard maker.includes(EncodedValue(record.body)) else { return }
    let entryCount = entries.count
    let layout = record.layout
    record.payload.withSpan { bytes in
      maker.addEntries(
        of: bytes.extracting(Int(layout.propertiesStart)...), id: bytes.extracting(layout.idRange),
        source: UInt32(sequences.count), to: &entries)
    }
    if entries.count > entryCount { sequences.append(last) }
  }

  /// Whether there is an entry that was not taken.
  var hasEntry: Bool { takenCount < entries.count }

  /// Prefetches the next entries to be taken into the CPU cache.
  mutating func prefetchEntries(_ count: Int) {
    let end = max(prefetchedCount, min(takenCount + count, entries.count))
    entries.prefetch(prefetchedCount..<end)
    prefetchedCount = end
  }

  /// Compares the next entry's key with another batch's; negative if it comes first.
  func order(against other: borrowing IndexBuildBatch) -> Int {
    entries.order(of: takenCount, against: other.takenCount, of: other.entries)
  }

  /// Moves the next entry, in key order, to a slice, with the number of its reader.
  mutating func takeEntry(into slice: inout IndexBuildSlice, reader: Int) {
    slice.append(takenCount, of: entries, reader: reader)
    takenCount += 1
  }

  /// Skips the next entry.
  mutating func dropEntry() { takenCount += 1 }

  /// Returns the sequence number that the document with a number had when it was read.
  func sequence(_ source: Int) -> UInt64 { sequences[source] }
}
