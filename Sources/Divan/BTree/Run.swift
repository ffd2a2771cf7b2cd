internal import DivanLog
internal import Synchronization

/// An immutable sorted map from bytes to bytes, in pages of a file.
///
/// It is the tree that ``RunWriter`` wrote. Pages have the layout of ``NodePage``, and are read
/// when they are first used. A page may prove damaged only then. The caller rebuilds the entries of
/// a leaf from the log and passes them to ``install(_:for:compactionCount:)``; for an inner page it
/// calls ``rebuildInnerPages()``.
final class Run: Sendable {
  let source: any PageSource
  /// The root page, the height, and the number of entries.
  let summary: RunSummary
  /// The first of the run's pages, which end with the root; nil if it is unknown.
  let firstPage: UInt32?
  /// The last commit that the run includes, which is needed to rebuild a page from the log.
  let commit: UInt64
  /// Pages that replace damaged ones; searched only if there is one.
  ///
  /// A page may have several: see ``Replacement``.
  private let replacements = Guarded<[UInt32: [Replacement]]>([:])
  private let hasReplacements = Atomic<Bool>(false)
  /// The result of rebuilding the inner pages; nil if it was not tried.
  let innerPageRebuilding = Guarded<Bool?>(nil)

  /// Opens a run.
  ///
  /// - Parameters:
  ///   - source: the pages.
  ///   - summary: the result of ``RunWriter/finish()``.
  ///   - firstPage: the first page that was written; without it, inner pages are not rebuilt.
  ///   - commit: the last commit that the run includes.
  /// - Throws: an error if no run can have this height.
  init(
    _ source: any PageSource, _ summary: RunSummary, firstPage: UInt32? = nil,
    commit: UInt64 = .max
  ) throws(PageError) {
    guard summary.height >= 0, summary.height <= Run.heightLimit, summary.count >= 0 else {
      throw .damaged(
        page: summary.root, reason: "the run's height of \(summary.height) is out of range")
    }
    self.source = source
    self.summary = summary
    self.firstPage = firstPage
    self.commit = commit
  }

  /// More than the height of any run whose page numbers are distinct.
  static let heightLimit = 32

  /// Whether a page was rebuilt, and is read from memory.
  var hasRebuiltPages: Bool { hasReplacements.load(ordering: .acquiring) }

  /// The number of entries in the run, including tombstones.
  var count: Int { summary.count }
}

extension Run: Equatable {
  static func == (a: Run, b: Run) -> Bool { a === b }
}

/// A page that was rebuilt: an inner page for all versions, or a leaf for one version of the store.
///
/// A leaf refers to records at their locations then, and lacks records that compactions had dropped
/// because newer layers hide them. It therefore serves versions that have seen these compactions,
/// but not older snapshots that share the run: they rebuild the leaf from the segments that they
/// pin. An inner page follows from the leaves as they were written, so it serves all versions.
private struct Replacement {
  let compactionCount: Int
  let page: Page
}

/// The position of an entry in a page that lives as long as its run's source.
struct EntryLocation {
  let page: NodePage
  let index: Int
}

/// The values that are needed to open a run.
struct RunSummary: Equatable, Sendable {
  /// The root's page number.
  var root: UInt32
  /// The root's level; 0 if the root is the only leaf.
  var height: Int
  /// The number of entries.
  var count: Int
  /// The Bloom filter that rules out keys.
  var filter = BloomFilter.none
}

extension Run {
  /// Returns the value of `key`, or nil, for a version that has seen `compactionCount` compactions.
  func find(_ key: Span<UInt8>, compactionCount: Int = 0) throws(PageError) -> SharedBytes? {
    try BorrowedBytes.borrow(key) { (key) throws(PageError) in
      try find(key, compactionCount: compactionCount)
    }
  }

  /// Whether a key with this hash may be here; true if the filter cannot be read.
  @inline(__always)
  func mayContain(_ hash: KeyHash) -> Bool {
    (try? summary.filter.mayContain(hash, in: source, pageSize: source.pageSize)) ?? true
  }

  /// Whether the run has a filter.
  var isFiltered: Bool { summary.filter.blockCount > 0 }

  /// Returns the value of `key`, or nil, for a version that has seen `compactionCount` compactions.
  @inline(__always)
  func find(_ key: BorrowedBytes, compactionCount: Int) throws(PageError) -> SharedBytes? {
    try withEntry(of: key, compactionCount: compactionCount) { _, leaf, index in
      value(index, of: leaf)
    }
  }

