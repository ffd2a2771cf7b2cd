/// Elements in an order, each of which knows its number, and is found by it.
///
/// A copy costs nothing, as with ``ChunkedList``. A number, and an element by its number, cost a
/// search; a change costs what it costs there, and a look at the size of each chunk.
struct RankedList<Element: Sendable>: Sendable {
  private var list: ChunkedList<Element>
  /// How many elements lie before each chunk.
  private var starts: [Int] = []

  /// Makes an empty list.
  ///
  /// - Parameter order: below, at or above zero, as the first comes before, is at, or comes after
  ///   the second.
  init(order: @escaping @Sendable (Element, Element) -> Int) { list = ChunkedList(order: order) }

  var count: Int { list.count }

  /// The element of a number.
  ///
  /// - Precondition: `rank` is at least 0 and below ``count``.
  subscript(rank: Int) -> Element {
    precondition(rank >= 0 && rank < count, "An index outside the list")
    var (low, high) = (0, starts.count)
    // The last chunk with no more than so many elements before it.
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= rank { low = middle } else { high = middle }
    }
    return list.chunks[low][rank - starts[low]]
  }

  /// How many elements `isBefore` holds for, which are the first ones.
  func rank(where isBefore: (Element) -> Bool) -> Int {
    let place = list.position(where: isBefore)
    return place.chunk < starts.count ? starts[place.chunk] + place.index : count
  }

  /// Calls `body` with all elements in their order.
  func forEach(_ body: (Element) throws -> Void) rethrows {
    for chunk in list.chunks {
      for element in chunk { try body(element) }
    }
  }

  /// Takes elements out and puts others in: see ``ChunkedList/replace(_:with:)``.
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

  /// Puts an element in the place of the one that is there by the order.
  mutating func exchange(_ element: Element) { list.exchange(element) }
}
