package import DivanLog

/// What the index says of a document, as tools look at it.
package enum InspectedEntry {
  /// Reads an entry and writes it again.
  ///
  /// - Returns: the same bytes, if a writer wrote them.
  package static func recode(_ bytes: SharedBytes) throws(ByteError) -> SharedBytes {
    var writer = ByteWriter()
    try DocumentEntry.decode(bytes).encode(to: &writer)
    return writer.sharedCopy
  }
}

extension InspectedDocument {
  /// The payload as a writer would write it now.
  package var recoded: SharedBytes {
    var writer = ByteWriter()
    content.encode(to: &writer)
    return writer.sharedCopy
  }
}

/// A run of pages in memory, as tools look at it.
package struct InspectedRun {
  private let run: Run

  /// Where the root is and how high it stands.
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

  /// Takes pages of the same size, one after the other; whatever they hold.
  ///
  /// Nil if no run can have such a root.
  package init?(pages: SharedBytes, pageSize: Int, root: Root) {
    let source = PagesInMemory(
      pages,
      PagesInMemory.Layout(
        start: 0, stride: pageSize, pageSize: pageSize, count: pages.count / pageSize))
    let summary = RunSummary(
      root: root.page, height: root.level, count: 0,
      filter: KeyFilter(firstPage: root.filterPage, blockCount: root.filterBlocks))
    guard let run = try? Run(source, summary) else { return nil }
    self.run = run
  }
}

extension InspectedRun {
  /// Whether the pages above the leaves are sound, each by itself, and make a tree.
  package var hasSoundInnerPages: Bool { (try? run.checkInnerPages()) != nil }

  /// The entries in order of their keys, or in the opposite order, as far as pages can be read.
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

  /// The value of a key; nil if it is not there or a page on the way cannot be read.
  package func value(of key: SharedBytes) -> SharedBytes? {
    try? key.withSpan { (key) throws(PageError) in try run.find(key) }
  }

  /// Whether the filter leaves it possible that the key is there.
  package func mayContain(_ key: SharedBytes) -> Bool {
    key.withSpan { key in LentBytes.lend(key) { run.mayContain(KeyHash($0)) } }
  }
}
