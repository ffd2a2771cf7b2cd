internal import DivanLog

/// Writes a run: packs sorted entries into full pages, from the bottom up.
///
/// It keeps one page for each level. When the next entry does not fit, the page goes to the sink.
/// Its number then goes to the level above, with the shortest bytes that separate it from its left
/// neighbour.
struct RunWriter {
  private let pageSize: Int
  private let sink: (Span<UInt8>) throws(LogError) -> UInt32
  private var levels: [Level] = []
  private var count = 0
  private var filter: BloomFilterWriter

  /// The page of one level that is being filled.
  private struct Level {
    let buffer: PageBuffer
    /// The separator between the page and its left neighbour; nil for the first page.
    var separator: [UInt8]?
  }

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
    _ = addLevel()
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
    let leaf = levels[0].buffer
    if !leaf.append(key, value) {
      let page = leaf.writer.page
      let separator = NodePage.separator(between: page.key(page.count - 1), and: key)
      try flush(0)
      levels[0].separator = separator
      let fits = leaf.append(key, value)
      assert(fits)
    }
    filter.insert(key)
    count += 1
  }

  /// Writes the remaining pages, and returns how to open the run.
  mutating func finish() throws(LogError) -> RunSummary {
    var level = 0
    while level < levels.count - 1 {
      try flush(level)
      level += 1
    }
    let root = try levels[level].buffer.withSpan(sink)
    let filter = try filter.finish(pageSize: pageSize, sink: sink)
    return RunSummary(root: root, height: level, count: count, filter: filter)
  }

  /// Writes the page of a level, adds it to the level above, and begins the next page.
  private mutating func flush(_ level: Int) throws(LogError) {
    let number = try levels[level].buffer.withSpan(sink)
    let separator = levels[level].separator
    levels[level].buffer.clear(level: level)
    guard level + 1 < levels.count, let separator else {
      // The first page of its level is the first child of the level above.
      levels[addLevel()].buffer.writer.setFirstChild(number)
      return
    }
    let parent = levels[level + 1].buffer
    if !separator.borrow({ parent.append($0, child: number) }) {
      try flush(level + 1)
      levels[level + 1].separator = separator
      parent.writer.setFirstChild(number)
    }
  }

  private mutating func addLevel() -> Int {
    let buffer = PageBuffer(size: pageSize)
    buffer.clear(level: levels.count)
    levels.append(Level(buffer: buffer, separator: nil))
    return levels.count - 1
  }
}
