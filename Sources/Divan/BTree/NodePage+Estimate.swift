internal import DivanLog

extension NodePage {
  /// Returns the share of a leaf's entries that precede a bound.
  func share(before bound: KeyBound, isUpper: Bool) -> Double {
    Double(position(of: bound, isUpper: isUpper)) / Double(max(1, count))
  }

  /// Returns the share of a leaf's entries that are between two bounds.
  func share(between lower: KeyBound, _ upper: KeyBound) -> Double {
    let start = position(of: lower, isUpper: false)
    return Double(end(of: upper, from: start) - start) / Double(max(1, count))
  }

  /// Returns the index of the child that a bound leads to.
  func child(of bound: KeyBound, isUpper: Bool) -> Int {
    guard let key = bound.key else { return isUpper ? count : 0 }
    return key.borrow { upperBound(of: $0) }
  }

  /// Returns the indexes of the children that two bounds lead to.
  func children(between lower: KeyBound, _ upper: KeyBound) -> (first: Int, last: Int) {
    let first = child(of: lower, isUpper: false)
    // Often both lead to the same child, which needs no second search.
    if first < count, isKey(first, beyond: upper) { return (first, first) }
    return (first, child(of: upper, isUpper: true))
  }
}
