import DivanLog

/// A document that a query may mean, and then does.
///
/// One is lent to all who look at it, and changed for the next: copying it for each would cost more than most filters.
struct QueryHit {
  private(set) var id = SharedBytes.empty
  private(set) var place = DocumentPlace.unknown
  /// Whether the document was read.
  private(set) var isRead = false
  /// What the document's record holds, if it was read.
  private(set) var payload = SharedBytes.empty
  /// Where the properties begin in it.
  private var bodyStart = 0

  /// Stands for another document from now on.
  @inline(__always)
  mutating func become(_ id: consuming SharedBytes, _ place: DocumentPlace) {
    self.id = id
    self.place = place
    isRead = false
  }

  /// Keeps what was read.
  mutating func take(_ record: consuming StoredDocument) {
    bodyStart = record.bodyStart
    payload = record.takePayload()
    isRead = true
  }

  /// The properties in their stored form, if they were read.
  var body: SharedBytes { payload.suffix(from: bodyStart) }
}

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

extension QueryRun {
  /// Calls `body` with each document of a range of IDs, in their order.
  func scan(_ range: IDRange, _ body: (inout QueryHit) throws -> Bool) throws {
    var hit = QueryHit()
    guard readsCandidates else {
      var entries = EntryCursor(view, range, descending: false)
      while let (id, entry) = try entries.next() {
        hit.become(id, entry.place)
        guard try body(&hit) else { return }
      }
      return
    }
    var documents = DocumentPlaceCursor(view, range, descending: false)
    while try documents.advance() {
      hit.become(documents.id, documents.place)
      guard try body(&hit) else { return }
    }
  }
}
