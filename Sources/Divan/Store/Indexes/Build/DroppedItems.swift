import DivanLog

/// The documents of a batch that writers have changed since they were read, and added themselves.
struct DroppedItems {
  /// The indexes of the documents in the batch.
  var items: Set<Int> = []
  /// Whether nothing has been written since the documents were read.
  private(set) var isUndisturbed = true
  /// The last change that is known, and the number of purges.
  private var lastSequence: UInt64
  private var purgeCount: UInt64
  /// The index of each document of the batch; nil until one is looked up.
  private var indexes: [[UInt8]: Int]?

  /// Begins with the version that the documents are read from.
  init(_ view: ReadView) {
    (lastSequence, purgeCount) = (view.state.lastSequence, view.state.purgeCount)
  }

  mutating func update(_ batch: FullTextBatch, _ newest: ReadView) throws(DatabaseError) {
    let (sequence, purges) = (newest.state.lastSequence, newest.state.purgeCount)
    guard (sequence, purges) != (lastSequence, purgeCount) else { return }
    isUndisturbed = false
    if purges != purgeCount || sequence - lastSequence > UInt64(batch.items.count) {
      try updateAll(batch, newest)
    } else {
      try update(batch, newest, since: lastSequence)
    }
    (lastSequence, purgeCount) = (sequence, purges)
  }

  /// Looks up each document of the batch.
  private mutating func updateAll(
    _ batch: FullTextBatch, _ newest: ReadView
  ) throws(DatabaseError) {
    for (index, item) in batch.items.enumerated() where !items.contains(index) {
      // Not the revision: a document may be purged and written again with the same one.
      if try newest.newestEntry(item.id)?.sequence != item.sequence { items.insert(index) }
    }
  }

  /// Looks for the documents of the batch among those that have changed after a sequence number.
  private mutating func update(
    _ batch: FullTextBatch, _ newest: ReadView, since start: UInt64
  ) throws(DatabaseError) {
    let indexes =
      self.indexes
      ?? Dictionary(
        batch.items.enumerated().map { ($1.id.array, $0) }, uniquingKeysWith: { first, _ in first })
    self.indexes = indexes
    var scan = newest.state.sequences.scan(from: .exclusive(start.bigEndianBytes))
    while let item = try newest.step(&scan) {
      let id: SharedBytes
      do throws(DatabaseError) {
        id = try newest.stored(at: newest.decodeLocator(item)).idBytes
      } catch {
        // It is unknown which document the record is of.
        guard error.code == .damaged else { throw error }
        try updateAll(batch, newest)
        return
      }
      if let index = indexes[id.array] { items.insert(index) }
    }
  }
}
