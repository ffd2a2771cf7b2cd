internal import DivanLog

/// Writes a run: packs sorted entries into full pages.
///
/// When the next entry does not fit, the leaf goes to the sink. Its number then goes to the
/// ``InnerPageWriter``, with the shortest bytes that separate it from its left neighbour.
struct RunWriter {
  private let pageSize: Int
  private let sink: (Span<UInt8>) throws(LogError) -> UInt32
  /// The leaf that is being filled.
  private let leaf: PageBuffer
  /// The separator between the leaf and its left neighbour; nil for the first leaf.
  private var separator: [UInt8]?
  private var innerPages: InnerPageWriter
  private var count = 0
  private var filter: BloomFilterWriter

  /// Begins a run.
  ///
  /// - Parameters:
  ///   - pageSize: the size of each page in bytes.
  ///   - filteredKeys: the maximum number of keys, for which the run gets a ``BloomFilter``; 0 for
  ///     no filter.
  ///   - sink: writes one page, and returns its number.
  init(
    pageSize: Int = BTree.defaultPageSize, filteredKeys: Int = 0,
    sink: @escaping (Span<UInt8>) throws(LogError) -> UInt32
  ) {
    precondition(
      pageSize >= 128 && pageSize <= NodePageWriter.capacityLimit, "The page size is out of range")
    self.pageSize = pageSize
    self.sink = sink
    filter = BloomFilterWriter(capacity: filteredKeys)
    innerPages = InnerPageWriter(pageSize: pageSize, sink: sink)
    leaf = PageBuffer(size: pageSize)
    leaf.clear(level: 0)
  }
}

extension RunWriter {
  /// Whether the run has no entries.
  var isEmpty: Bool { count == 0 }

  /// Appends an entry, whose key must be greater than all before.
  ///
  /// - Precondition: it is no longer than ``BTree/entryLimit(pageSize:)``.
  /// - Throws: the errors that the sink throws.
  mutating func append(_ entry: TreeEntry) throws(LogError) {
    try entry.key.borrow { (key) throws(LogError) in
      try entry.value.borrow { (value) throws(LogError) in try append(key, value) }
    }
  }

  /// Appends an entry, like ``append(_:)``.
  mutating func append(_ key: Span<UInt8>, _ value: Span<UInt8>) throws(LogError) {
    try BorrowedBytes.borrow(key) { (key) throws(LogError) in
      try BorrowedBytes.borrow(value) { (value) throws(LogError) in try append(key, value) }
    }
  }

  /// Appends adjacent entries, with or without tombstones, which have empty values.
  mutating func append(_ entries: LeafRange, keepsTombstones: Bool) throws(LogError) {
    try entries.forEach { (key, value) throws(LogError) in
      if keepsTombstones || value.count > 0 { try append(key, value) }
    }
  }

  private mutating func append(_ key: BorrowedBytes, _ value: BorrowedBytes) throws(LogError) {
    precondition(
      key.count + value.count <= BTree.entryLimit(pageSize: pageSize),
      "The entry is too long for a page")
    if !leaf.append(key, value) {
      let page = leaf.writer.page
      let separator = NodePage.separator(between: page.key(page.count - 1), and: key)
      try innerPages.append(leaf: leaf.withSpan(sink), separator: self.separator)
      self.separator = separator
      leaf.clear(level: 0)
      let fits = leaf.append(key, value)
      assert(fits)
    }
    filter.insert(key)
    count += 1
  }

  /// Writes the remaining pages, and returns how to open the run.
  mutating func finish() throws(LogError) -> RunSummary {
    var root = try leaf.withSpan(sink)
    var height = 0
    if !innerPages.isEmpty {
      try innerPages.append(leaf: root, separator: separator)
      (root, height) = try innerPages.finish()
    }
    let filter = try filter.finish(pageSize: pageSize, sink: sink)
    return RunSummary(root: root, height: height, count: count, filter: filter)
  }
}
