import DivanLog

/// Some of the entries that were read for an index, as many as are added before somebody else may write, in the order of
/// their keys.
///
/// They are copied, so that they stand side by side, whoever has read them. What was read of a document is looked up with
/// the reader, and mostly not at all: it lies scattered.
struct IndexSlice: ~Copyable {
  /// The source of each is an index in `origins`.
  private var entries = EntryBatch(sharedSize: IndexEntries.prefixSize)
  private var origins: [Origin] = []
  /// What tells whether anything has changed since the documents were read.
  private var changesAndPurges: UInt64 = 0

  /// What an entry was made of.
  struct Origin {
    /// Which of the readers has read it.
    let reader: Int
    /// The number of the document there.
    let source: Int
  }
}

extension IndexSlice {
  var count: Int { entries.count }

  /// Begins anew, for what is read from a version.
  mutating func begin(_ view: StoreView) {
    removeEntries()
    changesAndPurges = view.state.changesAndPurges
  }

  /// Makes room for the next entries of those that were read.
  mutating func removeEntries() {
    entries.removeAll()
    origins.removeAll(keepingCapacity: true)
  }

  /// Adds an entry of a reader's batch.
  mutating func append(_ index: Int, of batch: borrowing EntryBatch, reader: Int) {
    let source = Int(batch.places[index].source)
    entries.append(index, of: batch, source: UInt32(origins.count))
    origins.append(Origin(reader: reader, source: source))
  }

  /// Keeps the entries of documents that a later version still has as they were read, in the revision that is told.
  mutating func keepUnchanged(
    in newest: StoreView, _ revision: (Origin) -> RevisionID
  ) throws(DatabaseError) {
    guard newest.state.changesAndPurges != changesAndPurges else { return }
    let origins = self.origins
    try entries.keep { (place, key, value) throws(DatabaseError) in
      let id = SharedBytes(copying: key.extracting(last: Int(value)))
      let entry = try newest.newestEntry(id)
      return entry?.revision == revision(origins[Int(place.source)])
    }
  }

  /// Gives a tree the entries.
  func add(to tree: inout LayeredTree) { tree.set(entries, 0..<count) }

  /// What entries begin with that no other may begin with.
  func uniqueStarts() -> [[UInt8]] {
    entries.places.indices.compactMap { index in
      let size = Int(entries.places[index].uniqueSize)
      return size == 0 ? nil : entries.withEntry(index) { key, _ in key.prefix(size).array }
    }
  }
}
