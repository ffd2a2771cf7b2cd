import DivanLog

extension ReadView {
  /// Calls `body` with the retained revisions of each document that has any; false stops.
  func forEachRetained(
    _ body: (RetainedRevisions) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var scan = state.retained.scan()
    while let item = try step(&scan) {
      guard let retained = try RetainedRevisions(firstKey: item.key, in: self) else { continue }
      guard try body(retained) else { return }
    }
  }

  /// Returns the bytes that each of some versions pins, given the sequence numbers they end with.
  ///
  /// They count superseded revisions, and attachments that only those have.
  func pinnedSizes(_ sequences: [UInt64]) throws(DatabaseError) -> [UInt64] {
    var sizes = [UInt64](repeating: 0, count: sequences.count)
    guard !sequences.isEmpty else { return sizes }
    let hasAttachments = try hasReferences()
    try forEachRetained { (retained) throws(DatabaseError) in
      let current = try retained.needed(byVersions: [], in: self)
      for (index, sequence) in sequences.enumerated() {
        let needed = try retained.needed(byVersions: [sequence], in: self).subtracting(current)
        for record in retained.records where needed.contains(record.sequence) {
          sizes[index].add(UInt64(record.locator.size))
        }
        guard hasAttachments, !needed.isEmpty else { continue }
        sizes[index].add(try retained.attachmentSize(of: needed, besides: current, in: self))
      }
      return true
    }
    return sizes
  }
}
