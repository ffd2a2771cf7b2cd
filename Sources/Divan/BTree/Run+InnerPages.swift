internal import DivanLog

// MARK: From the pages below

extension Run {
  /// Rebuilds an inner page, which is read instead of the damaged one from now on.
  ///
  /// A page has one parent. So the children are the pages of the level below, in the page's range
  /// of keys, that no other page of the source refers to. They are used only if all leaves of the
  /// run then have as many entries as were written: no leaf is left out.
  ///
  /// Costs a read of all pages of the source, and two bytes of memory for each.
  ///
  /// - Returns: Whether it was rebuilt; false if it is not an inner page, or another page is
  ///   damaged as well.
  /// - Throws: `unreadable` if the system cannot read a page.
  func rebuildInnerPage(_ number: UInt32) throws(PageError) -> Bool {
    do throws(PageError) {
      guard let coverage = try coverage(ofPage: number), coverage.level > 0,
        let page = try innerPage(number, coverage),
        try leafEntryCount(with: page, at: number) == count
      else { return false }
      install(page, for: number)
      return true
    } catch .unreadable(let page, let error) {
      throw .unreadable(page: page, error)
    } catch {
      return false
    }
  }

  /// A page of the level below, with the first and the last key under it.
  private struct Child {
    let number: UInt32
    let first: [UInt8]
    let last: [UInt8]
  }

  /// Returns an inner page with its children as ``RunWriter`` writes it; nil if it has none.
  private func innerPage(_ number: UInt32, _ coverage: Coverage) throws(PageError) -> Page? {
    var children: [Child] = []
    for child in try pagesWithoutParent(besides: number, level: coverage.level - 1) {
      let first = try outermostKey(of: child, level: coverage.level - 1, isLast: false)
      let last = try outermostKey(of: child, level: coverage.level - 1, isLast: true)
      if coverage.contains(first), coverage.contains(last) {
        children.append(Child(number: child, first: first, last: last))
      }
    }
    children.sort { $0.first.lexicographicallyPrecedes($1.first) }
    guard let leftmost = children.first else { return nil }
    let buffer = PageBuffer(size: source.pageSize)
    buffer.clear(level: coverage.level)
    buffer.writer.setFirstChild(leftmost.number)
    for (left, right) in zip(children, children.dropFirst()) {
      guard left.last.lexicographicallyPrecedes(right.first) else { return nil }
      let separator = left.last.borrow { left in
        right.first.borrow { NodePage.separator(between: left, and: $0) }
      }
      guard separator.borrow({ buffer.append($0, child: right.number) }) else { return nil }
    }
    return try Page(buffer.sharedCopy, number: number)
  }

  /// Returns the pages of a level that no sound page of the source refers to, except one page.
  private func pagesWithoutParent(
    besides damaged: UInt32, level: Int
  ) throws(PageError) -> [UInt32] {
    let pageCount = source.pageCount
    var levels = [UInt8](repeating: .max, count: pageCount)
    var hasParent = [Bool](repeating: false, count: pageCount)
    for index in 0..<pageCount where index != damaged {
      let page: Page
      do throws(PageError) {
        page = try source.page(UInt32(index))
      } catch .unreadable(let page, let error) {
        throw .unreadable(page: page, error)
      } catch {
        // It is damaged, or part of a filter.
        continue
      }
      withExtendedLifetime(page) {
        levels[index] = UInt8(clamping: page.view.level)
        guard page.view.level > 0 else { return }
        for child in 0...page.view.count {
          let number = Int(page.view.childNumber(child))
          if number < pageCount { hasParent[number] = true }
        }
      }
    }
    return levels.indices.filter { Int(levels[$0]) == level && !hasParent[$0] }.map { UInt32($0) }
  }

  /// Returns the first or the last key below a page.
  private func outermostKey(
    of number: UInt32, level: Int, isLast: Bool
  ) throws(PageError) -> [UInt8] {
    var page = try page(number, level: level)
    for below in stride(from: level - 1, through: 0, by: -1) {
      let child = withExtendedLifetime(page) {
        page.view.childNumber(isLast ? page.view.count : 0)
      }
      page = try self.page(child, level: below)
    }
    return try withExtendedLifetime(page) { () throws(PageError) in
      guard page.view.count > 0 else { throw .damaged(page: number, reason: "a leaf is empty") }
      return page.view.key(isLast ? page.view.count - 1 : 0).array
    }
  }

  /// Counts the entries of all leaves, with a page in the place of a damaged one.
  private func leafEntryCount(
    with replacement: Page, at damaged: UInt32
  ) throws(PageError) -> Int {
    var found = 0
    var pending = [(number: summary.root, level: summary.height)]
    // In a sound run no page has two parents; in any other the search still ends.
    var visited: Set<UInt32> = []
    while let (number, level) = pending.popLast() {
      guard visited.insert(number).inserted else {
        throw .damaged(page: number, reason: "the page has two parents")
      }
      let page = number == damaged ? replacement : try page(number, level: level)
      withExtendedLifetime(page) {
        if level == 0 {
          found += page.view.count
        } else {
          for index in 0...page.view.count {
            pending.append((page.view.childNumber(index), level - 1))
          }
        }
      }
    }
    return found
  }
}

// MARK: With new pages below

extension Run {
  /// Replaces a damaged inner page, and all pages below it, by pages with these entries.
  ///
  /// - Parameters:
  ///   - entries: the entries in the page's range of keys, in order of keys, each key once.
  ///   - number: the damaged page.
  ///   - level: its level.
  ///   - compactionCount: the number of compactions that the entries' version had seen.
  /// - Returns: whether it was replaced; false if an entry fits no page, or all of them no tree of
  ///   this height.
  func install(
    _ entries: [(key: [UInt8], value: [UInt8])], below number: UInt32, level: Int,
    compactionCount: Int
  ) -> Bool {
    let pages = NewPages(of: self)
    var writer = RunWriter(pageSize: source.pageSize) { pages.append($0) }
    let limit = BTree.entryLimit(pageSize: source.pageSize)
    guard entries.allSatisfy({ $0.key.count + $0.value.count <= limit }) else { return false }
    do {
      for entry in entries { try writer.append(entry.key.span, entry.value.span) }
      var root = try writer.finish()
      // The pages in between have one child each.
      while root.height < level {
        let buffer = PageBuffer(size: source.pageSize)
        buffer.clear(level: root.height + 1)
        buffer.writer.setFirstChild(root.root)
        root.root = buffer.withSpan { pages.append($0) }
        root.height += 1
      }
      guard root.height == level else { return false }
    } catch {
      preconditionFailure("Pages in memory cannot be written: \(error)")
    }
    return install(pages.pages, for: number, compactionCount: compactionCount)
  }

  /// Pages in memory, of which the last one takes the place of a damaged page.
  private final class NewPages {
    private(set) var pages: [(number: UInt32, bytes: SharedBytes)] = []
    private let run: Run

    init(of run: Run) { self.run = run }

    func append(_ page: Span<UInt8>) -> UInt32 {
      let number = run.newPageNumber()
      pages.append((number, SharedBytes(copying: page)))
      return number
    }
  }
}
