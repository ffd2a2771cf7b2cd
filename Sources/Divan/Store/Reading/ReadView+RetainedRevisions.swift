import DivanLog

extension ReadView {
  /// Calls `body` with the held history of each document that has older records; false stops.
  func forEachRetained(
    _ body: (RetainedRevisions) throws(DatabaseError) -> Bool
  ) throws(DatabaseError) {
    var scan = state.retained.scan()
    while let item = try step(&scan) {
      guard let held = try RetainedRevisions(firstKey: item.key, in: self) else { continue }
      guard try body(held) else { return }
    }
  }

  /// Returns the bytes that each of some versions pins, given the sequence numbers they end with.
  ///
  /// They count superseded revisions, and attachments that only those have.
  func pinnedSizes(_ sequences: [UInt64]) throws(DatabaseError) -> [UInt64] {
    var sizes = [UInt64](repeating: 0, count: sequences.count)
    guard !sequences.isEmpty else { return sizes }
    let hasAttachments = try hasReferences()
    try forEachRetained { (held) throws(DatabaseError) in
      let current = try held.needed(byVersions: [], in: self)
      for (index, sequence) in sequences.enumerated() {
        let needed = try held.needed(byVersions: [sequence], in: self).subtracting(current)
        for record in held.records where needed.contains(record.sequence) {
          sizes[index].add(UInt64(record.locator.size))
        }
        guard hasAttachments, !needed.isEmpty else { continue }
        sizes[index].add(try held.attachmentSize(of: needed, besides: current, in: self))
      }
      return true
    }
    return sizes
  }
}
