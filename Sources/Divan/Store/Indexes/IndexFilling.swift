import DivanLog

// Giving an index the entries of a store that has documents already, and taking them away again.

extension Store {
  /// How many entries are added, and how many removed, before somebody else may write.
  ///
  /// Adding as many takes some tenths of a millisecond by reckoning; where others write meanwhile, or the index is unique, every
  /// document must be looked for, which is up to ten times as much.
  private var indexSliceSize: Int { min(2048, configuration.indexBatchSize) }

  /// Gives an index the entries of all documents.
  ///
  /// They are read while others write, as many as ``IndexReaders`` have room for, and then added in the order of their keys.
  /// What others change meanwhile has all its entries from them, so that of documents that are not any more what was read
  /// nothing is added.
  func fill(_ kept: KeptIndex, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    let readers = try IndexReaders(kept, self, progress)
    var slice = IndexSlice()
    repeat {
      try readers.read(&slice)
      while readers.take(indexSliceSize, into: &slice) { try add(&slice, of: readers, to: kept) }
      try readers.tellAdded()
    } while !readers.isAtEnd
  }

  /// Adds some entries, of those documents that are still as they were read.
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

  /// Takes away the entries of an index that is gone.
  func removeIndexEntries(of number: UInt64) throws(DatabaseError) {
    let prefix = IndexEntries.prefix(number)
    let limit = indexSliceSize
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
