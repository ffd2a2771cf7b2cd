import Divan
import Testing

/// What a table view makes of a list and a difference.
enum TableView {
  /// Makes the new list as a table view does: takes out what goes and what moves, then puts in what comes and what
  /// moves, from the front, and at last shows anew what has changed.
  static func show<Element: Equatable>(
    _ old: [Element], _ new: [Element], _ difference: ListDifference
  ) -> [Element] {
    var list = old
    let gone = (difference.deletions + difference.moves.map(\.from)).sorted(by: >)
    for index in gone { list.remove(at: index) }
    let come =
      difference.insertions.map { ($0, new[$0]) } + difference.moves.map { ($0.to, old[$0.from]) }
    for (index, item) in come.sorted(by: { $0.0 < $1.0 }) { list.insert(item, at: index) }
    for update in difference.updates {
      #expect(list[update.to] == old[update.from])
      list[update.to] = new[update.to]
    }
    return list
  }
}
