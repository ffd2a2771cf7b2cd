/// What becomes of what is shown when rows of a list are exchanged.
///
/// Rows that were not touched keep their order, so that a row can come to be shown or to be hidden without being touched only
/// near an end of what is shown: no farther than as many rows as were touched.
struct LiveShift {
  private(set) var difference = ListDifference()
  /// Rows of the new list that were touched or were not shown before, and are shown.
  private(set) var shown: [LiveRow] = []
  /// Rows of the new list that were shown before and are not any more.
  private(set) var hidden: [LiveRow] = []

  /// - Parameters:
  ///   - old: the list before the edits.
  ///   - oldWindow: which of its rows were shown.
  ///   - new: the list after them.
  ///   - newWindow: which of its rows are shown.
  ///   - edits: at most one for each document.
  ///   - isWindowed: whether rows may be hidden at all.
  init(
    from old: RankedList<LiveRow>, _ oldWindow: Range<Int>, to new: RankedList<LiveRow>,
    _ newWindow: Range<Int>, _ edits: [LiveEdit], isWindowed: Bool
  ) {
    var edits = edits
    if isWindowed {
      var touched = Set(edits.compactMap(\.id).map(DocumentKey.init))
      let reach = edits.reduce(0) { $0 + ($1.old == nil ? 0 : 1) + ($1.new == nil ? 0 : 1) }
      for (list, window) in [(old, oldWindow), (new, newWindow)] {
        for rank in LiveShift.ends(of: window, reach) {
          let row = list[rank]
          guard touched.insert(DocumentKey(row.id)).inserted else { continue }
          edits.append(LiveEdit(old: row, new: row))
        }
      }
    }
    var deletions: [Int] = []
    var insertions: [Int] = []
    var kept: [ListDifference.Match] = []
    var updates: [ListDifference.Match] = []
    for edit in edits {
      let from = edit.old.flatMap { LiveShift.index(of: $0, in: old, oldWindow) }
      let to = edit.new.flatMap { LiveShift.index(of: $0, in: new, newWindow) }
      if let row = edit.new {
        if to != nil, from == nil || edit.old !== row { shown.append(row) }
        if to == nil, from != nil { hidden.append(row) }
      }
      switch (from, to) {
      case (nil, nil): break
      case (let from?, nil): deletions.append(from)
      case (nil, let to?): insertions.append(to)
      case (let from?, let to?):
        let match = ListDifference.Match(from: from, to: to)
        if edit.old?.key != edit.new?.key { kept.append(match) }
        if edit.old?.revision != edit.new?.revision { updates.append(match) }
      }
    }
    difference = ListDifference(
      deletions: deletions.sorted(), insertions: insertions.sorted(), shifted: kept,
      updates: updates.sorted { $0.to < $1.to })
  }

  /// Where a row is among those that are shown; nil if it is not shown.
  private static func index(
    of row: LiveRow, in list: RankedList<LiveRow>, _ window: Range<Int>
  ) -> Int? {
    let rank = list.rank { LiveRow.order($0.key, row.key) < 0 }
    return window.contains(rank) ? rank - window.lowerBound : nil
  }

  /// The first and the last numbers of a range, each once.
  private static func ends(of range: Range<Int>, _ count: Int) -> [Int] {
    guard range.count > 2 * count else { return Array(range) }
    return Array(range.prefix(count)) + Array(range.suffix(count))
  }
}
