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
      guard let first = try first(ofBlock: item) else { continue }
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
  private func first(ofBlock item: TreeEntry) throws(DatabaseError) -> UInt64? {
    do throws(ByteError) {
      return try item.withKey { (key) throws(ByteError) in
        var zero = FullTextKeys.prefixSize + 1
        while zero < key.count, key[zero] != 0 { zero += 1 }
        return try FullTextKeys.firstNumber(key, at: zero + 1)
      }
    } catch {
      throw DatabaseError(postings: error)
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
        try StoredTerms.header(ofFirstPart: value)
      }
      return (key, header)
    } catch {
      throw DatabaseError(postings: error)
    }
  }

  /// Decodes the figures of a block from the first part of its value.
  fileprivate static func header(
    ofFirstPart value: Span<UInt8>
  ) throws(ByteError) -> PostingsBlock.Header {
    var offset = 0
    _ = try value.readVarint(at: &offset)
    return try PostingsBlock.figures(of: value.extracting(droppingFirst: offset))
  }
}

/// The blocks of one term in a version of the store.
///
/// All their figures are read at first, and then only the blocks that are asked for.
final class TermPostings: PostingsSource {
  private struct Block {
    /// The number that the numbers in the block count from.
    let first: UInt64
    let last: UInt64
    let documentCount: Int
  }

  private let terms: StoredTerms
  /// The start of the keys of the blocks.
  private let start: [UInt8]
  private var blocks: [Block] = []
  private var next = 0
  /// A scan of the blocks, and the index of the one that it comes to.
  private var scan = LayeredScan.empty
  private var scanIndex = Int.max
  let documentCount: Int

  /// The number of blocks that are scanned rather than searched.
  private static let stepLimit = 8

  init(_ term: [UInt8], _ terms: StoredTerms) throws(DatabaseError) {
    self.terms = terms
    start = terms.tables.keys.blocks(of: term)
    var count = 0
    var scan = terms.tables.tree.scan(from: .inclusive(start), to: .end(ofPrefix: start))
    while let entry = try terms.view.step(&scan) {
      guard let block = try TermPostings.block(entry, keyStartSize: start.count) else { continue }
      blocks.append(block)
      count += block.documentCount
    }
    documentCount = count
  }

  /// Reads the figures of a block; nil for a further part of a value.
  private static func block(
    _ entry: TreeEntry, keyStartSize: Int
  ) throws(DatabaseError) -> Block? {
    do throws(ByteError) {
      let first = try entry.withKey { (key) throws(ByteError) in
        try FullTextKeys.firstNumber(key, at: keyStartSize)
      }
      guard let first else { return nil }
      let header = try entry.withValue { (value) throws(ByteError) in
        try StoredTerms.header(ofFirstPart: value)
      }
      let (last, overflows) = first.addingReportingOverflow(header.last)
      guard !overflows, last < DocumentNumber.end else {
        throw ByteError(offset: 0, reason: "a document number is too great")
      }
      return Block(first: first, last: last, documentCount: header.documentCount)
    } catch {
      throw DatabaseError(postings: error)
    }
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
    return (try bytes(ofBlock: next), blocks[next].first)
  }

  private func bytes(ofBlock index: Int) throws(DatabaseError) -> [UInt8] {
    if index < scanIndex || index - scanIndex > TermPostings.stepLimit {
      let key = start + blocks[index].first.bigEndianBytes
      scan = terms.tables.tree.scan(from: .inclusive(key), to: .end(ofPrefix: start))
      scanIndex = index
    }
    while let entry = try terms.view.step(&scan) {
      // Further parts of values have longer keys.
      guard entry.key.count == start.count + 8 else { continue }
      scanIndex += 1
      guard scanIndex > index else { continue }
      return try terms.reading { () throws(PageError) in
        try terms.tables.whole(entry.key.array, entry.value.array).bytes
      }
    }
    throw DatabaseError(postings: ByteError(offset: 0, reason: "a block is found once only"))
  }

  func countRest() -> Int {
    let rest = blocks[min(next + 1, blocks.count)...]
    next = blocks.count
    return rest.reduce(0) { $0 + $1.documentCount }
  }
}
