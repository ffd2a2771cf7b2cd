/// The elements with the highest ranks, in bounded memory.
struct TopList<Element> {
  private(set) var items: [(rank: UInt64, element: Element)] = []
  /// The number of all elements that were added.
  private(set) var count = 0
  private let limit: Int

  /// Keeps at most `limit` elements.
  init(limit: Int) { self.limit = limit }
}

extension TopList {
  /// The elements, the one with the highest rank first; of equal ranks, the one added first.
  var elements: [Element] { items.map(\.element) }

  /// Adds an element, which is made only if it is kept.
  mutating func add(rank: UInt64, _ element: @autoclosure () -> Element) {
    count += 1
    guard items.count < limit || items.last.map({ rank > $0.rank }) == true else { return }
    let index = items.firstIndex { $0.rank < rank } ?? items.count
    items.insert((rank, element()), at: index)
    if items.count > limit { items.removeLast() }
  }
}

/// The number of elements in each class of sizes; a class ends at a power of two.
struct SizeHistogram {
  /// The counts by the number of binary digits of the largest size.
  private var counts = [Int](repeating: 0, count: 65)
  private(set) var total: UInt64 = 0
  private(set) var count = 0

  /// A class of sizes.
  struct Bar: Equatable {
    /// The largest size in the class, in bytes.
    let limit: UInt64
    let count: Int
  }
}

extension SizeHistogram {
  mutating func add(_ size: UInt64) {
    count += 1
    total += min(size, .max - total)
    counts[size < 2 ? 0 : UInt64.bitWidth - (size - 1).leadingZeroBitCount] += 1
  }

  /// The classes from the smallest to the largest one that is not empty.
  var bars: [Bar] {
    guard let first = counts.firstIndex(where: { $0 > 0 }),
      let last = counts.lastIndex(where: { $0 > 0 })
    else { return [] }
    return (first...last).map { Bar(limit: $0 < 64 ? 1 << UInt64($0) : .max, count: counts[$0]) }
  }

  /// The largest size of the class in which the middle element is; 0 if there are none.
  var medianLimit: UInt64 {
    var rest = count / 2
    for bar in bars {
      if rest < bar.count { return bar.limit }
      rest -= bar.count
    }
    return 0
  }
}
