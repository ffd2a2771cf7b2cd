// How many there are, about, for those who choose between ways to find documents.

extension StoreView {
  /// About how many entries of an index lie between some keys; as many as the newest version has.
  func estimatedCount(of keys: IndexKeyRange) throws(DatabaseError) -> Int {
    try repairing { (version) throws(PageError) in
      try version.state.catalog.estimatedCount(from: keys.lower, to: keys.upper)
    }
  }

  /// About how many entries an index has whose values begin with some bytes.
  func estimatedCount(
    of kept: KeptIndex, beginningWith bytes: [UInt8]
  ) throws(DatabaseError) -> Int {
    let key = IndexEntries.prefix(kept.number) + bytes
    return try repairing { (version) throws(PageError) in
      try version.state.catalog.estimatedCount(from: .inclusive(key), to: .end(ofPrefix: key))
    }
  }

  /// About how many documents have an ID in a range, deleted ones included.
  func estimatedCount(of range: IDRange) throws(DatabaseError) -> Int {
    try repairing { (version) throws(PageError) in
      try version.state.documents.estimatedCount(from: range.lower, to: range.upper)
    }
  }
}
