import DivanLog

/// Reads the lengths of documents in ascending order of their numbers.
struct LengthsReader {
  private let terms: StoredTerms
  private var scan = LayeredScan.empty
  /// The number of the value that was read last, and its lengths.
  private var block: UInt64?
  private var found: TextLengths
  /// The number of a value that was passed, and is not read yet.
  private var pending: (block: UInt64, item: TreeEntry)?
  /// The index in ``lengths`` of the current document.
  private(set) var start = 0

  /// The number of values that are read one after the other rather than searched.
  private static let stepLimit: UInt64 = 8

  init(_ terms: StoredTerms) {
    self.terms = terms
    found = TextLengths(fieldCount: terms.tables.fieldCount)
  }

  /// The lengths of the current document, from ``start`` on, and of others.
  var lengths: [Int] { found.lengths }

  /// Moves to a document; returns false if the number has none.
  mutating func move(to number: UInt64) throws(DatabaseError) -> Bool {
    let wanted = number / FullTextKeys.lengthsPerBlock
    if wanted != block {
      try read(wanted)
      block = wanted
    }
    start = found.start(of: number)
    return found.contains(number)
  }

  private mutating func read(_ wanted: UInt64) throws(DatabaseError) {
    found.removeAll()
    if block.map({ wanted < $0 || wanted - $0 > LengthsReader.stepLimit }) ?? true {
      let keys = terms.tables.keys
      scan = terms.tables.tree.scan(
        from: .inclusive(keys.lengths(of: wanted * FullTextKeys.lengthsPerBlock)),
        to: .end(ofPrefix: keys.start(of: .lengths)))
      pending = nil
    }
    while pending.map({ $0.block < wanted }) ?? true {
      guard let item = try nextItem() else { return }
      pending = item
    }
    guard let (block, item) = pending, block == wanted else { return }
    let tables = terms.tables
    do throws(ByteError) {
      let isWhole = try item.withValue { (value) throws(ByteError) in
        // Most values have one part.
        guard value.count > 0, value[0] == 0 else { return false }
        try found.read(value.extracting(droppingFirst: 1))
        return true
      }
      if isWhole { return }
    } catch {
      throw DatabaseError(postings: error)
    }
    found = try terms.reading { () throws(PageError) in
      try tables.lengths(around: wanted * FullTextKeys.lengthsPerBlock).new
    }
  }

  /// Returns the next value, without further parts of values.
  private mutating func nextItem() throws(DatabaseError) -> (block: UInt64, item: TreeEntry)? {
    while let item = try terms.view.step(&scan) {
      let number = item.withKey { key -> UInt64? in
        guard key.count == FullTextKeys.prefixSize + 9 else { return nil }
        return (0..<8).reduce(0) { $0 << 8 | UInt64(key[FullTextKeys.prefixSize + 1 + $1]) }
      }
      if let number { return (number, item) }
    }
    return nil
  }
}
