/// The documents in which several parts are close to each other, in one property and any order.
///
/// There is a place at which each part occurs, and at most `distance` words are between the end of
/// the part that comes first and the begin of the one that comes last. Parts may overlap.
final class NearMatches: MatchCursor {
  private var all: Conjunction
  private let distance: Int
  /// The matches in the current document.
  private var spans: [MatchSpan] = []
  /// The matches of each part in the current document.
  private var lists: [[MatchSpan]]

  /// Creates a cursor over at least one part.
  init(_ parts: [any MatchCursor], distance: Int) throws(DatabaseError) {
    self.distance = distance
    all = Conjunction(of: parts)
    lists = Array(repeating: [], count: parts.count)
    try move(to: 0)
  }

  var document: UInt64 { all.document }
  var cost: Int { all.cost }

  func advance(to target: UInt64) throws(DatabaseError) {
    if document < target { try move(to: target) }
  }

  private func move(to target: UInt64) throws(DatabaseError) {
    spans.removeAll(keepingCapacity: true)
    var target = target
    while try all.move(to: target) {
      try findMatches()
      if !spans.isEmpty { return }
      target = document + 1
    }
  }

  func appendSpans(to spans: inout [MatchSpan]) { spans += self.spans }

  func addFrequencies(to frequencies: inout TermFrequencies) throws(DatabaseError) {
    for index in all.members.indices { try all.members[index].addFrequencies(to: &frequencies) }
  }

  /// Finds the matches in the document that all parts have, in order.
  private func findMatches() throws(DatabaseError) {
    for index in lists.indices {
      lists[index].removeAll(keepingCapacity: true)
      try all.members[index].appendSpans(to: &lists[index])
    }
    // For each place that comes first, the nearest places of the other parts are the next ones.
    var next = Array(repeating: 0, count: lists.count)
    while true {
      var least = 0
      var (last, end) = (MatchSpan(field: -1, start: 0, length: 0), 0)
      for index in lists.indices {
        guard next[index] < lists[index].count else { return }
        let span = lists[index][next[index]]
        if MatchSpan.precedes(span, lists[least][next[least]]) { least = index }
        if MatchSpan.precedes(last, span) { last = span }
      }
      let first = lists[least][next[least]]
      if first.field == last.field, last.start - first.end <= distance {
        for index in lists.indices { end = max(end, lists[index][next[index]].end) }
        spans.append(MatchSpan(field: first.field, start: first.start, length: end - first.start))
      }
      next[least] += 1
    }
  }
}
