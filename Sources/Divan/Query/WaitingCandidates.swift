import DivanLog

/// Candidates that wait until some of them can be looked up and brought in together.
struct WaitingCandidates {
  private var batch = DocumentBatch()
  private var hit = QueryHit()
  /// How many may wait.
  private var limit: Int
  private let run: QueryRun
  /// Whether their records are read, most probably.
  private let areRead: Bool

  init(_ run: QueryRun, areRead: Bool) {
    self.run = run
    self.areRead = areRead
    limit = min(run.left, DocumentBatch.size)
  }

  /// Adds a candidate that is still to be looked up.
  mutating func add(_ id: SharedBytes, _ body: (inout QueryHit) throws -> Bool) throws -> Bool {
    batch.append(id)
    return try batch.count < limit || flush(body)
  }

  /// Adds one of which it is known where it is.
  mutating func add(
    _ id: SharedBytes, _ place: DocumentPlace, _ body: (inout QueryHit) throws -> Bool
  ) throws -> Bool {
    batch.append(id, place)
    return try batch.count < limit || flush(body)
  }

  /// Calls `body` with those that wait, until it returns false; returns whether it never did.
  mutating func flush(_ body: (inout QueryHit) throws -> Bool) throws -> Bool {
    defer {
      batch.removeAll()
      // A filter may refuse them all. So a few more are looked at together, and not only as many as are wanted.
      limit = min(run.filter == nil ? run.left : 2 * limit, DocumentBatch.size)
    }
    if let id = batch.onlyUnknown {
      // Most who ask for one document find it by an index, and want no lists for it.
      hit.become(id, try run.view.entry(id)?.place ?? .unknown)
      return try body(&hit)
    }
    try batch.lookUp(in: run.view)
    if areRead { batch.touchRecords(in: run.view) }
    for index in 0..<batch.count {
      hit.become(batch.takeID(index), batch.places[index])
      guard try body(&hit) else { return false }
    }
    return true
  }
}
