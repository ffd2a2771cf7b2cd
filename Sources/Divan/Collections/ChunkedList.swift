/// A sorted list, in chunks of some hundred elements.
///
/// A copy takes constant time, and shares each chunk with the original until one of them changes
/// it. Finding, inserting and removing an element costs a search and a move within a chunk, and a
/// move of the list of chunks.
///
/// Invariants:
/// - No chunk is empty or longer than ``chunkLimit``.
/// - The elements ascend strictly by `order`.
/// - ``sizes`` are the sizes of the chunks.
struct ChunkedList<Element: Sendable>: Sendable {
  private(set) var chunks: [[Element]] = []
  /// The number of elements of each chunk.
  ///
  /// They are adjacent: reading them from thousands of chunks, scattered in memory, is slow.
  private(set) var sizes: [Int] = []
  private(set) var count = 0
  /// Returns a number below zero if the first element comes before the second, zero if they have
  /// the same position, and a number above zero otherwise.
  private let order: @Sendable (Element, Element) -> Int

  private static var chunkLimit: Int { 256 }

  /// Creates an empty list.
  init(order: @escaping @Sendable (Element, Element) -> Int) { self.order = order }

  /// A position between elements.
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

  /// Returns the position before the first element for which `isBefore` returns false.
  ///
  /// `isBefore` must return true for all elements before that position, and false after it.
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

  /// Returns the number of elements between two positions.
  func count(from start: Position, to end: Position) -> Int {
    guard start < end else { return 0 }
    if start.chunk == end.chunk { return end.index - start.index }
    var count = end.index - start.index
    for chunk in start.chunk..<end.chunk { count += sizes[chunk] }
    return count
  }

  /// Calls `body` with the elements between two positions, in their order or the reverse, until it
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

  /// Returns the first element for which `isBefore` returns false, if `isFound` accepts it.
  func find(_ isBefore: (Element) -> Bool, _ isFound: (Element) -> Bool) -> Element? {
    let position = position(where: isBefore)
    guard position < end, isFound(chunks[position.chunk][position.index]) else { return nil }
    return chunks[position.chunk][position.index]
  }
}

extension ChunkedList {
  /// Removes elements and inserts others.
  ///
  /// - Parameters:
  ///   - removed: the elements to remove, in order; all of them must be in the list.
  ///   - added: the elements to insert, in order; the rest of the list must contain none of them.
  mutating func replace(_ removed: [Element], with added: [Element]) {
    if removed.count + added.count > count / 8 {
      merge(removed, added)
    } else {
      for element in removed { remove(element) }
      for element in added { insert(element) }
    }
  }

  /// Replaces the element that has the same position by the order.
  mutating func exchange(_ element: Element) {
    let position = requirePosition(of: element)
    chunks[position.chunk][position.index] = element
  }

  private mutating func insert(_ element: Element) {
    count += 1
    var position = position { order($0, element) < 0 }
    if position.chunk == chunks.count {
      guard let last = chunks.indices.last else {
        (chunks, sizes) = ([[element]], [1])
        return
      }
      position = Position(chunk: last, index: sizes[last])
    }
    chunks[position.chunk].insert(element, at: position.index)
    sizes[position.chunk] += 1
    let size = sizes[position.chunk]
    guard size > Self.chunkLimit else { return }
    // A list that only grows at its end keeps full chunks.
    let half = position.index == size - 1 ? size - 1 : size / 2
    let upper = Array(chunks[position.chunk][half...])
    chunks[position.chunk].removeSubrange(half...)
    chunks.insert(upper, at: position.chunk + 1)
    sizes[position.chunk] = half
    sizes.insert(upper.count, at: position.chunk + 1)
  }

  private mutating func remove(_ element: Element) {
    let position = requirePosition(of: element)
    count -= 1
    chunks[position.chunk].remove(at: position.index)
    sizes[position.chunk] -= 1
    guard sizes[position.chunk] == 0 else { return }
    chunks.remove(at: position.chunk)
    sizes.remove(at: position.chunk)
  }

  private func requirePosition(of element: Element) -> Position {
    let position = position { order($0, element) < 0 }
    precondition(
      position < end && order(chunks[position.chunk][position.index], element) == 0,
      "The list does not contain an element to be replaced")
    return position
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
    precondition(
      nextRemoved == removed.count, "The list does not contain an element to be replaced")
    for element in added[nextAdded...] { append(element) }
    if !chunk.isEmpty { merged.append(chunk) }
    count += added.count - removed.count
    chunks = merged
    sizes = merged.map(\.count)
  }
}
