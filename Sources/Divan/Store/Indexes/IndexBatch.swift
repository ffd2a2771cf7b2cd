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
  /// The ID of the last document.
  private var last: String?
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
  mutating func read(
    _ view: StoreView, _ progress: (Int) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    entries.removeAll()
    revisions.removeAll(keepingCapacity: true)
    changesAndPurges = view.state.changesAndPurges
    documentCount = 0
    var cursor = EntryCursor(view, last.map { .after($0) } ?? .all, descending: false)
    while !isFull {
      guard let (id, entry) = try cursor.next() else {
        isAtEnd = true
        break
      }
      let body = try view.winningRecord(of: entry, id).body
      let entryCount = entries.count
      withUTF8(of: id) { id in
        maker.addEntries(
          of: EncodedValue(body), id: id, source: UInt32(revisions.count), to: &entries)
      }
      if entries.count > entryCount { revisions.append(entry.revision) }
      documentCount += 1
      last = id
      if documentCount % IndexBatch.progressInterval == 0, !isFull { try progress(documentCount) }
    }
    entries.sort()
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
