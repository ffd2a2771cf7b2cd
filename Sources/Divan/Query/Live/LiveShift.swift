/// Where rows are shown that are about to be exchanged, and those that may come to be shown or be hidden by that.
///
/// Rows that are not touched keep their order, so that one can come to be shown or to be hidden without being touched only
/// near an end of what is shown: no farther than as many rows as are touched, on either side.
struct LivePlaces {
  /// What becomes of each row, and the index at which it is shown, if it is; a row that is not touched replaces itself.
  fileprivate private(set) var all: [(edit: LiveEdit, from: Int?)]

  /// - Parameters:
  ///   - edits: at most one for each document; their old rows are in the list.
  ///   - list: the list before the edits.
  ///   - window: which of its rows are shown.
  ///   - isWindowed: whether rows may be hidden at all.
  init(
    of edits: [LiveEdit], in list: RankedList<LiveRow>, _ window: Range<Int>, isWindowed: Bool
  ) {
    all = edits.map { edit in (edit, edit.old.flatMap { list.index(of: $0, in: window) }) }
    guard isWindowed else { return }
    let touched = Set(edits.compactMap(\.old).map(ObjectIdentifier.init))
    let reach = edits.reduce(0) { $0 + ($1.old == nil ? 0 : 1) + ($1.new == nil ? 0 : 1) }
    for rank in LivePlaces.ranks(nearEndsOf: window, reach, of: list.count) {
      let row = list[rank]
      guard !touched.contains(ObjectIdentifier(row)) else { continue }
      let from = window.contains(rank) ? rank - window.lowerBound : nil
      all.append((LiveEdit(old: row, new: row), from))
    }
  }

  /// Numbers of a list that are no farther than `reach` from an end of a window, each once.
  private static func ranks(
    nearEndsOf window: Range<Int>, _ reach: Int, of count: Int
  ) -> [Int] {
    let start = max(0, window.lowerBound - reach)..<min(count, window.lowerBound + reach)
    let end =
      max(start.upperBound, window.upperBound - reach)..<min(count, window.upperBound + reach)
    return Array(start) + Array(end)
  }
}

/// What has become of what is shown when rows of a list were exchanged.
struct LiveShift {
  private(set) var difference = ListDifference()
  /// Rows that were touched or were not shown before, and are shown.
  private(set) var shown: [LiveRow] = []
  /// Rows that were shown before and are there and not shown any more.
  private(set) var hidden: [LiveRow] = []

  /// - Parameters:
  ///   - places: what was noted before the edits.
  ///   - list: the list after them.
  ///   - window: which of its rows are shown.
  init(from places: LivePlaces, to list: RankedList<LiveRow>, _ window: Range<Int>) {
    var deletions: [Int] = []
    var insertions: [Int] = []
    var kept: [ListDifference.Match] = []
    var updates: [ListDifference.Match] = []
    for (edit, from) in places.all {
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
        if edit.old?.key != edit.new?.key { kept.append(match) }
        if edit.old?.revision != edit.new?.revision { updates.append(match) }
      }
    }
    difference = ListDifference(
      deletions: deletions.sorted(), insertions: insertions.sorted(), shifted: kept,
      updates: updates.sorted { $0.to < $1.to })
  }
}

extension RankedList<LiveRow> {
  /// Where a row is among those that are shown; nil if it is not shown.
  fileprivate func index(of row: LiveRow, in window: Range<Int>) -> Int? {
    let rank = rank { LiveRow.order($0.key, row.key) < 0 }
    return window.contains(rank) ? rank - window.lowerBound : nil
  }
}
