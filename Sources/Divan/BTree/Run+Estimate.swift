internal import DivanLog

extension Run {
  /// Returns the share of all entries that are between two bounds.
  func share(
    between lower: KeyBound, _ upper: KeyBound, compactionCount: Int
  ) throws(PageError) -> Double {
    var page = try page(summary.root, level: summary.height, compactionCount: compactionCount)
    var weight = 1.0
    var level = summary.height
    while level > 0 {
      level -= 1
      // The page may have the only reference to its owner.
      let (first, last, span, count) = withExtendedLifetime(page) {
        let (first, last) = page.view.children(between: lower, upper)
        return (
          page.view.childNumber(first), page.view.childNumber(last), Double(last - first),
          Double(page.view.count + 1)
        )
      }
      guard span == 0 else {
        let start = try share(of: first, level, below: lower, isUpper: false, compactionCount)
        let end = try share(of: last, level, below: upper, isUpper: true, compactionCount)
        return weight * (span + end - start) / count
      }
      weight /= count
      page = try self.page(first, level: level, compactionCount: compactionCount)
    }
    return withExtendedLifetime(page) { weight * page.view.share(between: lower, upper) }
  }

  /// Returns the share of the entries below a page that precede a bound.
  private func share(
    of number: UInt32, _ level: Int, below bound: KeyBound, isUpper: Bool, _ compactionCount: Int
  ) throws(PageError) -> Double {
    let page = try page(number, level: level, compactionCount: compactionCount)
    guard level > 0 else {
      return withExtendedLifetime(page) { page.view.share(before: bound, isUpper: isUpper) }
    }
    let (index, child, count) = withExtendedLifetime(page) {
      let index = page.view.child(of: bound, isUpper: isUpper)
      return (index, page.view.childNumber(index), Double(page.view.count + 1))
    }
    let inner = try share(of: child, level - 1, below: bound, isUpper: isUpper, compactionCount)
    return (Double(index) + inner) / count
  }
}
