import Divan
import Testing

/// A plain model of a table view that applies a difference to a list.
enum TableView {
  /// Applies a difference as a table view does.
  ///
  /// Removes deleted and moved elements first. Then inserts new and moved ones from the front, and
  /// at last updates changed ones.
  static func show<Element: Equatable>(
    _ old: [Element], _ new: [Element], _ difference: ListDifference
  ) -> [Element] {
    var list = old
    let removed = (difference.deletions + difference.moves.map(\.from)).sorted(by: >)
    for index in removed { list.remove(at: index) }
    let inserted =
      difference.insertions.map { ($0, new[$0]) } + difference.moves.map { ($0.to, old[$0.from]) }
    for (index, item) in inserted.sorted(by: { $0.0 < $1.0 }) { list.insert(item, at: index) }
    for update in difference.updates {
      #expect(list[update.to] == old[update.from])
      list[update.to] = new[update.to]
    }
    return list
  }
}
