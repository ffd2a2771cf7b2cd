import DivanLog

/// Entries read for an index, in key order, that are added while the writer lock is held once.
///
/// They are copied, so that the entries of all readers are contiguous. The sequence numbers of
/// their documents are looked up with the reader, and mostly not at all: they are scattered in
/// memory.
struct IndexBuildSlice: ~Copyable {
  /// The source of each entry is an index in `origins`.
  private var entries = EntryBatch(sharedSize: IndexEntries.prefixSize)
  private var origins: [Origin] = []
  /// The counter that shows whether anything has changed since the documents were read.
  private var changesAndPurges: UInt64 = 0

  /// The origin of an entry.
  struct Origin {
    /// The number of the reader that has read it.
    let reader: Int
    /// The number of the document in that reader's batch.
    let source: Int
  }
}

extension IndexBuildSlice {
  var count: Int { entries.count }

  /// Resets the slice for entries that are read from a version.
  mutating func begin(_ view: ReadView) {
    removeEntries()
    changesAndPurges = view.state.changesAndPurges
  }

  /// Removes all entries, to make room for the next ones.
  mutating func removeEntries() {
    entries.removeAll()
    origins.removeAll(keepingCapacity: true)
  }

  /// Adds an entry of a reader's batch.
  mutating func append(_ index: Int, of batch: borrowing EntryBatch, reader: Int) {
    let source = Int(batch.slots[index].source)
    entries.append(index, of: batch, source: UInt32(origins.count))
    origins.append(Origin(reader: reader, source: source))
  }

  /// Keeps the entries of documents that were not written since they were read.
  ///
  /// The sequence numbers decide, and not the revisions: a document may be purged, and inserted
  /// again from another store with the same revision and other properties.
  mutating func keepUnchanged(
    in newest: ReadView, _ sequence: (Origin) -> UInt64
  ) throws(DatabaseError) {
    guard newest.state.changesAndPurges != changesAndPurges else { return }
    let origins = self.origins
    try entries.keep { (item, key, value) throws(DatabaseError) in
      let id = SharedBytes(copying: key.extracting(last: Int(value)))
      let entry = try newest.newestEntry(id)
      return entry?.sequence == sequence(origins[Int(item.source)])
    }
  }

  /// Inserts the entries into a tree.
  func add(to tree: inout LayeredTree) { tree.set(entries, 0..<count) }

  /// Returns the beginnings of unique entries, which no other entry may have.
  func uniqueStarts() -> [[UInt8]] {
    entries.slots.indices.compactMap { index in
      let size = Int(entries.slots[index].uniqueSize)
      return size == 0 ? nil : entries.withEntry(index) { key, _ in key.prefix(size).array }
    }
  }
}
