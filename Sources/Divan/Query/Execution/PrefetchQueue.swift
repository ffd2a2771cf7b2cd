import DivanLog

/// Candidates that are collected, then looked up and prefetched together, and then returned.
///
/// ```swift
/// while !waiting.isFull, let id = … { waiting.add(id) }
/// try waiting.fill()
/// while waiting.next(&hit) { … }
/// ```
struct PrefetchQueue: ~Copyable {
  private var batch = PrefetchBatch()
  /// The index of the candidate to return next.
  private var index = 0
  /// Whether candidates are being returned.
  private var isBroughtIn = false
  /// The maximum number of waiting candidates.
  private var limit: Int
  private let run: QueryExecution
  /// Whether their records are probably read.
  private let areRead: Bool
  /// Whether all of them are examined, and not only until there are enough results.
  private let areAllWanted: Bool

  init(_ run: QueryExecution, areRead: Bool, areAllWanted: Bool) {
    self.run = run
    self.areRead = areRead
    self.areAllWanted = areAllWanted
    limit = areAllWanted ? PrefetchBatch.size : min(max(run.left, 1), PrefetchBatch.size)
  }

  var isEmpty: Bool { batch.count == 0 }

  /// Whether there are enough candidates to be prefetched together.
  var isFull: Bool { batch.count >= limit }

  /// Adds a candidate that must be looked up.
  mutating func add(_ id: SharedBytes) { batch.append(id) }

  /// Adds a candidate whose place is known.
  mutating func add(_ id: SharedBytes, _ place: DocumentLocation) { batch.append(id, place) }

  /// Looks up the waiting candidates and prefetches their records; then they can be returned.
  mutating func fill() throws(DatabaseError) {
    try run.fill(&batch, areRead: areRead)
    index = 0
    isBroughtIn = true
  }

  /// Moves to the next prefetched candidate; returns false if none is left.
  ///
  /// You may then add others.
  @inline(__always)
  mutating func next(_ candidate: inout QueryCandidate) -> Bool {
    guard isBroughtIn else { return false }
    guard index < batch.count else {
      beginAnew()
      return false
    }
    candidate.become(batch.takeID(index), batch.location(index))
    index += 1
    return true
  }

  private mutating func beginAnew() {
    isBroughtIn = false
    batch.removeAll()
    if areAllWanted { return }
    // A filter may refuse all of them. So more are examined together than there are results wanted.
    limit = min(run.filter == nil ? max(run.left, 1) : 2 * limit, PrefetchBatch.size)
  }
}
