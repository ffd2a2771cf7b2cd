import DivanLog

/// Candidates that are collected, then looked up and prefetched together, and then returned.
///
/// ```swift
/// while !waiting.isFull, let id = … { waiting.add(id) }
/// try waiting.fill()
/// while waiting.next(&candidate) { … }
/// ```
struct PrefetchQueue: ~Copyable {
  private var batch = PrefetchBatch()
  /// The index of the candidate to return next.
  private var index = 0
  /// Whether candidates are being returned.
  private var isPrefetched = false
  /// The maximum number of waiting candidates.
  private var limit: Int
  private let execution: QueryExecution
  /// Whether their records are probably read.
  private let areRead: Bool
  /// Whether all of them are examined, and not only until there are enough results.
  private let areAllWanted: Bool

  init(_ execution: QueryExecution, areRead: Bool, areAllWanted: Bool) {
    self.execution = execution
    self.areRead = areRead
    self.areAllWanted = areAllWanted
    limit = areAllWanted ? PrefetchBatch.size : min(max(execution.left, 1), PrefetchBatch.size)
  }

  var isEmpty: Bool { batch.count == 0 }

  /// Whether there are enough candidates to be prefetched together.
  var isFull: Bool { batch.count >= limit }

  /// Adds a candidate that must be looked up.
  mutating func add(_ id: SharedBytes) { batch.append(id) }

  /// Adds a candidate whose location is known.
  mutating func add(_ id: SharedBytes, _ location: DocumentLocation) { batch.append(id, location) }

  /// Looks up the waiting candidates and prefetches their records; then they can be returned.
  mutating func fill() throws(DatabaseError) {
    try execution.fill(&batch, areRead: areRead)
    index = 0
    isPrefetched = true
  }

  /// Moves to the next prefetched candidate; returns false if none is left.
  ///
  /// You may then add others.
  @inline(__always)
  mutating func next(_ candidate: inout QueryCandidate) -> Bool {
    guard isPrefetched else { return false }
    guard index < batch.count else {
      beginNextBatch()
      return false
    }
    candidate.become(batch.takeID(index), batch.location(index))
    index += 1
    return true
  }

  private mutating func beginNextBatch() {
    isPrefetched = false
    batch.removeAll()
    if areAllWanted { return }
    // A filter may refuse all of them, so more are examined together than results are wanted.
    limit = min(execution.filter == nil ? max(execution.left, 1) : 2 * limit, PrefetchBatch.size)
  }
}
