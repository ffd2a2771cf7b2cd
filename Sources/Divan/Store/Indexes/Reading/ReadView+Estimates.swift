// Estimated numbers of entries and documents, for choosing an access path.

extension ReadView {
  /// Estimates the number of index entries in a key range, in the newest version.
  func estimatedCount(of keys: IndexKeyRange) throws(DatabaseError) -> Int {
    try repairing { (version) throws(PageError) in
      try version.state.catalog.estimatedCount(from: keys.lower, to: keys.upper)
    }
  }

  /// Estimates the number of entries of an index whose values begin with some bytes.
  func estimatedCount(
    of definition: IndexDefinition, beginningWith bytes: [UInt8]
  ) throws(DatabaseError) -> Int {
    let key = IndexEntries.prefix(definition.number) + bytes
    return try repairing { (version) throws(PageError) in
      try version.state.catalog.estimatedCount(from: .inclusive(key), to: .end(ofPrefix: key))
    }
  }

  /// Estimates the number of documents with an ID in a range, including deleted ones.
  func estimatedCount(of range: IDRange) throws(DatabaseError) -> Int {
    try repairing { (version) throws(PageError) in
      try version.state.documents.estimatedCount(from: range.lower, to: range.upper)
    }
  }
}
