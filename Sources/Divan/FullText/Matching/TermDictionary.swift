/// The terms and postings of a few documents in memory.
struct TermDictionary: FullTextTerms {
  private let lists: [[UInt8]: PostingsBuilder.List]
  private let sorted: [TermEntry]

  /// Creates a dictionary of lists in the order of their terms.
  init(_ lists: [PostingsBuilder.List]) {
    self.lists = Dictionary(uniqueKeysWithValues: lists.map { ($0.term, $0) })
    sorted = lists.map { TermEntry(term: $0.term, documentCount: $0.documentCount) }
  }

  func postings(of term: [UInt8]) -> (any PostingsSource)? { lists[term].map { PostingsList($0) } }

  func numberLimit() -> UInt64 {
    lists.values.reduce(0) { limit, list in
      max(limit, list.blocks.last.map { $0.first + $0.postings.header.last + 1 } ?? 0)
    }
  }

  func count(
    termsWithPrefix prefix: [UInt8], into counter: inout OccurrenceCounter
  ) throws(DatabaseError) {
    for term in terms(withPrefix: prefix) {
      for block in lists[term]?.blocks ?? [] {
        _ = try counter.add(block.postings.bytes.span, first: block.first)
      }
    }
  }

  func terms(withPrefix prefix: [UInt8]) -> [[UInt8]] {
    TermList(sorted).terms(withPrefix: prefix, limit: .max).map(\.term)
  }

  func terms(near word: [UInt8], maxDistance: Int, isPrefix: Bool) -> [[UInt8]] {
    TermList(sorted).terms(near: word, maxDistance: maxDistance, isPrefix: isPrefix)
      .map(\.entry.term)
  }
}
