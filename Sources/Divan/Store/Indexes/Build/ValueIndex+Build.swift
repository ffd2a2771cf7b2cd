import DivanLog

extension ValueIndex {
  /// Adds the entries of all documents to the index.
  ///
  /// Documents are read without the writer lock, as many as ``IndexBuildWorkers`` have room for,
  /// and then added in key order. Concurrent writers add the entries of the documents that they
  /// change. So nothing is added for a document that has changed since it was read. A large index
  /// is written to checkpoints meanwhile.
  func fill(_ store: Store, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    let readers = try IndexBuildWorkers(definition, store, progress)
    var slice = IndexBuildSlice()
    repeat {
      try readers.read(&slice)
      while readers.take(store.indexBuildSliceSize, into: &slice) {
        try add(&slice, of: readers, to: store)
      }
      try readers.reportAdded()
      store.writeCheckpointIfLarge()
    } while !readers.isAtEnd
  }

  /// Adds some entries, for those documents that are unchanged since they were read.
  private func add(
    _ slice: inout IndexBuildSlice, of readers: IndexBuildWorkers, to store: Store
  ) throws(DatabaseError) {
    try store.withWriter { (writer) throws(DatabaseError) in
      try writer.newest.requireBuilding(definition, path: store.path)
      try slice.keepUnchanged(in: writer.view(of: store), readers.sequence)
      writer.changeNewest { slice.add(to: &$0.catalog) }
      if definition.index.isUnique {
        let view = writer.view(of: store)
        for start in slice.uniqueStarts() {
          try view.requireUnique(start, of: definition.index.name)
        }
      }
    }
  }
}
