import DivanLog

extension Version {
  /// Returns the sequence number of the document of an index entry.
  func sequence(ofIndexed item: TreeEntry) -> UInt64? {
    guard let id = IndexEntries.read(item)?.id,
      let value = id.withSpan({ (key) in try? documents.find(key) }),
      let entry = try? DocumentEntry.decode(value)
    else { return nil }
    return entry.sequence
  }
}
