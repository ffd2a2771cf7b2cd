package import DivanLog

/// A document's index entry, for tools.
package enum InspectedEntry {
  /// Decodes an entry and encodes it again.
  ///
  /// - Returns: the same bytes, if a writer wrote them.
  package static func recode(_ bytes: SharedBytes) throws(ByteError) -> SharedBytes {
    var writer = ByteWriter()
    try DocumentEntry.decode(bytes).encode(to: &writer)
    return writer.sharedCopy
  }
}

extension InspectedDocument {
  /// The payload as a writer would encode it now.
  package var recoded: SharedBytes {
    var writer = ByteWriter()
    content.encode(to: &writer)
    return writer.sharedCopy
  }
}

/// A run of pages in memory, for tools.
package struct InspectedRun {
  private let run: Run

  /// The page of the root and its level.
  package struct Root: Sendable {
    package var page: UInt32
    package var level: Int
    package var filterPage: UInt32
    package var filterBlocks: UInt32

    package init(page: UInt32, level: Int, filterPage: UInt32, filterBlocks: UInt32) {
      self.page = page
      self.level = level
      self.filterPage = filterPage
      self.filterBlocks = filterBlocks
    }
  }

  /// Creates a run from consecutive pages of the same size, with any contents.
  ///
  /// Nil if no run can have such a root.
  package init?(pages: SharedBytes, pageSize: Int, root: Root) {
    let source = MappedPages(
      pages,
      MappedPages.Layout(
        start: 0, stride: pageSize, pageSize: pageSize, count: pages.count / pageSize))
    let summary = RunSummary(
      root: root.page, height: root.level, count: 0,
      filter: BloomFilter(firstPage: root.filterPage, blockCount: root.filterBlocks))
    guard let run = try? Run(source, summary) else { return nil }
    self.run = run
  }
}

extension InspectedRun {
  /// Whether the inner pages are sound, each by itself, and form a tree.
  package var hasSoundInnerPages: Bool { (try? run.checkInnerPages()) != nil }

  /// Returns the entries in ascending or descending order of keys, until a page cannot be read.
  ///
  /// - Returns: the entries, and whether these are all.
  package func entries(
    descending: Bool, limit: Int
  ) -> (entries: [(key: SharedBytes, value: SharedBytes)], isWhole: Bool) {
    var scan = run.scan(descending: descending)
    var entries: [(key: SharedBytes, value: SharedBytes)] = []
    do throws(PageError) {
      while entries.count < limit, let entry = try scan.next() {
        entries.append((entry.key, entry.value))
      }
      return (entries, true)
    } catch {
      return (entries, false)
    }
  }

  /// Returns the value of a key; nil if it is missing or a page on the way cannot be read.
  package func value(of key: SharedBytes) -> SharedBytes? {
    try? key.withSpan { (key) throws(PageError) in try run.find(key) }
  }

  /// Returns whether the Bloom filter may contain the key.
  package func mayContain(_ key: SharedBytes) -> Bool {
    key.withSpan { key in BorrowedBytes.borrow(key) { run.mayContain(KeyHash($0)) } }
  }
}
