/// A sorted list, in chunks of some hundred elements.
///
/// A copy costs nothing, and shares with the original every chunk that neither has changed since.
/// Finding, inserting and removing an element costs a search and a move within a chunk, and a move
/// of the list of chunks.
///
/// Invariants: no chunk is empty or longer than ``chunkLimit``; elements rise strictly, by `order`;
/// ``sizes`` are the chunks'.
struct ChunkedList<Element: Sendable>: Sendable {
  private(set) var chunks: [[Element]] = []
  /// How many elements each chunk has, side by side: reading it from
  /// thousands of chunks, each elsewhere in memory, is slow.
  private(set) var sizes: [Int] = []
  private(set) var count = 0
  /// Below, at or above zero, as the first comes before, is at, or comes after the second.
  private let order: @Sendable (Element, Element) -> Int

  private static var chunkLimit: Int { 256 }

  /// Makes an empty list.
  init(order: @escaping @Sendable (Element, Element) -> Int) { self.order = order }

  /// A place between elements.
  struct Position: Comparable {
    var chunk: Int
    var index: Int

    static func < (a: Self, b: Self) -> Bool {
      a.chunk != b.chunk ? a.chunk < b.chunk : a.index < b.index
    }
  }
}

extension ChunkedList {
  var start: Position { Position(chunk: 0, index: 0) }
  var end: Position { Position(chunk: chunks.count, index: 0) }

  /// The place before the first element that `isBefore` does not hold for; it holds for those up to
  /// there only.
  func position(where isBefore: (Element) -> Bool) -> Position {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(chunks[middle][chunks[middle].count - 1]) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low < chunks.count else { return end }
    let chunk = chunks[low]
    var (first, last) = (0, chunk.count)
    while first < last {
      let middle = (first + last) / 2
      if isBefore(chunk[middle]) { first = middle + 1 } else { last = middle }
    }
    return Position(chunk: low, index: first)
  }

  /// How many elements lie between two places.
  func count(from start: Position, to end: Position) -> Int {
    guard start < end else { return 0 }
    if start.chunk == end.chunk { return end.index - start.index }
    var count = end.index - start.index
    for chunk in start.chunk..<end.chunk { count += sizes[chunk] }
    return count
  }

  /// Calls `body` with the elements between two places, in their order or the reverse, until it
  /// returns false.
  func forEach(
    from start: Position, to end: Position, descending: Bool = false,
    _ body: (Element) throws -> Bool
  ) rethrows {
    guard start < end else { return }
    func range(_ chunk: Int) -> Range<Int> {
      (chunk == start.chunk ? start.index : 0)..<(chunk == end.chunk
        ? end.index : chunks[chunk].count)
    }
    let last = end.index > 0 ? end.chunk : end.chunk - 1
    if descending {
      for chunk in (start.chunk...last).reversed() {
        for index in range(chunk).reversed() where try !body(chunks[chunk][index]) { return }
      }
    } else {
      for chunk in start.chunk...last {
        for index in range(chunk) where try !body(chunks[chunk][index]) { return }
      }
    }
  }

  /// The element that is at the place of another one.
  func find(_ isBefore: (Element) -> Bool, _ isFound: (Element) -> Bool) -> Element? {
    let place = position(where: isBefore)
    guard place < end, isFound(chunks[place.chunk][place.index]) else { return nil }
    return chunks[place.chunk][place.index]
  }
}

extension ChunkedList {
  /// Takes elements out and puts others in.
  ///
  /// - Parameters:
  ///   - removed: in order; all of them are there.
  ///   - added: in order; none of them is there once the others are out.
  mutating func replace(_ removed: [Element], with added: [Element]) {
    if removed.count + added.count > count / 8 {
      merge(removed, added)
    } else {
      for element in removed { remove(element) }
      for element in added { insert(element) }
    }
  }

  /// Puts an element in the place of the one that is there by the order.
  mutating func exchange(_ element: Element) {
    let place = requirePlace(of: element)
    chunks[place.chunk][place.index] = element
  }

  private mutating func insert(_ element: Element) {
    count += 1
    var place = position { order($0, element) < 0 }
    if place.chunk == chunks.count {
      guard let last = chunks.indices.last else {
        (chunks, sizes) = ([[element]], [1])
        return
      }
      place = Position(chunk: last, index: sizes[last])
    }
    chunks[place.chunk].insert(element, at: place.index)
    sizes[place.chunk] += 1
    let size = sizes[place.chunk]
    guard size > Self.chunkLimit else { return }
    // A list that only grows at its end keeps full chunks.
    let half = place.index == size - 1 ? size - 1 : size / 2
    let upper = Array(chunks[place.chunk][half...])
    chunks[place.chunk].removeSubrange(half...)
    chunks.insert(upper, at: place.chunk + 1)
    sizes[place.chunk] = half
    sizes.insert(upper.count, at: place.chunk + 1)
  }

  private mutating func remove(_ element: Element) {
    let place = requirePlace(of: element)
    count -= 1
    chunks[place.chunk].remove(at: place.index)
    sizes[place.chunk] -= 1
    guard sizes[place.chunk] == 0 else { return }
    chunks.remove(at: place.chunk)
    sizes.remove(at: place.chunk)
  }

  private func requirePlace(of element: Element) -> Position {
    let place = position { order($0, element) < 0 }
    precondition(
      place < end && order(chunks[place.chunk][place.index], element) == 0,
      "A row to be replaced is not there")
    return place
  }

  /// Rebuilds all chunks.
  private mutating func merge(_ removed: [Element], _ added: [Element]) {
    var merged: [[Element]] = []
    var chunk: [Element] = []
    chunk.reserveCapacity(Self.chunkLimit)
    func append(_ element: Element) {
      chunk.append(element)
      guard chunk.count == Self.chunkLimit else { return }
      merged.append(chunk)
      chunk.removeAll(keepingCapacity: true)
    }
    var (nextRemoved, nextAdded) = (0, 0)
    for old in chunks {
      for element in old {
        if nextRemoved < removed.count, order(removed[nextRemoved], element) == 0 {
          nextRemoved += 1
          continue
        }
        while nextAdded < added.count, order(added[nextAdded], element) < 0 {
          append(added[nextAdded])
          nextAdded += 1
        }
        append(element)
      }
    }
    precondition(nextRemoved == removed.count, "A row to be replaced is not there")
    for element in added[nextAdded...] { append(element) }
    if !chunk.isEmpty { merged.append(chunk) }
    count += added.count - removed.count
    chunks = merged
    sizes = merged.map(\.count)
  }
}
