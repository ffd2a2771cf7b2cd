/// The positions of rows before they are replaced, and of rows that this may show or hide.
///
/// Rows without an edit keep their order. One of them can be shown or hidden only near an end of
/// the window: at most as many rows away as are edited, on either side.
struct LivePositions {
  /// The edit of each row, and the index at which it is shown, if it is.
  ///
  /// A row without an edit replaces itself.
  fileprivate private(set) var all: [(edit: LiveEdit, from: Int?)]

  /// - Parameters:
  ///   - edits: at most one for each document; their old rows are in the list.
  ///   - list: the list before the edits.
  ///   - window: the indexes of its rows that are shown.
  ///   - isWindowed: whether rows may be hidden at all.
  init(
    of edits: [LiveEdit], in list: RankedList<LiveRow>, _ window: Range<Int>, isWindowed: Bool
  ) {
    all = edits.map { edit in (edit, edit.old.flatMap { list.index(of: $0, in: window) }) }
    guard isWindowed else { return }
    let edited = Set(edits.compactMap(\.old).map(ObjectIdentifier.init))
    let reach = edits.reduce(0) { $0 + ($1.old == nil ? 0 : 1) + ($1.new == nil ? 0 : 1) }
    for rank in LivePositions.ranks(nearEndsOf: window, reach, of: list.count) {
      let row = list[rank]
      guard !edited.contains(ObjectIdentifier(row)) else { continue }
      let from = window.contains(rank) ? rank - window.lowerBound : nil
      all.append((LiveEdit(old: row, new: row), from))
    }
  }

  /// Returns the indexes of a list that are at most `reach` from an end of a window, each once.
  private static func ranks(
    nearEndsOf window: Range<Int>, _ reach: Int, of count: Int
  ) -> [Int] {
    let start = max(0, window.lowerBound - reach)..<min(count, window.lowerBound + reach)
    let end =
      max(start.upperBound, window.upperBound - reach)..<min(count, window.upperBound + reach)
    return Array(start) + Array(end)
  }
}

/// The changes in the shown rows after rows of a list were replaced.
struct LiveShift {
  private(set) var difference = ListDifference()
  /// Rows that are shown, and were edited or not shown before.
  private(set) var shown: [LiveRow] = []
  /// Rows that exist and were shown before, but are not any more.
  private(set) var hidden: [LiveRow] = []

  /// - Parameters:
  ///   - positions: the positions before the edits.
  ///   - list: the list after the edits.
  ///   - window: the indexes of its rows that are shown.
  init(from positions: LivePositions, to list: RankedList<LiveRow>, _ window: Range<Int>) {
    var deletions: [Int] = []
    var insertions: [Int] = []
    var shifted: [ListDifference.Match] = []
    var updates: [ListDifference.Match] = []
    for (edit, from) in positions.all {
      let to = edit.new.flatMap { list.index(of: $0, in: window) }
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
        if edit.old?.key != edit.new?.key { shifted.append(match) }
        if edit.old?.revision != edit.new?.revision { updates.append(match) }
      }
    }
    difference = ListDifference(
      deletions: deletions.sorted(), insertions: insertions.sorted(), shifted: shifted,
      updates: updates.sorted { $0.to < $1.to })
  }
}

extension RankedList<LiveRow> {
  /// Returns the index of a row among those that are shown; nil if it is not shown.
  fileprivate func index(of row: LiveRow, in window: Range<Int>) -> Int? {
    let rank = rank { LiveRow.order($0.key, row.key) < 0 }
    return window.contains(rank) ? rank - window.lowerBound : nil
  }
}
