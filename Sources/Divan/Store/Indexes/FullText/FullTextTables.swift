import DivanLog

/// The tables of one full-text index in a version of the store.
///
/// They are read here; ``FullTextEdit`` changes them.
struct FullTextTables {
  let tree: LayeredTree
  let keys: FullTextKeys
  let fieldCount: Int

  /// A block of postings, and where it is.
  struct Block {
    let key: [UInt8]
    let term: [UInt8]
    /// The number that the numbers in the block count from.
    let first: UInt64
    /// The number of further parts that the value has.
    let furtherParts: Int
    var postings: PostingsBlock
  }
}

extension FullTextTables {
  func figures() throws(PageError) -> FullTextFigures {
    guard let bytes = try value(keys.figures) else {
      return FullTextFigures(fieldCount: fieldCount)
    }
    return try decoding { () throws(ByteError) in
      try FullTextFigures(bytes, fieldCount: fieldCount)
    }
  }

  /// Returns the number of a document; nil if the index does not have it.
  func number(of id: SharedBytes) throws(PageError) -> UInt64? {
    guard let bytes = try value(keys.number(of: id)) else { return nil }
    return try decoding { () throws(ByteError) in
      var offset = 0
      return try bytes.span.readVarint(at: &offset)
    }
  }

  /// Returns the ID of the document with a number; nil if there is none.
  func id(of number: UInt64) throws(PageError) -> SharedBytes? {
    try value(keys.id(of: number)).map { SharedBytes(copying: $0) }
  }

  /// Returns the lengths of a document and of those with neighbouring numbers, and the number of
  /// further parts of their value.
  func lengths(around number: UInt64) throws(PageError) -> (new: TextLengths, oldParts: Int) {
    let key = keys.lengths(of: number)
    guard let first = try tree.find(key.span) else {
      // There is not even a first part.
      return (TextLengths(fieldCount: fieldCount), -1)
    }
    let (bytes, furtherParts) = try whole(key, first.array)
    let lengths = try decoding { () throws(ByteError) in
      try TextLengths(bytes, fieldCount: fieldCount)
    }
    return (lengths, furtherParts)
  }

  /// Returns the block of a term that has a number, or would have it: the last that begins before.
  func block(of term: [UInt8], with number: UInt64) throws(PageError) -> Block? {
    let start = keys.blocks(of: term)
    return try firstBlock(
      tree.scan(
        from: .inclusive(start), to: .end(ofPrefix: start + number.bigEndianBytes), descending: true
      ))
  }

  /// Returns the first block of a term that begins after a number.
  func block(of term: [UInt8], after number: UInt64) throws(PageError) -> Block? {
    let start = keys.blocks(of: term)
    return try firstBlock(
      tree.scan(
        from: .start(afterPrefix: start + number.bigEndianBytes), to: .end(ofPrefix: start)))
  }

  private func firstBlock(_ scan: consuming LayeredScan) throws(PageError) -> Block? {
    var scan = scan
    while let item = try scan.next() {
      if let block = try block(item) { return block }
    }
    return nil
  }

  /// Decodes an entry of the table of terms; nil if it is a further part of a value.
  func block(_ item: TreeEntry) throws(PageError) -> Block? {
    let key = item.key.array
    let parsed = try decoding { () throws(ByteError) in try FullTextKeys.block(key) }
    guard let parsed else { return nil }
    let (bytes, furtherParts) = try whole(key, item.value.array)
    let postings = try decoding { () throws(ByteError) in
      let postings = try PostingsBlock(bytes, fieldCount: fieldCount)
      let (last, overflows) = parsed.first.addingReportingOverflow(postings.header.last)
      guard !overflows, last < DocumentNumber.end else {
        throw ByteError(offset: 0, reason: "a document number is too great")
      }
      return postings
    }
    return Block(
      key: key, term: parsed.term, first: parsed.first, furtherParts: furtherParts,
      postings: postings)
  }

  /// Returns a value of the index with all its parts.
  private func value(_ key: [UInt8]) throws(PageError) -> [UInt8]? {
    guard let first = try tree.find(key.span) else { return nil }
    return try whole(key, first.array).bytes
  }

  /// Joins the parts of a value.
  func whole(
    _ key: [UInt8], _ first: [UInt8]
  ) throws(PageError) -> (bytes: [UInt8], furtherParts: Int) {
    var offset = 0
    let count = try decoding { () throws(ByteError) in
      try first.span.readCount(limit: Int(UInt32.max), at: &offset)
    }
    var bytes = Array(first[offset...])
    if count > 0 {
      for number in 1...count {
        guard let part = try tree.find(TextValue.partKey(key, number).span) else {
          throw PageError.damaged(page: 0, reason: "a value of a full-text index lacks a part")
        }
        bytes += part.array
      }
    }
    return (bytes, count)
  }

  /// Translates the error of an entry that is malformed though its page is whole.
  func decoding<R>(_ body: () throws(ByteError) -> R) throws(PageError) -> R {
    do throws(ByteError) {
      return try body()
    } catch {
      throw PageError.damaged(page: 0, reason: "a full-text index: \(error.reason)")
    }
  }
}
