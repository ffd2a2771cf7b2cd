import DivanLog

/// Candidates that are collected, then looked up and prefetched together, and then returned.
///
/// ```swift
/// while !waiting.isFull, let id = … { waiting.add(id) }
/// try waiting.bringIn()
/// while waiting.next(&hit) { … }
/// ```
struct WaitingCandidates: ~Copyable {
  private var batch = DocumentBatch()
  /// The index of the candidate to return next.
  private var index = 0
  /// Whether candidates are being returned.
  private var isBroughtIn = false
  /// The maximum number of waiting candidates.
  private var limit: Int
  private let run: QueryRun
  /// Whether their records are probably read.
  private let areRead: Bool
  /// Whether all of them are examined, and not only until there are enough results.
  private let areAllWanted: Bool

  init(_ run: QueryRun, areRead: Bool, areAllWanted: Bool) {
    self.run = run
    self.areRead = areRead
    self.areAllWanted = areAllWanted
    limit = areAllWanted ? DocumentBatch.size : min(max(run.left, 1), DocumentBatch.size)
  }

  var isEmpty: Bool { batch.count == 0 }

  /// Whether there are enough candidates to be prefetched together.
  var isFull: Bool { batch.count >= limit }

  /// Adds a candidate that must be looked up.
  mutating func add(_ id: SharedBytes) { batch.append(id) }

  /// Adds a candidate whose place is known.
  mutating func add(_ id: SharedBytes, _ place: DocumentPlace) { batch.append(id, place) }

  /// Looks up the waiting candidates and prefetches their records; then they can be returned.
  mutating func bringIn() throws(DatabaseError) {
    try run.bringIn(&batch, areRead: areRead)
    index = 0
    isBroughtIn = true
  }

  /// Moves to the next prefetched candidate; returns false if none is left.
  ///
  /// You may then add others.
  @inline(__always)
  mutating func next(_ hit: inout QueryHit) -> Bool {
    guard isBroughtIn else { return false }
    guard index < batch.count else {
      beginAnew()
      return false
    }
    hit.become(batch.takeID(index), batch.place(index))
    index += 1
    return true
  }

  private mutating func beginAnew() {
    isBroughtIn = false
    batch.removeAll()
    if areAllWanted { return }
    // A filter may refuse all of them. So more are examined together than there are results wanted.
    limit = min(run.filter == nil ? max(run.left, 1) : 2 * limit, DocumentBatch.size)
  }
}

extension QueryRun {
  /// Looks up candidates, and prefetches their records if they are read.
  ///
  /// It is a method of the run, which lends its version; other callers would copy that first.
  fileprivate func bringIn(_ batch: inout DocumentBatch, areRead: Bool) throws(DatabaseError) {
    try batch.lookUp(in: view)
    if areRead { batch.touchRecords(in: view) }
  }
}
