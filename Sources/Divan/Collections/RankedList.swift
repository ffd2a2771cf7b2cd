/// A sorted list whose elements are found by their rank.
///
/// A copy takes constant time, as with ``ChunkedList``. Finding a rank, or an element by its rank,
/// costs a search. A change costs the same as there, and reads the size of each chunk.
struct RankedList<Element: Sendable>: Sendable {
  private var list: ChunkedList<Element>
  /// The number of elements before each chunk.
  private var starts: [Int] = []

  /// Creates an empty list.
  ///
  /// - Parameter order: returns a number below zero if the first element comes before the second,
  ///   zero if they have the same position, and a number above zero otherwise.
  init(order: @escaping @Sendable (Element, Element) -> Int) { list = ChunkedList(order: order) }

  var count: Int { list.count }

  /// The element with a rank.
  ///
  /// - Precondition: `rank` is at least 0 and below ``count``.
  subscript(rank: Int) -> Element {
    precondition(rank >= 0 && rank < count, "The rank is outside the list")
    var (low, high) = (0, starts.count)
    // Finds the last chunk with at most `rank` elements before it.
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= rank { low = middle } else { high = middle }
    }
    return list.chunks[low][rank - starts[low]]
  }

  /// Returns the number of elements for which `isBefore` returns true, which are the first ones.
  func rank(where isBefore: (Element) -> Bool) -> Int {
    let position = list.position(where: isBefore)
    return position.chunk < starts.count ? starts[position.chunk] + position.index : count
  }

  /// Calls `body` with all elements in their order.
  func forEach(_ body: (Element) throws -> Void) rethrows {
    for chunk in list.chunks {
      for element in chunk { try body(element) }
    }
  }

  /// Removes elements and inserts others: see ``ChunkedList/replace(_:with:)``.
  mutating func replace(_ removed: [Element], with added: [Element]) {
    guard !removed.isEmpty || !added.isEmpty else { return }
    list.replace(removed, with: added)
    starts.removeAll(keepingCapacity: true)
    var start = 0
    for size in list.sizes {
      starts.append(start)
      start += size
    }
  }

  /// Replaces the element that has the same position by the order.
  mutating func exchange(_ element: Element) { list.exchange(element) }
}