  /// Returns the leaf in which `key` most probably belongs, to prefetch a look-up.
  ///
  /// Returns nil if the leaf cannot be read, or does not live as long as the run's source.
  func lastingLeaf(for key: BorrowedBytes, compactionCount: Int) -> NodePage? {
    guard let page = try? leaf(for: key, isExact: false, compactionCount), page.owner == nil else {
      return nil
    }
    return page.view
  }

  /// Calls `body` with the leaf that contains `key`, and the entry's index there.
  ///
  /// Returns nil if there is no entry for a version that has seen `compactionCount` compactions. It
  /// searches `location` first, which must be of this run.
  @inline(__always)
  func withEntry<R>(
    of key: BorrowedBytes, expectedAt location: EntryLocation? = nil, compactionCount: Int,
    _ body: (Run, Page, Int) -> R
  ) throws(PageError) -> R? {
    if let location, location.page.key(location.index).equals(key) {
      return body(self, Page(view: location.page, owner: nil), location.index)
    }
    let leaf = try leaf(for: key, isExact: false, compactionCount)
    let (result, isCertain) = withExtendedLifetime(leaf) { () -> (R?, Bool) in
      guard let index = leaf.view.find(key) else { return (nil, leaf.view.surrounds(key)) }
      return (body(self, leaf, index), true)
    }
    if isCertain { return result }
    let rightLeaf = try self.leaf(for: key, isExact: true, compactionCount)
    return withExtendedLifetime(rightLeaf) {
      rightLeaf.view.find(key).map { body(self, rightLeaf, $0) }
    }
  }

  /// Returns an entry's value, kept alive by the page's owner.
  @inline(__always)
  func value(_ index: Int, of page: Page) -> SharedBytes {
    page.view.value(index).shared(by: owner(of: page))
  }

  /// Returns the leaf in which `key` belongs.
  ///
  /// If not `isExact`, it relies on ``NodePage/likelyUpperBound(of:)``, which may be wrong.
  @inline(__always)
  private func leaf(
    for key: BorrowedBytes, isExact: Bool, _ compactionCount: Int
  ) throws(PageError) -> Page {
    var page = try page(summary.root, level: summary.height, compactionCount: compactionCount)
    var level = summary.height
    while level > 0 {
      level -= 1
      // The page may have the only reference to its owner.
      let number = withExtendedLifetime(page) {
        page.view.childNumber(
          isExact ? page.view.upperBound(of: key) : page.view.likelyUpperBound(of: key))
      }
      page = try self.page(number, level: level, compactionCount: compactionCount)
    }
    return page
  }

  /// Returns the page with this number, which must be at `level`.
  ///
  /// The check prevents a file from causing an endless descent.
  @inline(__always)
  func page(_ number: UInt32, level: Int, compactionCount: Int = 0) throws(PageError) -> Page {
    let rebuilt =
      hasReplacements.load(ordering: .acquiring) ? replacement(number, compactionCount) : nil
    do throws(PageError) {
      let page = if let rebuilt { rebuilt } else { try source.page(number) }
      if page.view.level == level { return page }
      throw PageError.damaged(
        page: number, reason: "the page is at level \(page.view.level) instead of \(level)")
    } catch {
      guard rebuilt == nil, case .damaged(_, let reason, _) = error else { throw error }
      throw .damaged(page: number, reason: reason, of: self)
    }
  }

  /// Returns the page that was rebuilt for a version that has seen `compactionCount` compactions.
  func replacement(_ number: UInt32, _ compactionCount: Int) -> Page? {
    replacements.withLock { $0[number]?.first { $0.compactionCount <= compactionCount }?.page }
  }

  /// Returns the object that keeps the bytes of a page alive.
  @inline(__always)
  func owner(of page: Page) -> AnyObject { page.owner ?? source }
}

extension Run {
  /// The keys that belong in a page of a run.
  struct Coverage: Equatable {
    /// The page's level: 0 is a leaf, and only a leaf can be rebuilt from its entries.
    let level: Int
    /// The first key that may be in the page; nil if it is the first page.
    let lower: [UInt8]?
    /// The first key that belongs after the page; nil if it is the last page.
    let upper: [UInt8]?

    /// Whether a key belongs in the page.
    func contains(_ key: [UInt8]) -> Bool {
      if let lower, key.lexicographicallyPrecedes(lower) { return false }
      if let upper, !key.lexicographicallyPrecedes(upper) { return false }
      return true
    }
  }

