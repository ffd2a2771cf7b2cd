import DivanLog

/// A change of a full-text index: the entries to set, and the keys to remove.
///
/// It is made of the tables as they are, and then applied at once. So nothing is changed if a page
/// cannot be read.
struct FullTextEdit {
  private let tables: FullTextTables
  private(set) var figures: FullTextFigures
  /// The lengths that change, by the number of their value, and how many further parts it has.
  private var lengths: [UInt64: (new: TextLengths, oldParts: Int)] = [:]
  /// New values by key, no two with the same key.
  ///
  /// An empty value removes the key.
  private var changes: [(key: [UInt8], value: [UInt8])] = []

  init(_ tables: FullTextTables) throws(PageError) {
    self.tables = tables
    figures = try tables.figures()
  }

  /// Makes the change.
  consuming func apply(to tree: inout LayeredTree) {
    let keys = tables.keys
    for (block, (new, oldParts)) in lengths {
      let key = keys.lengths(of: block * FullTextKeys.lengthsPerBlock)
      let count = new.isEmpty ? 0 : put(key, new.bytes)
      removeParts(of: key, from: count, through: oldParts)
    }
    put(keys.figures, figures.bytes)
    for (key, value) in changes {
      if value.isEmpty { tree.remove(key.span) } else { tree.set(key.span, value.span) }
    }
  }
}

// MARK: - Documents

extension FullTextEdit {
  /// What is known of the terms that a document has in the index.
  enum Old {
    /// The terms; nil if there are none.
    case terms(DocumentTerms?)
    /// The document cannot be read.
    case unknown
  }

  /// Replaces the terms of a document; nil removes it from the index.
  ///
  /// While the index is being built, `isWhole` is false, and any of the old postings may be
  /// missing. If the old terms are unknown, the document gets another number: postings with the old
  /// one have no document any more, and searches skip them. Terms are unknown, too, if the index
  /// has other lengths: an attachment could not be read when they were made.
  mutating func replace(
    _ id: SharedBytes, _ old: Old, with new: DocumentTerms?, isWhole: Bool
  ) throws(PageError) {
    let known = try tables.number(of: id)
    var terms: DocumentTerms?
    var kept: UInt64?
    var old = old
    if case .terms(let found) = old, let known, try lengths(of: known) != found?.lengths {
      old = .unknown
    }
    switch old {
    // Without a number, no term is there.
    case .terms(let found): (terms, kept) = (known == nil ? nil : found, known)
    case .unknown: figures.hasOrphans = figures.hasOrphans || known != nil
    }
    if let known {
      try setLengths(known, nil)
      if kept == nil || new == nil { put(tables.keys.id(of: known), []) }
      if new == nil { put(tables.keys.number(of: id), []) }
    }
    if let new {
      if let kept {
        try setLengths(kept, new.lengths)
      } else {
        let number = reserve(1)
        try add(id, number, new.lengths)
        kept = number
      }
    }
    if let kept { try change(from: terms, to: new, kept, isWhole: isWhole) }
  }

  /// Reserves numbers for documents, and returns the first.
  mutating func reserve(_ count: Int) -> UInt64 {
    figures.nextNumber += UInt64(count)
    return figures.nextNumber - UInt64(count)
  }

  /// Gives a document a number that was reserved.
  mutating func add(
    _ id: SharedBytes, _ number: UInt64, _ lengths: [Int]
  ) throws(PageError) {
    try setLengths(number, lengths)
    var value: [UInt8] = []
    value.append(varint: number)
    put(tables.keys.number(of: id), value)
    put(tables.keys.id(of: number), id.array)
  }

  /// Returns the lengths that the index has of a document, which are to change.
  private mutating func lengths(of number: UInt64) throws(PageError) -> [Int]? {
    let block = number / FullTextKeys.lengthsPerBlock
    if let known = lengths[block] { return known.new[number] }
    let read = try tables.lengths(around: number)
    lengths[block] = read
    return read.new[number]
  }

  /// Sets the lengths of a document, and counts it.
  private mutating func setLengths(_ number: UInt64, _ new: [Int]?) throws(PageError) {
    let block = number / FullTextKeys.lengthsPerBlock
    var all = if let known = lengths[block] { known } else { try tables.lengths(around: number) }
    if let old = all.new[number] { figures.add(-1, old) }
    if let new { figures.add(1, new) }
    all.new[number] = new
    lengths[block] = all
  }

