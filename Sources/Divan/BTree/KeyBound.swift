internal import DivanLog

/// One end of a range of keys.
enum KeyBound: Equatable, Sendable {
  /// The range has no end on this side.
  case unbounded
  /// The range ends with this key.
  case inclusive([UInt8])
  /// The range ends just before this key.
  case exclusive([UInt8])
}

extension KeyBound {
  /// Returns the upper bound of the keys that begin with `prefix`.
  static func end(ofPrefix prefix: [UInt8]) -> KeyBound {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return .unbounded }
    var end = Array(prefix[...last])
    end[last] += 1
    return .exclusive(end)
  }

  /// Returns the lower bound of the keys after all that begin with `prefix`.
  ///
  /// A byte of the prefix must be less than 255.
  static func start(afterPrefix prefix: [UInt8]) -> KeyBound {
    let end = KeyBound.end(ofPrefix: prefix)
    precondition(end.key != nil, "No key follows the keys with this prefix")
    return end.key.map { .inclusive($0) } ?? .unbounded
  }

  /// The key, if there is one.
  var key: [UInt8]? {
    switch self {
    case .unbounded: nil
    case .inclusive(let key), .exclusive(let key): key
    }
  }
}

/// The range and the direction of a scan.
struct ScanRange: Sendable {
  let lower: KeyBound
  let upper: KeyBound
  let descending: Bool

  /// The key at which the scan begins, or nil if it begins at an end of the tree.
  var start: [UInt8]? { descending ? upper.key : lower.key }

  /// Returns the index of the child of an inner node to begin with.
  func firstChild(in page: NodePage) -> Int {
    guard let start else { return descending ? page.count : 0 }
    return start.borrow { page.upperBound(of: $0) }
  }
}

extension NodePage {
  /// Returns the index of a bound among a leaf's entries.
  func position(of bound: KeyBound, isUpper: Bool) -> Int {
    switch bound {
    case .unbounded: isUpper ? count : 0
    case .inclusive(let key): key.borrow { isUpper ? upperBound(of: $0) : lowerBound(of: $0) }
    case .exclusive(let key): key.borrow { isUpper ? lowerBound(of: $0) : upperBound(of: $0) }
    }
  }

  /// Returns the index of an upper bound among a leaf's entries, but not less than `start`.
  func end(of upper: KeyBound, from start: Int) -> Int {
    guard upper.key != nil else { return count }
    // Most ranges have few entries and need no second search.
    let few = min(start + 4, count)
    for index in start..<few where isKey(index, beyond: upper) { return index }
    // Most others include the rest of the leaf.
    guard few < count, isKey(count - 1, beyond: upper) else { return count }
    return position(of: upper, isUpper: true)
  }

  /// Whether the key at an index is beyond an upper bound.
  func isKey(_ index: Int, beyond bound: KeyBound) -> Bool {
    switch bound {
    case .unbounded: false
    case .inclusive(let end): end.borrow { key(index).compare($0) > 0 }
    case .exclusive(let end): end.borrow { key(index).compare($0) >= 0 }
    }
  }
}

/// The part of one leaf that a scan returns.
struct LeafWindow {
  /// The next entry's index; in a descending scan, one more than that.
  private var position: Int
  private let end: Int
  /// Whether the scan ends in this leaf.
  let isLast: Bool

  /// Creates an empty window for a scan that has not reached a leaf yet.
  init() {
    position = 0
    end = 0
    isLast = false
  }

  init(_ page: NodePage, _ range: ScanRange) {
    let low = page.position(of: range.lower, isUpper: false)
    let high = page.end(of: range.upper, from: low)
    if range.descending {
      position = max(low, high)
      end = low
      isLast = low > 0
    } else {
      position = low
      end = max(low, high)
      isLast = high < page.count
    }
  }

  /// Whether there is no next entry.
  var isAtEnd: Bool { position == end }

  /// The index of the next entry, or nil at the end of the window.
  @inline(__always)
  mutating func next(descending: Bool) -> Int? {
    if position == end { return nil }
    if descending {
      position -= 1
      return position
    }
    defer { position += 1 }
    return position
  }

  /// Passes all entries before `limit`, or all there are if it is nil, and returns their indexes.
  mutating func pass(
    before limit: SharedBytes?, in page: NodePage, descending: Bool
  ) -> Range<Int> {
    let start = position
    position =
      limit.map { $0.borrow { stopPosition(before: $0, in: page, descending: descending) } } ?? end
    return descending ? position..<start : start..<position
  }

  /// Returns the position at which a key stops the window.
  private func stopPosition(
    before limit: BorrowedBytes, in page: NodePage, descending: Bool
  ) -> Int {
    // Where layers alternate, the window often stops at once, which needs no search.
    if descending {
      guard position > end, page.key(position - 1).compare(limit) > 0 else { return position }
      return max(end, page.upperBound(of: limit))
    }
    guard position < end, page.key(position).compare(limit) < 0 else { return position }
    return min(end, page.lowerBound(of: limit))
  }
}
