import DivanLog

// Filling an index with the entries of existing documents, and removing them again.

extension Store {
  /// The number of entries added or removed before other writers get the writer lock.
  ///
  /// Adding that many takes some tenths of a millisecond by estimate. With concurrent writes, or
  /// for a unique index, every document must be looked up, which takes up to ten times as long.
  private var indexSliceSize: Int { min(2048, configuration.indexBatchSize) }

  /// Adds the entries of all documents to an index.
  ///
  /// Documents are read without the writer lock, as many as ``IndexReaders`` have room for, and
  /// then added in key order. Concurrent writers add the entries of the documents that they change.
  /// So nothing is added for a document that has changed since it was read.
  func fill(_ kept: KeptIndex, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    let readers = try IndexReaders(kept, self, progress)
    var slice = IndexSlice()
    repeat {
      try readers.read(&slice)
      while readers.take(indexSliceSize, into: &slice) { try add(&slice, of: readers, to: kept) }
      try readers.tellAdded()
    } while !readers.isAtEnd
  }

  /// Adds some entries, for those documents that are unchanged since they were read.
  private func add(
    _ slice: inout IndexSlice, of readers: IndexReaders, to kept: KeptIndex
  ) throws(DatabaseError) {
    try withTurn { (_) throws(DatabaseError) in
      try newest.requireBeingMade(kept, path: path)
      try slice.keepUnchanged(
        in: StoreView(state: newest, store: self), readers.revision)
      slice.add(to: &newest.catalog)
      if kept.index.isUnique {
        let view = StoreView(state: newest, store: self)
        for start in slice.uniqueStarts() { try view.requireUnique(start, of: kept.index.name) }
      }
      commits.replaceNewest(with: newest)
    }
  }

  /// Removes the entries of an index that is gone.
  func removeIndexEntries(of number: UInt64) throws(DatabaseError) {
    let prefix = IndexEntries.prefix(number)
    let limit = indexSliceSize
    var start = KeyBound.inclusive(prefix)
    while true {
      let last = try withTurn { (_) throws(DatabaseError) -> [UInt8]? in
        let view = StoreView(state: newest, store: self)
        // Do not start from the beginning: pages still contain the removed keys.
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
