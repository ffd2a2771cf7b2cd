internal import DivanLog
internal import Synchronization

extension Run {
  /// Checks the inner pages, and rebuilds damaged ones; throws if that is not possible.
  func requireInnerPages() throws(PageError) {
    do throws(PageError) {
      try checkInnerPages()
    } catch {
      guard (try? rebuildInnerPages()) == true else { throw error }
    }
  }

  /// Rebuilds the damaged inner pages, which are read from memory from now on.
  ///
  /// The same leaves make the same inner pages, with the same numbers. So the leaves go through an
  /// ``InnerPageWriter`` once more: they are the run's pages from the first to the root, except
  /// those that the writer makes. The new pages are used only if everything else is as it was
  /// written: the number of entries, the number and the level of the root, and the contents of all
  /// inner pages that are not damaged. So a leaf that is damaged as well is never left out.
  ///
  /// Costs a read of the run's pages, and memory for the inner ones, about one page in a hundred.
  /// It is done once for a run: other threads wait, and get the same result.
  ///
  /// - Returns: Whether they were rebuilt; false if a leaf is damaged as well, or if it is unknown
  ///   where the run begins.
  /// - Throws: `unreadable` if the system cannot read a page; further calls return false.
  func rebuildInnerPages() throws(PageError) -> Bool {
    try innerPageRebuilding.withLock { (result) throws(PageError) in
      if let result { return result }
      result = false
      let isRebuilt = try makeInnerPages()
      result = isRebuilt
      return isRebuilt
    }
  }

  private func makeInnerPages() throws(PageError) -> Bool {
    do throws(PageError) {
      guard let made = try innerPages() else { return false }
      var damaged: [(number: UInt32, page: Page)] = []
      for (number, bytes) in made {
        let new = try Page(bytes, number: number)
        guard let old = try soundPage(number) else {
          damaged.append((number, new))
          continue
        }
        let isSame = withExtendedLifetime((old, new)) { old.view.hasSameChildren(as: new.view) }
        guard isSame else { return false }
      }
      for (number, page) in damaged { install(page, for: number) }
      return true
    } catch {
      guard case .damaged = error else { throw error }
      return false
    }
  }

  /// Returns a page of the source; nil if it is damaged.
  private func soundPage(_ number: UInt32) throws(PageError) -> Page? {
    do throws(PageError) {
      return try source.page(number)
    } catch {
      guard case .damaged = error else { throw error }
      return nil
    }
  }

  /// Makes the inner pages of the leaves; nil if the leaves are not those that were written.
  private func innerPages() throws(PageError) -> [(number: UInt32, bytes: SharedBytes)]? {
    guard var number = firstPage, summary.height > 0 else { return nil }
    var pages: [(number: UInt32, bytes: SharedBytes)] = []
    var writer = InnerPageWriter(pageSize: source.pageSize) { page in
      pages.append((number, SharedBytes(copying: page)))
      number &+= 1
      return pages[pages.count - 1].number
    }
    var lastKey: [UInt8]?
    var entryCount = 0
    while entryCount < count {
      guard number < summary.root else { return nil }
      let leaf = try source.page(number)
      guard let keys = leaf.outermostKeys, leaf.view.level == 0 else { return nil }
      var separator: [UInt8]?
      if let lastKey {
        guard lastKey.lexicographicallyPrecedes(keys.first) else { return nil }
        separator = lastKey.borrow { left in
          keys.first.borrow { NodePage.separator(between: left, and: $0) }
        }
      }
      lastKey = keys.last
      entryCount += withExtendedLifetime(leaf) { leaf.view.count }
      number += 1
      append(number - 1, separator, to: &writer)
    }
    guard entryCount == count, !writer.isEmpty, let (root, height) = try? writer.finish(),
      root == summary.root, height == summary.height
    else { return nil }
    return pages
  }

  private func append(_ leaf: UInt32, _ separator: [UInt8]?, to writer: inout InnerPageWriter) {
    do throws(LogError) {
      try writer.append(leaf: leaf, separator: separator)
    } catch {
      preconditionFailure("Pages in memory cannot be written: \(error)")
    }
  }
}

extension Page {
  /// The first and the last key; nil if there is none.
  fileprivate var outermostKeys: (first: [UInt8], last: [UInt8])? {
    withExtendedLifetime(self) {
      view.count == 0 ? nil : (view.key(0).array, view.key(view.count - 1).array)
    }
  }
}

extension NodePage {
  /// Whether two inner pages of files have the same separators and children.
  fileprivate func hasSameChildren(as other: NodePage) -> Bool {
    level == other.level && count == other.count
      && (0..<count).allSatisfy { key($0).equals(other.key($0)) }
      && (0...count).allSatisfy { childNumber($0) == other.childNumber($0) }
  }
}
