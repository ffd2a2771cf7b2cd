import Divan

/// Reports how the results of a query change, as a live query notices it.
@MainActor final class WorkWatch {
  private let works: LiveQuery<Work>
  private var shown: [String]

  /// The lines of the results as they are now.
  var lines: [String] { shown }

  /// The error of the last update, after which the lines are those of before.
  var error: (any Error)? { works.error }

  init(_ query: Query<Work>, in context: ModelContext, report: @escaping (String) -> Void) {
    works = context.liveQuery(query)
    shown = works.results.map(\.line)
    works.onChange = { [unowned self] change in
      for line in lines(of: change) { report(line) }
    }
  }

  /// The differences: `+` is inserted, `-` is deleted, `~` is updated or moved.
  ///
  /// Deletions count in the earlier results, and insertions in the new ones.
  private func lines(of change: ListDifference) -> [String] {
    let new = works.results.map(\.line)
    defer { shown = new }
    var lines = change.deletions.map { "- \(shown[$0])" }
    lines += change.insertions.map { "+ \(new[$0])" }
    lines += change.updates.map { "~ \(new[$0.to])" }
    lines += change.moves.filter { move in !change.updates.contains { $0.to == move.to } }
      .map { "~ \(new[$0.to]), now number \($0.to + 1)" }
    // An import can insert thousands of films.
    let hiddenCount = lines.count - WorkWatch.lineLimit
    return hiddenCount <= 0
      ? lines : lines.dropLast(hiddenCount) + ["… and \(hiddenCount) more changes"]
  }

  private static let lineLimit = 10
}