  /// Changes the postings of a document where they differ.
  private mutating func change(
    from old: DocumentTerms?, to new: DocumentTerms?, _ number: UInt64, isWhole: Bool
  ) throws(PageError) {
    var removed = ArraySlice(old?.terms ?? [])
    for term in new?.terms ?? [] {
      while let first = removed.first, first.term.lexicographicallyPrecedes(term.term) {
        try set(removed.removeFirst().term, number, [])
      }
      var isSame = false
      if let first = removed.first, first.term == term.term {
        isSame = first.occurrences == term.occurrences
        removed.removeFirst()
      }
      if !isSame || !isWhole { try set(term.term, number, term.occurrences) }
    }
    for term in removed { try set(term.term, number, []) }
  }
}

// MARK: - Postings

extension FullTextEdit {
  /// Sets the places of a term in a document; none removes the posting.
  mutating func set(
    _ term: [UInt8], _ number: UInt64, _ occurrences: [Occurrence]
  ) throws(PageError) {
    let isRemoval = occurrences.isEmpty
    guard let found = try tables.block(of: term, with: number) else {
      if !isRemoval { try setFirst(term, number, occurrences) }
      return
    }
    let offset = number - found.first
    if !isRemoval, offset > found.postings.header.last, found.postings.isFull {
      put(term, number, [(offset: 0, occurrences)])
      return
    }
    var block = found.postings
    try tables.decoding { () throws(ByteError) in try block.set(offset, occurrences) }
    guard block.isOverfull else {
      replace(found, with: block)
      return
    }
    let upper = try tables.decoding { () throws(ByteError) in try block.split() }
    replace(found, with: block)
    put(key(term, found.first + upper.first), upper.block.bytes)
  }

  /// Sets a posting before all others of its term.
  private mutating func setFirst(
    _ term: [UInt8], _ number: UInt64, _ occurrences: [Occurrence]
  ) throws(PageError) {
    guard let next = try tables.block(of: term, after: number), !next.postings.isFull else {
      put(term, number, [(offset: 0, occurrences)])
      return
    }
    var block = next.postings
    try tables.decoding { () throws(ByteError) in
      try block.moveStart(back: next.first - number)
      try block.set(0, occurrences)
    }
    removeParts(of: next.key, from: 0, through: next.furtherParts)
    put(key(term, number), block.bytes)
  }

  private func key(_ term: [UInt8], _ first: UInt64) -> [UInt8] {
    tables.keys.blocks(of: term) + first.bigEndianBytes
  }

  /// Puts a new block with some postings.
  private mutating func put(
    _ term: [UInt8], _ first: UInt64, _ postings: [(offset: UInt64, [Occurrence])]
  ) {
    var block = PostingsBlock(fieldCount: tables.fieldCount)
    for (offset, occurrences) in postings { block.append(offset, occurrences) }
    put(key(term, first), block.bytes)
  }

  /// Writes a block again, and removes the parts that it no longer has.
  private mutating func replace(_ old: FullTextTables.Block, with new: PostingsBlock) {
    let count = new.isEmpty ? 0 : put(old.key, new.bytes)
    removeParts(of: old.key, from: count, through: old.furtherParts)
  }

  /// Removes the parts of a value from a number through another; the first part has the number 0.
  private mutating func removeParts(of key: [UInt8], from first: Int, through last: Int) {
    guard first <= last else { return }
    for number in first...last {
      changes.append((number == 0 ? key : TextValue.partKey(key, number), []))
    }
  }

  /// Puts a value, or removes a key if the value is empty; returns the number of parts.
  @discardableResult
  private mutating func put(_ key: [UInt8], _ value: [UInt8]) -> Int {
    guard !value.isEmpty else {
      changes.append((key, []))
      return 0
    }
    let entries = TextValue.entries(key, value, treeLimit: tables.tree.entryLimit)
    changes += entries
    return entries.count
  }
}

// MARK: - Many documents

extension FullTextEdit {
  /// Puts blocks of a term between those whose numbers are smaller and those with greater ones.
  ///
  /// Returns false, and changes nothing, if a block has both. With a number in `start`, all others
  /// are below it.
  mutating func append(
    _ blocks: [PostingsBuilder.Block], of term: [UInt8], after start: UInt64?
  ) throws(PageError) -> Bool {
    var rest = ArraySlice(blocks)
    guard let first = rest.first else { return true }
    let last = start == 0 ? nil : try tables.block(of: term, with: first.first)
    if let last, last.first + last.postings.header.last >= first.first { return false }
    // A writer may have added a document between them since their numbers were reserved.
    if start == nil, let end = rest.last, let next = try tables.block(of: term, after: first.first),
      next.first <= end.first + end.postings.header.last
    {
      return false
    }
    if let last, last.postings.hasRoom(for: first.postings) {
      var joined = last.postings
      try tables.decoding { () throws(ByteError) in
        try joined.append(contentsOf: first.postings, first: first.first - last.first)
      }
      replace(last, with: joined)
      rest.removeFirst()
    }
    for block in rest { put(key(term, block.first), block.postings.bytes) }
    return true
  }
}
