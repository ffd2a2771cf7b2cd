import DivanLog

/// The terms of a full-text index in one version of the store.
struct StoredTerms: FullTextTerms {
  let view: ReadView
  let tables: FullTextTables

  init(_ definition: IndexDefinition, in view: ReadView) {
    self.view = view
    tables = view.state.texts.tables(of: definition)
  }

  func postings(of term: [UInt8]) throws(DatabaseError) -> (any PostingsSource)? {
    let postings = try TermPostings(term, self)
    return postings.documentCount > 0 ? postings : nil
  }

  func numberLimit() throws(DatabaseError) -> UInt64 {
    try reading { () throws(PageError) in try tables.figures().nextNumber }
  }

  func count(
    termsWithPrefix prefix: [UInt8], into counter: inout OccurrenceCounter
  ) throws(DatabaseError) {
    let start = tables.keys.start(of: .terms) + prefix
    var scan = tables.tree.scan(from: .inclusive(start), to: .end(ofPrefix: start))
    while let item = try view.step(&scan) {
      guard let first = first(ofBlock: item) else { continue }
      let isWhole = try item.withValue { (value) throws(DatabaseError) in
        // Most values have one part.
        guard value.count > 0, value[0] == 0 else { return false }
        _ = try counter.add(value.extracting(droppingFirst: 1), first: first)
        return true
      }
      if isWhole { continue }
      let bytes = try reading { () throws(PageError) in
        try tables.whole(item.key.array, item.value.array).bytes
      }
      _ = try counter.add(bytes.span, first: first)
    }
  }

  /// Returns the first number of a block; nil for a further part of a value.
  private func first(ofBlock item: TreeEntry) -> UInt64? {
    item.withKey { key in
      var zero = FullTextKeys.prefixSize + 1
      while zero < key.count, key[zero] != 0 { zero += 1 }
      guard key.count - zero == 9 else { return nil }
      return (1...8).reduce(0) { $0 << 8 | UInt64(key[zero + $1]) }
    }
  }

  func terms(withPrefix prefix: [UInt8]) throws(DatabaseError) -> [[UInt8]] {
    try StoredTermReader(self).terms(withPrefix: prefix, limit: .max).map(\.term)
  }

  func terms(
    near word: [UInt8], maxDistance: Int, isPrefix: Bool
  ) throws(DatabaseError) -> [[UInt8]] {
    try StoredTermReader(self).terms(near: word, maxDistance: maxDistance, isPrefix: isPrefix)
      .map(\.entry.term)
  }

  /// Reads the tables; a damaged page is reported with what to do.
  func reading<R>(_ body: () throws(PageError) -> R) throws(DatabaseError) -> R {
    try view.repairing { (_) throws(PageError) in try body() }
  }
}

/// Reads the terms of a full-text index in the order of their bytes.
struct StoredTermReader: TermReader {
  typealias Failure = DatabaseError

  private let terms: StoredTerms
  private var scan: LayeredScan
  /// The first block of the next term, which was read already.
  private var pending: (term: [UInt8], documentCount: Int)?

  init(_ terms: StoredTerms) {
    self.terms = terms
    let start = terms.tables.keys.start(of: .terms)
    scan = terms.tables.tree.scan(from: .inclusive(start), to: .end(ofPrefix: start))
  }

  mutating func next() throws(DatabaseError) -> TermEntry? {
    var taken = pending.take()
    if taken == nil { taken = try nextBlock() }
    guard let first = taken else { return nil }
    var count = first.documentCount
    while let block = try nextBlock() {
      guard block.term == first.term else {
        pending = block
        break
      }
      count += block.documentCount
    }
    return TermEntry(term: first.term, documentCount: count)
  }

  mutating func seek(to target: [UInt8]) {
    let start = terms.tables.keys.start(of: .terms)
    scan = terms.tables.tree.scan(from: .inclusive(start + target), to: .end(ofPrefix: start))
    pending = nil
  }

  private mutating func nextBlock() throws(DatabaseError) -> (term: [UInt8], documentCount: Int)? {
    while let item = try terms.view.step(&scan) {
      if let block = try terms.header(item) { return (block.key.term, block.header.documentCount) }
    }
    return nil
  }
}

extension StoredTerms {
  /// Decodes the figures of a block; nil for a further part of a value.
  func header(
    _ item: TreeEntry
  ) throws(DatabaseError) -> (key: FullTextKeys.BlockKey, header: PostingsBlock.Header)? {
    do throws(ByteError) {
      guard let key = try FullTextKeys.block(item.key.array) else { return nil }
      let header = try item.withValue { (value) throws(ByteError) in
        var offset = 0
        _ = try value.readVarint(at: &offset)
        return try PostingsBlock.figures(of: value.extracting(droppingFirst: offset))
      }
      return (key, header)
    } catch {
      throw DatabaseError(postings: error)
    }
  }
}

/// The blocks of one term in a version of the store.
///
/// All their figures are read at first, and then only the blocks that are asked for.
final class TermPostings: PostingsSource {
  private let terms: StoredTerms
  private let start: [UInt8]
  /// The first and last number of each block, and how many documents it has.
  private var blocks: [(first: UInt64, last: UInt64, documentCount: Int)] = []
  private var next = 0
  let documentCount: Int

  init(_ term: [UInt8], _ terms: StoredTerms) throws(DatabaseError) {
    self.terms = terms
    start = terms.tables.keys.blocks(of: term)
    var count = 0
    var scan = terms.tables.tree.scan(from: .inclusive(start), to: .end(ofPrefix: start))
    while let item = try terms.view.step(&scan) {
      guard let block = try terms.header(item) else { continue }
      let (last, overflows) = block.key.first.addingReportingOverflow(block.header.last)
      guard !overflows, last < DocumentNumber.end else {
        throw DatabaseError(
          postings: ByteError(offset: 0, reason: "a document number is too great"))
      }
      blocks.append((block.key.first, last, block.header.documentCount))
      count += block.header.documentCount
    }
    documentCount = count
  }

  func block(
    notBefore target: UInt64
  ) throws(DatabaseError) -> (bytes: [UInt8], first: UInt64)? {
    var end = blocks.count
    // Mostly it is the next one.
    if next < end, blocks[next].last >= target { end = next }
    while next < end {
      let middle = (next + end) / 2
      if blocks[middle].last < target { next = middle + 1 } else { end = middle }
    }
    guard next < blocks.count else { return nil }
    let first = blocks[next].first
    let key = start + first.bigEndianBytes
    let found = try terms.reading { () throws(PageError) in
      try terms.tables.tree.find(key.span).map { (value) throws(PageError) in
        try terms.tables.whole(key, value.array).bytes
      }
    }
    guard let found else {
      throw DatabaseError(postings: ByteError(offset: 0, reason: "a block is found by a scan only"))
    }
    return (found, first)
  }

  func countRest() -> Int {
    let rest = blocks[min(next + 1, blocks.count)...]
    next = blocks.count
    return rest.reduce(0) { $0 + $1.documentCount }
  }
}
