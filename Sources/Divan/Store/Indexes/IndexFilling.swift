import DivanLog

// Giving an index the entries of a store that has documents already, and taking them away again.

extension Store {
  /// How many bytes of documents are read at once, about.
  private static let indexBatchBytes = 8 << 20

  /// Gives an index the entries of all documents.
  ///
  /// They are read while others write. What these change meanwhile the index follows already, so that of documents that
  /// are not any more what was read nothing is added.
  func fill(_ kept: KeptIndex, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    var last: SharedBytes?
    var done = 0
    let limit = configuration.indexBatchSize
    while true {
      let batch = try IndexBatch(
        of: kept, try view(), after: last, limit: limit, Store.indexBatchBytes)
      try withTurn { (_) throws(DatabaseError) in
        try newest.requireBeingMade(kept, path: path)
        let view = StoreView(state: newest, store: self)
        for entry in try batch.entries(in: view) {
          newest.catalog.set(entry.key.span, entry.value.span)
        }
        if !batch.unique.isEmpty {
          let view = StoreView(state: newest, store: self)
          for start in batch.unique { try view.requireUnique(start, of: kept.index.name) }
        }
        commits.replaceNewest(with: newest)
      }
      last = batch.last
      done += batch.count
      let total = max(1, Int(clamping: commits.visible.state.documentCount))
      guard progress?(min(1, Double(done) / Double(total))) ?? true else {
        throw DatabaseError(.cancelled, "making the index was cancelled", path: path)
      }
      if batch.isAtEnd { return }
    }
  }

  /// Takes away the entries of an index that is gone.
  func removeIndexEntries(of number: UInt64) throws(DatabaseError) {
    let prefix = IndexEntries.prefix(number)
    let limit = configuration.indexBatchSize
    var start = KeyBound.inclusive(prefix)
    while true {
      let last = try withTurn { (_) throws(DatabaseError) -> [UInt8]? in
        let view = StoreView(state: newest, store: self)
        // Not from the beginning: pages still have what was removed.
        var scan = newest.catalog.scan(from: start, to: .end(ofPrefix: prefix))
        var doomed: [[UInt8]] = []
        while doomed.count < limit, let item = try view.step(&scan) {
          doomed.append(item.key.array)
        }
        for key in doomed { newest.catalog.remove(key.span) }
        commits.replaceNewest(with: newest)
        return doomed.count < limit ? nil : doomed.last
      }
      guard let last else { return }
      start = .exclusive(last)
    }
  }
}

/// The entries that an index should have of some documents, read from a version of the store that may be old by the time
/// they are added.
private struct IndexBatch {
  private let view: StoreView
  /// The documents, in the order of their IDs, and which revision of each was read.
  private var documents: [(id: SharedBytes, revision: RevisionID)] = []
  /// The keys of the entries, and the index of the document in `documents` that each is of.
  private var keys: [(key: [UInt8], document: Int)] = []
  /// What begins keys of which there may be no two.
  private(set) var unique: [[UInt8]] = []
  /// The ID of the last document.
  private(set) var last: SharedBytes?
  /// Whether no documents come after these.
  private(set) var isAtEnd = false

  var count: Int { documents.count }

  /// Reads documents of a version.
  init(
    of kept: KeptIndex, _ view: StoreView, after previous: SharedBytes?, limit: Int,
    _ sizeLimit: Int
  ) throws(DatabaseError) {
    self.view = view
    last = previous
    var cursor = EntryCursor(view, previous.map { .after($0) } ?? .all, descending: false)
    var size = 0
    while documents.count < limit, size < sizeLimit {
      guard let (id, entry) = try cursor.next() else {
        isAtEnd = true
        break
      }
      let body = try view.winningRecord(of: entry, id).body
      let found = IndexEntries.entries([kept], of: EncodedValue(body), id: id)
      for key in found.all { keys.append((key, documents.count)) }
      unique += found.unique.keys
      documents.append((id, entry.revision))
      last = id
      size += body.count
    }
    // In their order, so that those beside each other are added one after the other.
    keys.sort { $0.key.lexicographicallyPrecedes($1.key) }
    unique.sort { $0.lexicographicallyPrecedes($1) }
  }

  /// The entries of those documents that a later version still has as they were read.
  func entries(
    in newest: StoreView
  ) throws(DatabaseError) -> [(key: [UInt8], value: [UInt8])] {
    let isUnchanged = newest.state.changesAndPurges == view.state.changesAndPurges
    var isSame = [Bool](repeating: isUnchanged, count: isUnchanged ? 0 : documents.count)
    if !isUnchanged {
      for (index, document) in documents.enumerated() {
        let entry = try newest.newestEntry(document.id)
        isSame[index] = entry?.revision == document.revision
      }
    }
    var entries: [(key: [UInt8], value: [UInt8])] = []
    for (key, document) in keys where isUnchanged || isSame[document] {
      entries.append((key, [UInt8(documents[document].id.count)]))
    }
    return entries
  }
}
