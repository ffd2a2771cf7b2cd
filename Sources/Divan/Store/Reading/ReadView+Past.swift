import DivanLog

// Reading an earlier version from a newer one. The newest record that a document had in the earlier
// version is either still its newest one, or is retained.

extension ReadView {
  /// Returns a document's entry in the version being read; nil if the document did not exist.
  ///
  /// Costs a search and one record read if the document was changed since.
  func entry(
    before newest: DocumentEntry, _ id: SharedBytes
  ) throws(DatabaseError) -> DocumentEntry? {
    guard let past, newest.sequence > past.sequence else { return newest }
    guard newest.traits.contains(.mayRetainOlder) else { return nil }
    var scan = state.retained.scan(
      from: .inclusive(RetainedKey.bytes(id, 0)),
      to: .inclusive(RetainedKey.bytes(id, past.sequence)),
      descending: true)
    while let item = try step(&scan) {
      guard let sequence = RetainedKey.sequence(item.key, idSize: id.count) else { continue }
      let locator = try decodeLocator(item)
      let record = try record(at: locator)
      guard record.sequence == sequence, record.idBytes == id else {
        throw damage(at: locator, StoredDocument.wrongRecord)
      }
      return try entry(of: record, at: locator)
    }
    return nil
  }

  /// Returns the entry of a document with this newest record, in the version being read.
  func entry(
    of record: DocumentRecord, at locator: RecordLocator
  ) throws(DatabaseError) -> DocumentEntry {
    var entry = DocumentEntry(record, at: locator)
    guard past != nil, let winner = entry.winningSequence,
      try !retains(winner, of: record.idBytes)
    else { return entry }
    // The leaf that won then was purged since, so the best of the others wins.
    let tree = try tree(of: record)
    for leaf in tree.leaves {
      let node = tree.nodes[leaf]
      let isOwn = node.sequence == record.sequence
      let isRetained = isOwn ? true : try retains(node.sequence, of: record.idBytes)
      guard isRetained else { continue }
      entry.revision = node.revision
      entry.isDeleted = node.isDeleted
      entry.winningSequence = isOwn ? nil : node.sequence
      break
    }
    return entry
  }

  /// Returns the number of documents that are not deleted in the version being read.
  func countDocuments() throws(DatabaseError) -> Int {
    var entries = EntryCursor(self, .all, descending: false)
    var count = 0
    while try entries.next() != nil { count += 1 }
    return count
  }
}

/// The changes of a past version to documents that were changed again since.
///
/// The sequence tree no longer has them. They are gathered before the first one is returned. That
/// costs a scan of all retained records, and memory for each document that has any.
struct ChangesBefore {
  private let since: UInt64
  /// The last sequence number in the version.
  private let end: UInt64
  /// The newest last.
  private var changes: [(sequence: UInt64, locator: RecordLocator)]?
  /// The next change to a document that was not changed again.
  private var front: TreeEntry?
  private var isFetched = false

  init(since: UInt64, through end: UInt64) {
    self.since = since
    self.end = end
  }

  /// Returns the next change: one of these, or one that the sequence tree still has.
  mutating func next(
    of view: ReadView, besides scan: inout LayeredScan
  ) throws(DatabaseError) -> RecordLocator? {
    if changes == nil { changes = try gather(view) }
    if !isFetched {
      front = try view.step(&scan)
      isFetched = true
    }
    if let last = changes?.last,
      front.map({ last.sequence < UInt64(bigEndian: $0.key.load(UInt64.self, at: 0)) }) ?? true
    {
      changes?.removeLast()
      return last.locator
    }
    guard let item = front else { return nil }
    isFetched = false
    return try view.decodeLocator(item)
  }

  private func gather(
    _ view: ReadView
  ) throws(DatabaseError) -> [(sequence: UInt64, locator: RecordLocator)] {
    var newest: [[UInt8]: (sequence: UInt64, locator: RecordLocator)] = [:]
    var scan = view.state.retained.scan()
    while let item = try view.step(&scan) {
      let (id, sequence) = RetainedKey.parts(item.key)
      guard sequence <= end, sequence > newest[id.array]?.sequence ?? 0 else { continue }
      newest[id.array] = (sequence, try view.decodeLocator(item))
    }
    var changes: [(sequence: UInt64, locator: RecordLocator)] = []
    for (id, change) in newest where change.sequence > since {
      guard let entry = try view.newestEntry(SharedBytes(copying: id)),
        entry.sequence > end
      else { continue }
      changes.append(change)
    }
    return changes.sorted { $0.sequence > $1.sequence }
  }
}

extension RetainedKey {
  /// Returns the document's ID and the sequence number in a key of ``Version/retained``.
  static func parts(_ key: SharedBytes) -> (id: SharedBytes, sequence: UInt64) {
    let size = max(0, key.count - suffixSize)
    guard key.count >= suffixSize else { return (.empty, 0) }
    return (key.prefix(size), UInt64(bigEndian: key.load(UInt64.self, at: size + 1)))
  }
}
