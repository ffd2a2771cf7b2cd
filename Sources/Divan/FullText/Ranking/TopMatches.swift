/// The documents with the highest scores among many, up to a number of them.
///
/// Of documents with equal scores, those with lower numbers come first, whatever their order when
/// they are inserted. Each insertion takes time proportional to the logarithm of the number that is
/// kept, and most take none.
struct TopMatches {
  /// A document and its score.
  struct Match: Hashable, Sendable {
    let document: UInt64
    let score: Double

    /// Whether a match comes before another in the result.
    static func precedes(_ left: Match, _ right: Match) -> Bool {
      left.score == right.score ? left.document < right.document : left.score > right.score
    }
  }

  private let limit: Int
  /// A heap with the match that comes last in front.
  private var heap: [Match] = []

  init(limit: Int) { self.limit = max(limit, 0) }

  /// The score that a match has to reach to be kept; nil while there is room.
  var leastScore: Double? { limit > 0 && heap.count == limit ? heap[0].score : nil }

  /// Inserts a match, whose score is not NaN, and drops the last one if there are too many.
  mutating func insert(document: UInt64, score: Double) {
    let match = Match(document: document, score: score)
    if heap.count < limit {
      heap.append(match)
      var child = heap.count - 1
      while child > 0, Match.precedes(heap[(child - 1) / 2], heap[child]) {
        heap.swapAt(child, (child - 1) / 2)
        child = (child - 1) / 2
      }
    } else if let last = heap.first, Match.precedes(match, last) {
      heap[0] = match
      sink()
    }
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { return }
      if child + 1 < heap.count, Match.precedes(heap[child], heap[child + 1]) { child += 1 }
      guard Match.precedes(heap[parent], heap[child]) else { return }
      heap.swapAt(parent, child)
      parent = child
    }
  }

  /// The matches, the best one first.
  var sorted: [Match] { heap.sorted(by: Match.precedes) }
}
