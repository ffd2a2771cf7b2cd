internal import DivanLog

/// One end of a range of keys.
enum KeyBound: Equatable, Sendable {
  /// The range has no end on this side.
  case unbounded
  /// The range ends with this key.
  case inclusive([UInt8])
  /// The range ends just before it would reach this key.
  case exclusive([UInt8])
}

extension KeyBound {
  /// The upper bound of the keys that begin with `prefix`.
  static func end(ofPrefix prefix: [UInt8]) -> KeyBound {
    guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return .unbounded }
    var end = Array(prefix[...last])
    end[last] += 1
    return .exclusive(end)
  }

  /// The lower bound of the keys that come after all that begin with `prefix`, in which a byte must be less than 255.
  static func start(afterPrefix prefix: [UInt8]) -> KeyBound {
    let end = KeyBound.end(ofPrefix: prefix)
    precondition(end.key != nil, "Nothing comes after the keys that begin so")
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

/// Which entries of a tree a scan gives, and in which direction.
struct ScanRange: Sendable {
  let lower: KeyBound
  let upper: KeyBound
  let descending: Bool

  /// The key at which the scan begins, or nil if it begins at an end of the tree.
  var start: [UInt8]? { descending ? upper.key : lower.key }

  /// Which child of an inner node to begin with.
  func firstChild(in page: NodePage) -> Int {
    guard let start else { return descending ? page.count : 0 }
    return start.lend { page.upperBound(of: $0) }
  }
}

extension NodePage {
  /// Where a bound is among a leaf's entries.
  func position(of bound: KeyBound, isUpper: Bool) -> Int {
    switch bound {
    case .unbounded: isUpper ? count : 0
    case .inclusive(let key): key.lend { isUpper ? upperBound(of: $0) : lowerBound(of: $0) }
    case .exclusive(let key): key.lend { isUpper ? lowerBound(of: $0) : upperBound(of: $0) }
    }
  }

  /// Where an upper bound is among a leaf's entries; `start` if it is before that.
  func end(of upper: KeyBound, from start: Int) -> Int {
    guard upper.key != nil else { return count }
    // Most ranges have few entries, and need no second search.
    let few = min(start + 4, count)
    for index in start..<few where isKey(index, beyond: upper) { return index }
    // Of most others all that follows in the leaf is meant.
    guard few < count, isKey(count - 1, beyond: upper) else { return count }
    return position(of: upper, isUpper: true)
  }

  /// Whether the key of an index is beyond an upper bound.
  func isKey(_ index: Int, beyond bound: KeyBound) -> Bool {
    switch bound {
    case .unbounded: false
    case .inclusive(let end): end.lend { key(index).compare($0) > 0 }
    case .exclusive(let end): end.lend { key(index).compare($0) >= 0 }
    }
  }
}

/// The part of one leaf that a scan gives.
struct LeafWindow {
  /// The next entry's index; in a descending scan, one more.
  private var position: Int
  private let end: Int
  /// Whether nothing beyond this leaf belongs to the scan.
  let isLast: Bool

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
}
