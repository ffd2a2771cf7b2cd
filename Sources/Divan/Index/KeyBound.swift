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

/// The part of one leaf that a scan gives.
struct LeafWindow {
  /// The next entry's index; in a descending scan, one more.
  private var position: Int
  private let end: Int
  /// Whether nothing beyond this leaf belongs to the scan.
  let isLast: Bool

  init(_ page: NodePage, _ range: ScanRange) {
    let low =
      switch range.lower {
      case .unbounded: 0
      case .inclusive(let key): key.lend { page.lowerBound(of: $0) }
      case .exclusive(let key): key.lend { page.upperBound(of: $0) }
      }
    let high =
      switch range.upper {
      case .unbounded: page.count
      case .inclusive(let key): key.lend { page.upperBound(of: $0) }
      case .exclusive(let key): key.lend { page.lowerBound(of: $0) }
      }
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
