import DivanLog

/// Decides which records of its inputs a compaction copies.
///
/// It copies the records that the index refers to, and removals as long as an older file may
/// contain the records that they removed. A tombstone is its document's newest record, so it is
/// copied until the document is purged.
///
/// RECOVERY.md, rules 5 and 9.
struct CompactionFilter {
  private let view: ReadView
  private let inputs: [Segment]
  /// Files that are no longer used but still exist.
  private let awaitingDeletion: Set<FileName>
  private let isForced: Bool
  /// The keys that the inputs' removals removed and no older file has; nil until looked up.
  private var forgettable: Set<RemovalKey>?
  /// The number of records that are kept because the index refers to them.
  private var indexedCount = 0

  init(
    _ view: ReadView, inputs: [Segment], awaitingDeletion: Set<FileName>, isForced: Bool
  ) {
    self.view = view
    self.inputs = inputs
    self.awaitingDeletion = awaitingDeletion
    self.isForced = isForced
  }

  /// The maximum number of bytes of older files to read for each byte of removals to save.
  private static let readFactor: UInt64 = 64
}

extension CompactionFilter {
  /// Returns whether the compaction copies a record.
  mutating func keeps(_ item: RecordScan.Entry) throws(DatabaseError) -> Bool {
    let record = try view.decode(item)
    // Only a later version may drop the records that a later version wrote.
    if case .skipped = record { return true }
    if let removal = RemovalKey(removedBy: record) {
      return try !forgettableKeys().contains(removal)
    }
    guard try TreeSlot(of: record, in: view)?.locator(in: view) == item.locator else {
      return false
    }
    indexedCount += 1
    return true
  }

  /// Throws if the index refers to anything in the inputs that the compaction would drop.
  ///
  /// Only a forged checkpoint does so, with locators to bytes that look like a record inside
  /// another. Call it once all inputs are read. It costs a scan of the index.
  func requireAllKept() throws(DatabaseError) {
    var locatorCount = 0
    try forEachLocator { _ in locatorCount += 1 }
    guard locatorCount != indexedCount else { return }
    var locators: Set<RecordLocator> = []
    try forEachRecord(of: inputs) { locators.insert($0.locator) }
    try forEachLocator { (locator) throws(DatabaseError) in
      guard locators.contains(locator) else {
        throw view.damage(at: locator, "no record begins at the offset that the index names")
      }
    }
    throw DatabaseError(
      .damaged,
      "the index names \(locatorCount) records, and the compaction keeps \(indexedCount) of them",
      path: inputs[0].file.path)
  }

  /// Calls `body` with each locator of the index into the inputs.
  private func forEachLocator(
    _ body: (RecordLocator) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    let fileIDs = Set(inputs.map(\.fileID))
    func visit(_ locator: RecordLocator) throws(DatabaseError) {
      if fileIDs.contains(locator.fileID) { try body(locator) }
    }
    var documents = view.state.documents.scan()
    while let item = try view.step(&documents) { try visit(view.decodeEntry(item).locator) }
    // Records of documents that were purged may still be indexed after a page was rebuilt.
    try view.forEachRetained { (retained) throws(DatabaseError) in
      for record in retained.records { try visit(record.locator) }
      return true
    }
    for kind in CatalogKey.Kind.leadingToRecords {
      var scan = view.state.catalog.scan(
        from: .inclusive([kind.rawValue]), to: .exclusive([kind.rawValue + 1]))
      while let item = try view.step(&scan) { try visit(view.decodeLocator(item)) }
    }
  }

  private mutating func forgettableKeys() throws(DatabaseError) -> Set<RemovalKey> {
    if let forgettable { return forgettable }
    let found = try findForgettable()
    forgettable = found
    return found
  }

  private func findForgettable() throws(DatabaseError) -> Set<RemovalKey> {
    let first = inputs[0].header.numbers.lowerBound
    for case .segment(let numbers) in awaitingDeletion where numbers.lowerBound < first {
      return []
    }
    var keys: Set<RemovalKey> = []
    var size: UInt64 = 0
    try forEachRecord(of: inputs) { item in
      // Most records are documents, which remove nothing.
      guard item.record.kind != .document, let record = try? LogRecord(item.record),
        let key = RemovalKey(removedBy: record)
      else { return }
      keys.insert(key)
      size += UInt64(item.locator.size)
    }
    let older = view.state.segments.segments.filter { $0.header.numbers.upperBound < first }
    let cost = older.reduce(0) { $0 + $1.end.offset }
    guard isForced || cost <= size * CompactionFilter.readFactor else { return [] }
    do throws(DatabaseError) {
      try forEachRecord(of: older) { item in
        guard let record = try? LogRecord(item.record) else { return }
        for key in RemovalKey.keys(of: record) { keys.remove(key) }
      }
    } catch  where error.code == .damaged || error.code == .inputOutput {
      // What cannot be read may be what the removals removed, so they are kept. The compaction
      // does not need that file otherwise.
      return []
    }
    return keys
  }

  private func forEachRecord(
    of segments: [Segment], _ body: (RecordScan.Entry) -> Void
  ) throws(DatabaseError) {
    for segment in segments {
      try translating { () throws(LogError) in
        var scan = RecordScan(segment)
        while let entry = try scan.nextRecord() { body(entry) }
      }
    }
  }
}
