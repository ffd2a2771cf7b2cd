/// The difference of two lists: the elements that were inserted, deleted, moved and changed.
///
/// It is meant for views that show lists and animate changes. Deletions and the origins of moves
/// are indexes of the old list; insertions and the destinations of moves are indexes of the new
/// one, as `performBatchUpdates` of table and collection views takes them. As few elements move as
/// possible.
///
/// ```swift
/// let difference = ListDifference(from: old, to: new)
/// tableView.performBatchUpdates {
///   tableView.deleteRows(at: difference.deletions.map { IndexPath(row: $0, section: 0) }, with: .fade)
///   tableView.insertRows(at: difference.insertions.map { IndexPath(row: $0, section: 0) }, with: .fade)
///   for move in difference.moves {
///     tableView.moveRow(
///       at: IndexPath(row: move.from, section: 0), to: IndexPath(row: move.to, section: 0))
///   }
/// }
/// // Elements that stayed themselves and have changed, wherever they are.
/// for update in difference.updates { show(new[update.to], inRow: update.to) }
/// ```
///
/// Elements with the same ID are distinguished by their order.
public struct ListDifference: Sendable, Hashable {
  /// Indexes in the old list of elements that are not in the new one, ascending.
  public private(set) var deletions: [Int] = []
  /// Indexes in the new list of elements that were not in the old one, ascending.
  public private(set) var insertions: [Int] = []
  /// Elements that are in both and have another place among the others, in the order of the new
  /// list.
  public private(set) var moves: [Match] = []
  /// Elements that are in both and are not equal, moved or not, in the order of the new list.
  public private(set) var updates: [Match] = []

  /// An element that is in both lists: where it was, and where it is.
  public struct Match: Sendable, Hashable {
    /// Its index in the old list.
    public let from: Int
    /// Its index in the new list.
    public let to: Int
  }

  /// Two lists that are the same.
  init() {}

  /// Whether the lists are the same.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }
}

extension ListDifference {
  /// Compares two lists of elements that have IDs.
  ///
  /// Costs time in proportion to their length, and its logarithm where elements have moved.
  public init<Element: Identifiable & Equatable>(from old: [Element], to new: [Element]) {
    self.init(from: old, to: new, id: \.id, isEqual: ==)
  }

  /// Compares two lists of elements that have IDs, by whatever says whether one has changed.
  ///
  /// - Parameters:
  ///   - old: the list as it was.
  ///   - new: the list as it is.
  ///   - isEqual: whether an element of the old list and one of the new list that have the same ID
  ///     are equal.
  public init<Element: Identifiable>(
    from old: [Element], to new: [Element], isEqual: (Element, Element) -> Bool
  ) {
    self.init(from: old, to: new, id: \.id, isEqual: isEqual)
  }

  /// Compares two lists by what tells their elements apart, and by whatever says whether one has
  /// changed.
  ///
  /// - Parameters:
  ///   - old: the list as it was.
  ///   - new: the list as it is.
  ///   - id: what tells an element from others.
  ///   - isEqual: whether an element of the old list and one of the new list that have the same ID
  ///     are equal.
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
    // Where each element of the old list is, the first of each ID at the end.
    var places: [ID: [Int]] = [:]
    for index in (start..<oldEnd).reversed() { places[oldIDs[index], default: []].append(index) }
    var kept: [Match] = []
    for index in start..<newEnd {
      if let from = places[newIDs[index]]?.popLast() {
        kept.append(Match(from: from, to: index))
      } else {
        insertions.append(index)
      }
    }
    deletions = places.values.flatMap(\.self).sorted()
    let stays = ListDifference.longestRise(kept.map(\.from))
    moves = zip(kept, stays).filter { !$1 }.map(\.0)
    let pairs =
      (0..<start).map { Match(from: $0, to: $0) } + kept
      + zip(oldEnd..<old.count, newEnd..<new.count).map { Match(from: $0, to: $1) }
    updates = pairs.filter { !isEqual(old[$0.from], new[$0.to]) }
  }

  /// Which of some different numbers belong to the longest run of them that rises from left to
  /// right.
  private static func longestRise(_ numbers: [Int]) -> [Bool] {
    // The index of the least number with which a run of each length ends, and what comes before
    // each number.
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
  ///   - shifted: elements that are in both and may have another place among the others, in any
  ///     order; the remaining ones kept their order. Only of these some are moves.
  ///   - updates: in the order of the new list.
  init(deletions: [Int], insertions: [Int], shifted: [Match], updates: [Match]) {
    self.deletions = deletions
    self.insertions = insertions
    self.updates = updates
    guard shifted.count + deletions.count + insertions.count > 1 else {
      // Mostly there is no more to it: among elements that stay, one has moved if its index is
      // another.
      moves = shifted.filter { $0.from != $0.to }
      return
    }
    guard !shifted.isEmpty else { return }
    let shifted = shifted.sorted { $0.to < $1.to }
    let unsteadyOld = (deletions + shifted.map(\.from)).sorted()
    let unsteadyNew = (insertions + shifted.map(\.to)).sorted()
    // Those that have as many steady ones before them as they had have moved among themselves only,
    // if at all.
    let isNear = shifted.map { match in
      match.from - unsteadyOld.place(of: match.from)
        == match.to - unsteadyNew.place(of: match.to)
    }
    let near = zip(shifted, isNear).filter(\.1).map(\.0)
    let stays = ListDifference.longestRise(near.map(\.from))
    let steady = Set(zip(near, stays).filter(\.1).map(\.0.to))
    moves = shifted.filter { !steady.contains($0.to) }
  }
}

extension ListDifference {
  /// Makes the new list of the old one.
  ///
  /// - Parameters:
  ///   - list: the old list, which becomes the new one.
  ///   - new: the new list, of which only what came or changed is looked at.
  /// - Precondition: The lists are as long as those that were compared.
  public func apply<Element>(to list: inout [Element], from new: [Element]) {
    let gone = Set(deletions).union(moves.map(\.from))
    var stayed = list.indices.filter { !gone.contains($0) }.makeIterator()
    let moved = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
    let changed = Set(insertions).union(updates.map(\.to))
    let old = list
    list = new.indices.map { index in
      // An element that was neither inserted nor moved is the next of those that stayed.
      let place = insertions.contains(sorted: index) ? nil : moved[index] ?? stayed.next()
      guard let place, !changed.contains(index) else { return new[index] }
      return old[place]
    }
  }
}

extension ListDifference {
  /// Makes the new list of the old one, with elements for ``insertions``, in their order.
  ///
  /// Costs a move of the elements behind each that came, went or moved, or, where these are many, a
  /// new list.
  func apply<Element>(to list: inout [Element], inserting inserted: [Element]) {
    precondition(inserted.count == insertions.count, "Other elements than those that came")
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
  /// How many of numbers that rise are below one.
  fileprivate func place(of number: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Whether numbers that rise have one among them.
  fileprivate func contains(sorted number: Int) -> Bool {
    let place = place(of: number)
    return place < count && self[place] == number
  }
}
