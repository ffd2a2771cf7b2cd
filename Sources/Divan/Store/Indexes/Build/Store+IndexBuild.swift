import DivanLog

// Filling an index with the entries of existing documents, and removing them again.

extension Store {
  /// The number of entries added or removed before other writers get the writer lock.
  ///
  /// Adding that many takes some tenths of a millisecond by estimate. With concurrent writes, or
  /// for a unique index, every document must be looked up, which takes up to ten times as long.
  private var indexBuildSliceSize: Int { min(2048, configuration.indexBuildBatchSize) }

  /// Adds the entries of all documents to an index.
  ///
  /// Documents are read without the writer lock, as many as ``IndexBuildWorkers`` have room for,
  /// and then added in key order. Concurrent writers add the entries of the documents that they
  /// change. So nothing is added for a document that has changed since it was read.
  func fill(_ definition: IndexDefinition, _ progress: ((Double) -> Bool)?) throws(DatabaseError) {
    if let batch = FullTextBatch(definition) {
      try FullTextBuild(definition, batch, self).run(progress)
      return
    }
    let readers = try IndexBuildWorkers(definition, self, progress)
    var slice = IndexBuildSlice()
    repeat {
      try readers.read(&slice)
      while readers.take(indexBuildSliceSize, into: &slice) {
        try add(&slice, of: readers, to: definition)
      }
      try readers.reportAdded()
    } while !readers.isAtEnd
  }

  /// Adds some entries, for those documents that are unchanged since they were read.
  private func add(
    _ slice: inout IndexBuildSlice, of readers: IndexBuildWorkers, to definition: IndexDefinition
  ) throws(DatabaseError) {
    try withWriter { (writer) throws(DatabaseError) in
      try writer.newest.requireBuilding(definition, path: path)
      try slice.keepUnchanged(in: writer.view(of: self), readers.revision)
      writer.changeNewest { slice.add(to: &$0.catalog) }
      if definition.index.isUnique {
        let view = writer.view(of: self)
        for start in slice.uniqueStarts() {
          try view.requireUnique(start, of: definition.index.name)
        }
      }
    }
  }

  /// Removes the entries of an index that is gone.
  func removeIndexEntries(of number: UInt64) throws(DatabaseError) {
    try removeTexts(of: number)
    let prefix = IndexEntries.prefix(number)
    let limit = indexBuildSliceSize
    var start = KeyBound.inclusive(prefix)
    while true {
      let last = try withWriter { (writer) throws(DatabaseError) -> [UInt8]? in
        let view = writer.view(of: self)
        // Do not start from the beginning: pages still contain the removed keys.
        var scan = view.state.catalog.scan(from: start, to: .end(ofPrefix: prefix))
        var obsolete: [[UInt8]] = []
        while obsolete.count < limit, let item = try view.step(&scan) {
          obsolete.append(item.key.array)
        }
        writer.changeNewest { version in
          for key in obsolete { version.catalog.remove(key.span) }
        }
        return obsolete.count < limit ? nil : obsolete.last
      }
      guard let last else { return }
      start = .exclusive(last)
    }
  }

  private func removeTexts(of number: UInt64) throws(DatabaseError) {
    let limit = indexBuildSliceSize
    var last: [UInt8]?
    repeat {
      let start = last
      last = try withWriter { (writer) throws(DatabaseError) in
        let (texts, end) = try writer.view(of: self).repairing { (version) throws(PageError) in
          var texts = version.state.texts
          let end = try texts.removeSome(
            withPrefix: number.bigEndianBytes, after: start, limit: limit)
          return (texts, end)
        }
        writer.changeNewest { $0.texts = texts }
        return end
      }
    } while last != nil
  }
}
