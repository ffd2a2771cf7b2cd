/// The difference of two lists: the elements that were inserted, deleted, moved and changed.
///
/// Use it for views that show lists and animate changes. Deletions and the origins of moves are
/// indexes of the old list; insertions and the destinations of moves are indexes of the new
/// one, as `performBatchUpdates` of table and collection views takes them. As few elements move as
/// possible.
///
/// ```swift
/// let difference = ListDifference(from: old, to: new)
/// tableView.performBatchUpdates {
///   tableView.deleteRows(
///     at: difference.deletions.map { IndexPath(row: $0, section: 0) }, with: .fade)
///   tableView.insertRows(
///     at: difference.insertions.map { IndexPath(row: $0, section: 0) }, with: .fade)
///   for move in difference.moves {
///     tableView.moveRow(
///       at: IndexPath(row: move.from, section: 0), to: IndexPath(row: move.to, section: 0))
///   }
/// }
/// // Elements that are in both lists and have changed.
/// for update in difference.updates { show(new[update.to], inRow: update.to) }
/// ```
///
/// Elements with the same ID are distinguished by their order.
public struct ListDifference: Sendable, Hashable {
  /// Indexes in the old list of elements that are not in the new one, ascending.
  public private(set) var deletions: [Int] = []
  /// Indexes in the new list of elements that were not in the old one, ascending.
  public private(set) var insertions: [Int] = []
  /// Elements that are in both lists and have another position among the others, in the order of
  /// the new list.
  public private(set) var moves: [Match] = []
  /// Elements that are in both lists and are not equal, moved or not, in the order of the new list.
  public private(set) var updates: [Match] = []

  /// The indexes of an element that is in both lists.
  ///
  /// ```swift
  /// for move in difference.moves { print("Row \(move.from) moves to row \(move.to)") }
  /// for update in difference.updates { print("Row \(update.to) has changed") }
  /// ```
  public struct Match: Sendable, Hashable {
    /// Its index in the old list.
    public let from: Int
    /// Its index in the new list.
    public let to: Int
  }

  /// Creates the difference of equal lists.
  init() {}

  /// Whether the lists are equal.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }
}

extension ListDifference {
  /// Compares two lists of elements that have IDs.
  ///
  /// Takes time linear in their lengths *n*, and *n* log *n* if elements have moved.
  public init<Element: Identifiable & Equatable>(from old: [Element], to new: [Element]) {
    self.init(from: old, to: new, id: \.id, isEqual: ==)
  }

  /// Compares two lists of elements that have IDs, with a closure that compares elements.
  ///
  /// - Parameters:
  ///   - old: the old list.
  ///   - new: the new list.
  ///   - isEqual: returns whether an element of the old list and one of the new list with the same
  ///     ID are equal.
  public init<Element: Identifiable>(
    from old: [Element], to new: [Element], isEqual: (Element, Element) -> Bool
  ) {
    self.init(from: old, to: new, id: \.id, isEqual: isEqual)
  }

  /// Compares two lists, with closures that identify and compare elements.
  ///
  /// - Parameters:
  ///   - old: the old list.
  ///   - new: the new list.
  ///   - id: returns the ID of an element.
  ///   - isEqual: returns whether an element of the old list and one of the new list with the same
  ///     ID are equal.
  public init<Element, ID: Hashable>(
    from old: [Element], to new: [Element], id: (Element) -> ID,
    isEqual: (Element, Element) -> Bool
  ) {
    let oldIDs = old.map(id)
    let newIDs = new.map(id)
    // Equal elements at both ends need no table, and most changes are small.
    var start = 0
    while start < min(old.count, new.count), oldIDs[start] == newIDs[start] { start += 1 }
    var (oldEnd, newEnd) = (old.count, new.count)
    while oldEnd > start, newEnd > start, oldIDs[oldEnd - 1] == newIDs[newEnd - 1] {
      oldEnd -= 1
      newEnd -= 1
    }
    // The old indexes of each ID, the first at the end.
    var oldIndexes: [ID: [Int]] = [:]
    for index in (start..<oldEnd).reversed() {
      oldIndexes[oldIDs[index], default: []].append(index)
    }
    var kept: [Match] = []
    for index in start..<newEnd {
      if let from = oldIndexes[newIDs[index]]?.popLast() {
        kept.append(Match(from: from, to: index))
      } else {
        insertions.append(index)
      }
    }
    deletions = oldIndexes.values.flatMap(\.self).sorted()
    let stays = ListDifference.longestRise(kept.map(\.from))
    moves = zip(kept, stays).filter { !$1 }.map(\.0)
    let pairs =
      (0..<start).map { Match(from: $0, to: $0) } + kept
      + zip(oldEnd..<old.count, newEnd..<new.count).map { Match(from: $0, to: $1) }
    updates = pairs.filter { !isEqual(old[$0.from], new[$0.to]) }
  }

