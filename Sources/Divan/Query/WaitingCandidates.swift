import DivanLog

/// Candidates that are gathered until some of them can be looked up and brought in together, and then are handed out.
///
/// ```swift
/// while !waiting.isFull, let id = … { waiting.add(id) }
/// try waiting.bringIn()
/// while waiting.next(&hit) { … }
/// ```
struct WaitingCandidates: ~Copyable {
  private var batch = DocumentBatch()
  /// Which is handed out next.
  private var index = 0
  /// Whether they are being handed out.
  private var isBroughtIn = false
  /// How many may wait.
  private var limit: Int
  private let run: QueryRun
  /// Whether their records are read, most probably.
  private let areRead: Bool
  /// Whether every one is looked at, and not only as many as there are to be results.
  private let areAllWanted: Bool

  init(_ run: QueryRun, areRead: Bool, areAllWanted: Bool) {
    self.run = run
    self.areRead = areRead
    self.areAllWanted = areAllWanted
    limit = areAllWanted ? DocumentBatch.size : min(max(run.left, 1), DocumentBatch.size)
  }

  var isEmpty: Bool { batch.count == 0 }

  /// Whether as many wait as are to be brought in together.
  var isFull: Bool { batch.count >= limit }

  /// Adds a candidate that is still to be looked up.
  mutating func add(_ id: SharedBytes) { batch.append(id) }

  /// Adds one of which it is known where it is.
  mutating func add(_ id: SharedBytes, _ place: DocumentPlace) { batch.append(id, place) }

  /// Looks up those that wait, and brings in what is read of them; from then on they are handed out.
  mutating func bringIn() throws(DatabaseError) {
    try run.bringIn(&batch, areRead: areRead)
    index = 0
    isBroughtIn = true
  }

  /// Hands out the next of those that were brought in; returns false if there is none, and others may be added.
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
    // A filter may refuse them all. So a few more are looked at together, and not only as many as are wanted.
    limit = min(run.filter == nil ? max(run.left, 1) : 2 * limit, DocumentBatch.size)
  }
}

extension QueryRun {
  /// Looks some candidates up, and brings in what is read of them.
  ///
  /// Asked of the run, which lends its version; whoever else hands it on copies it first.
  fileprivate func bringIn(_ batch: inout DocumentBatch, areRead: Bool) throws(DatabaseError) {
    try batch.lookUp(in: view)
    if areRead { batch.touchRecords(in: view) }
  }
}
