import DivanLog

/// The terms of many documents, to be added to a full-text index together.
///
/// Their postings are made without the index, and put behind those that are there. That takes a
/// tenth of the time of adding one document after the other.
struct FullTextBatch: Sendable {
  /// A document in the batch.
  struct Item: Sendable {
    let id: SharedBytes
    fileprivate(set) var lengths: [Int]
    /// The sequence number of the document's record that was read; 0 if nothing else writes.
    let sequence: UInt64
  }

  /// A batch is full when it takes this many bytes of memory.
  static let sizeLimit = 16 << 20

  let definition: IndexDefinition
  private let analyser: TextAnalyser
  /// Kept for its cache of terms.
  private var cursor: TokenCursor
  private var builder: PostingsBuilder
  /// The postings by term, once they are made.
  private var lists: [PostingsBuilder.List]?
  /// The documents with a term; a document's number in the batch is its index.
  private(set) var items: [Item] = []

  /// Creates an empty batch.
  init(_ definition: IndexDefinition, _ analyser: TextAnalyser) {
    self.definition = definition
    self.analyser = analyser
    cursor = analyser.makeCursor()
    builder = PostingsBuilder(fieldCount: analyser.fieldCount)
  }

  /// The memory in use, in bytes.
  var size: Int { builder.byteCount + items.count * 128 }
  var isFull: Bool { size >= FullTextBatch.sizeLimit }

  /// Adds the terms of a document that the index does not have.
  mutating func add(_ id: SharedBytes, _ revision: IndexedRevision, sequence: UInt64 = 0) {
    precondition(!hasLists, "a document is added to a batch whose postings are made")
    let number = UInt64(items.count)
    var lengths = [Int](repeating: 0, count: analyser.fieldCount)
    analyser.forEachTerm(of: revision, with: &cursor) { term, occurrence in
      builder.append(term, document: number, occurrence)
      lengths[occurrence.field] += 1
    }
    guard lengths.contains(where: { $0 > 0 }) else { return }
    items.append(Item(id: SharedBytes(copying: id.array), lengths: lengths, sequence: sequence))
  }

  /// Whether the postings are made, so that nothing can be added until they are taken.
  var hasLists: Bool { lists != nil }

  /// Makes the postings by term.
  ///
  /// Nothing can be added until they are taken.
  mutating func makeLists() { lists = builder.finish() }

  /// Removes the postings by term, in the order of the terms.
  mutating func takeLists() -> ArraySlice<PostingsBuilder.List> {
    ArraySlice(lists.take() ?? builder.finish())
  }

  /// Removes all documents.
  mutating func removeAll() {
    _ = takeLists()
    items.removeAll(keepingCapacity: true)
  }
}

extension FullTextBatch {
  /// Adds the documents to the index in a tree, and removes them from the batch.
  mutating func move(to tree: inout LayeredTree) throws(PageError) {
    let first = try reserveNumbers(in: &tree)
    _ = try addItems(items.indices, first: first, to: &tree, without: [])
    try add(takeLists(), first: first, to: &tree, without: [], isUndisturbed: true)
    items.removeAll(keepingCapacity: true)
  }

  /// Reserves numbers for the documents, and returns the first; no other document gets them.
  func reserveNumbers(in tree: inout LayeredTree) throws(PageError) -> UInt64 {
    var edit = try FullTextEdit(tree.tables(of: definition))
    let first = edit.reserve(items.count)
    edit.apply(to: &tree)
    return first
  }

  /// Adds some documents, without their postings, with numbers from `first` on.
  ///
  /// Returns those that were left out, because a writer has added them since they were read.
  func addItems(
    _ range: Range<Int>, first: UInt64, to tree: inout LayeredTree, without dropped: Set<Int>
  ) throws(PageError) -> [Int] {
    let tables = tree.tables(of: definition)
    var edit = try FullTextEdit(tables)
    var known: [Int] = []
    for index in range where !dropped.contains(index) {
      guard try tables.number(of: items[index].id) == nil else {
        known.append(index)
        continue
      }
      try edit.add(items[index].id, first + UInt64(index), items[index].lengths)
    }
    edit.apply(to: &tree)
    return known
  }

  /// Adds the postings of some terms.
  ///
  /// Unless it is undisturbed, other writers may have changed the documents since their numbers
  /// were reserved, and may have added documents with greater numbers.
  func add(
    _ lists: ArraySlice<PostingsBuilder.List>, first: UInt64, to tree: inout LayeredTree,
    without dropped: Set<Int>, isUndisturbed: Bool
  ) throws(PageError) {
    var edit = try FullTextEdit(tree.tables(of: definition))
    var late: [(term: [UInt8], blocks: [PostingsBuilder.Block])] = []
    for list in lists {
      let blocks = try kept(list.blocks, first, without: dropped)
      if try !edit.append(blocks, of: list.term, after: isUndisturbed ? first : nil) {
        late.append((list.term, blocks))
      }
    }
    edit.apply(to: &tree)
    for (term, blocks) in late {
      try forEachPosting(blocks) { (number, occurrences) throws(PageError) in
        var edit = try FullTextEdit(tree.tables(of: definition))
        try edit.set(term, number, occurrences)
        edit.apply(to: &tree)
      }
    }
  }

  /// Returns blocks with numbers of the index, without documents that are not kept.
  private func kept(
    _ blocks: [PostingsBuilder.Block], _ first: UInt64, without dropped: Set<Int>
  ) throws(PageError) -> [PostingsBuilder.Block] {
    var result: [PostingsBuilder.Block] = []
    for block in blocks {
      guard !dropped.isEmpty else {
        result.append(PostingsBuilder.Block(first: first + block.first, postings: block.postings))
        continue
      }
      var postings = PostingsBlock(fieldCount: analyser.fieldCount)
      try forEachPosting([block]) { (number, occurrences) throws(PageError) in
        if !dropped.contains(Int(number)) { postings.append(number - block.first, occurrences) }
      }
      if !postings.isEmpty {
        result.append(PostingsBuilder.Block(first: first + block.first, postings: postings))
      }
    }
    return result
  }

  private func forEachPosting(
    _ blocks: [PostingsBuilder.Block], _ body: (UInt64, [Occurrence]) throws(PageError) -> Void
  ) throws(PageError) {
    for block in blocks {
      for (number, occurrences) in block.postings.documents(first: block.first) {
        try body(number, occurrences)
      }
    }
  }
}