  /// Returns the keys that belong in a page, or nil if it is not a page of this run.
  ///
  /// It reads only inner pages, and not the page itself. Pages that cannot be read are passed over;
  /// if the page may be below one, it throws.
  func coverage(ofPage number: UInt32) throws(PageError) -> Coverage? {
    let whole = Coverage(level: summary.height, lower: nil, upper: nil)
    if number == summary.root { return whole }
    var pending = [(number: summary.root, whole)]
    // In a sound run no page has two parents; in any other the search still ends.
    var visited: Set<UInt32> = []
    var problem: PageError?
    while let (parent, coverage) = pending.popLast() {
      guard coverage.level > 0, visited.insert(parent).inserted else { continue }
      let page: Page
      do throws(PageError) { page = try self.page(parent, level: coverage.level) } catch {
        problem = error
        continue
      }
      for (child, part) in withExtendedLifetime(page, { coverage.parts(in: page.view) }) {
        if child == number { return part }
        if part.level > 0 { pending.append((child, part)) }
      }
    }
    if let problem { throw problem }
    return nil
  }

  /// Reads every page above the leaves: about one page in a hundred.
  func checkInnerPages() throws(PageError) {
    guard summary.height > 0 else { return }
    var pending = [(number: summary.root, level: summary.height)]
    // In a sound run no page has two parents; in any other the search still ends.
    var visited: Set<UInt32> = []
    while let (number, level) = pending.popLast() {
      guard visited.insert(number).inserted else {
        throw .damaged(page: number, reason: "the page has two parents")
      }
      let page = try page(number, level: level).view
      guard level > 1 else { continue }
      for index in 0...page.count { pending.append((page.childNumber(index), level - 1)) }
    }
  }

  /// Replaces a damaged leaf by one with these entries.
  ///
  /// Versions that have seen at least `compactionCount` compactions read the new leaf from now on.
  ///
  /// - Parameters:
  ///   - entries: the leaf's entries, in order of keys, each key once.
  ///   - number: the damaged page.
  ///   - compactionCount: the number of compactions that the entries' version had seen.
  /// - Returns: whether it was replaced; false if the entries are not in order or fit no page.
  func install(
    _ entries: [(key: [UInt8], value: [UInt8])], for number: UInt32, compactionCount: Int = 0
  ) -> Bool {
    guard let bytes = Page.leaf(of: entries), let page = try? Page(bytes, number: number) else {
      return false
    }
    install(page, for: number, compactionCount: compactionCount)
    return true
  }

  /// Replaces a damaged page for versions that have seen at least `compactionCount` compactions.
  func install(_ page: Page, for number: UInt32, compactionCount: Int = 0) {
    let replacement = Replacement(compactionCount: compactionCount, page: page)
    replacements.withLock { $0[number, default: []].append(replacement) }
    hasReplacements.store(true, ordering: .releasing)
  }
}

extension Run.Coverage {
  /// Returns the children of an inner page with this coverage, and the coverage of each.
  fileprivate func parts(in page: NodePage) -> [(child: UInt32, coverage: Run.Coverage)] {
    (0...page.count).map { index in
      let part = Run.Coverage(
        level: level - 1,
        lower: index == 0 ? lower : page.key(index - 1).array,
        upper: index == page.count ? upper : page.key(index).array)
      return (page.childNumber(index), part)
    }
  }
}

extension Page {
  /// Returns the bytes of a leaf of `size` bytes with these entries, which must fit.
  private static func encodeLeaf(
    _ entries: [(key: [UInt8], value: [UInt8])], size: Int
  ) -> SharedBytes {
    let buffer = PageBuffer(size: size)
    buffer.clear(level: 0)
    for entry in entries {
      let fits = entry.key.borrow { key in entry.value.borrow { buffer.append(key, $0) } }
      precondition(fits, "The page is smaller than its entries")
    }
    return buffer.sharedCopy
  }

  /// Returns the bytes of a leaf with these entries, or nil if no page is large enough.
  fileprivate static func leaf(of entries: [(key: [UInt8], value: [UInt8])]) -> SharedBytes? {
    var size = NodePage.headerSize
    var longest = 0
    for entry in entries {
      guard entry.key.count <= NodeEntry.lengthLimit, entry.value.count <= NodeEntry.lengthLimit
      else { return nil }
      size += Node.entrySize(entry.key.count, entry.value.count)
      longest = max(longest, entry.key.count + entry.value.count)
    }
    // A page is large enough only if its longest entry is within the limit for its size.
    size = max(size, BTree.pageSize(forEntry: longest))
    return size <= NodePageWriter.capacityLimit ? encodeLeaf(entries, size: size) : nil
  }
}