  /// Returns which of some distinct numbers belong to their longest ascending subsequence.
  private static func longestRise(_ numbers: [Int]) -> [Bool] {
    // The index of the least number with which a subsequence of each length ends, and the index of
    // the number before each number.
    var ends: [Int] = []
    var before: [Int?] = []
    for (index, number) in numbers.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      before.append(low > 0 ? ends[low - 1] : nil)
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var belongs = [Bool](repeating: false, count: numbers.count)
    var next = ends.last
    while let index = next {
      belongs[index] = true
      next = before[index]
    }
    return belongs
  }
}

extension ListDifference {
  /// Creates a difference from the changes that were made to a sorted list.
  ///
  /// - Parameters:
  ///   - deletions: ascending.
  ///   - insertions: ascending.
  ///   - shifted: elements that are in both lists and may have another position among the others,
  ///     in any order. The other elements kept their order, so only these can be moves.
  ///   - updates: in the order of the new list.
  init(deletions: [Int], insertions: [Int], shifted: [Match], updates: [Match]) {
    self.deletions = deletions
    self.insertions = insertions
    self.updates = updates
    guard shifted.count + deletions.count + insertions.count > 1 else {
      // The most frequent case: an element has moved if its index has changed.
      moves = shifted.filter { $0.from != $0.to }
      return
    }
    guard !shifted.isEmpty else { return }
    let shifted = shifted.sorted { $0.to < $1.to }
    let unsteadyOld = (deletions + shifted.map(\.from)).sorted()
    let unsteadyNew = (insertions + shifted.map(\.to)).sorted()
    // Elements with as many steady elements before them as they had can have moved among themselves
    // only.
    let isNear = shifted.map { match in
      match.from - unsteadyOld.countBelow(match.from)
        == match.to - unsteadyNew.countBelow(match.to)
    }
    let near = zip(shifted, isNear).filter(\.1).map(\.0)
    let stays = ListDifference.longestRise(near.map(\.from))
    let steady = Set(zip(near, stays).filter(\.1).map(\.0.to))
    moves = shifted.filter { !steady.contains($0.to) }
  }
}

extension ListDifference {
  /// Changes the old list to the new one.
  ///
  /// - Parameters:
  ///   - list: the old list, which becomes the new one.
  ///   - new: the new list; only inserted and changed elements are taken from it.
  /// - Precondition: The lists have the lengths of the compared lists.
  public func apply<Element>(to list: inout [Element], from new: [Element]) {
    let removed = Set(deletions).union(moves.map(\.from))
    var stayed = list.indices.filter { !removed.contains($0) }.makeIterator()
    let moved = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
    let changed = Set(insertions).union(updates.map(\.to))
    let old = list
    list = new.indices.map { index in
      // An element that was neither inserted nor moved is the next of those that stayed.
      let oldIndex = insertions.contains(sorted: index) ? nil : moved[index] ?? stayed.next()
      guard let oldIndex, !changed.contains(index) else { return new[index] }
      return old[oldIndex]
    }
  }
}

extension ListDifference {
  /// Changes the old list to the new one, with elements for ``insertions``, in their order.
  ///
  /// Costs a move of the elements behind each inserted, deleted or moved one; if these are many, a
  /// new list.
  func apply<Element>(to list: inout [Element], inserting inserted: [Element]) {
    precondition(inserted.count == insertions.count, "There must be one element for each insertion")
    let moved = moves.map { list[$0.from] }
    let removed = (deletions + moves.map(\.from)).sorted()
    let added = (Array(zip(insertions, inserted)) + Array(zip(moves.map(\.to), moved)))
      .sorted { $0.0 < $1.0 }
    guard removed.count + added.count > 16 else {
      for index in removed.reversed() { list.remove(at: index) }
      for (index, element) in added { list.insert(element, at: index) }
      return
    }
    var (nextRemoved, nextAdded) = (0, 0)
    var new: [Element] = []
    new.reserveCapacity(list.count + added.count)
    for (index, element) in list.enumerated() {
      if nextRemoved < removed.count, removed[nextRemoved] == index {
        nextRemoved += 1
        continue
      }
      while nextAdded < added.count, added[nextAdded].0 == new.count {
        new.append(added[nextAdded].1)
        nextAdded += 1
      }
      new.append(element)
    }
    for (_, element) in added[nextAdded...] { new.append(element) }
    list = new
  }
}

extension [Int] {
  /// Returns how many of these numbers, which ascend, are below `number`.
  fileprivate func countBelow(_ number: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Whether these numbers, which ascend, contain `number`.
  fileprivate func contains(sorted number: Int) -> Bool {
    let index = countBelow(number)
    return index < count && self[index] == number
  }
}
