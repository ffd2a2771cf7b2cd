import DivanLog

/// A cursor over the locations of documents that are not deleted.
///
/// `while try cursor.advance() { … cursor.id … cursor.location … }`
///
/// It looks ahead: see ``PrefetchBatch``.
struct DocumentLocationCursor {
  private let view: ReadView
  private var scan: LayeredScan
  /// Whether to skip a document whose result is known already; nil if all are read.
  private let isPassed: ((DocumentLocation) -> Bool)?
  private var batch = PrefetchBatch()
  /// The index of the current document in ``batch``.
  private var index = 0
  /// An error to throw once the documents of the batch were returned.
  private var failure: DatabaseError?
  /// The current document's ID.
  private(set) var id = SharedBytes.empty
  /// The current document's location.
  private(set) var location = DocumentLocation.unknown

  init(
    _ view: ReadView, _ range: IDRange, descending: Bool,
    passing isPassed: ((DocumentLocation) -> Bool)? = nil
  ) {
    self.view = view
    self.isPassed = isPassed
    scan = view.state.documents.scan(from: range.lower, to: range.upper, descending: descending)
  }

  /// Moves to the next document; returns false at the end.
  mutating func advance() throws(DatabaseError) -> Bool {
    // Once the store is closed, documents that were read ahead are not returned either.
    guard !view.environment.isClosed else { throw Store.closedError }
    index += 1
    if index >= batch.count {
      if let failure {
        self.failure = nil
        throw failure
      }
      try lookAhead()
      if batch.count == 0 { return false }
    }
    location = batch.location(index)
    id = batch.takeID(index)
    return true
  }

  private mutating func lookAhead() throws(DatabaseError) {
    batch.removeAll()
    index = 0
    do throws(DatabaseError) {
      while batch.count < PrefetchBatch.size, let item = try view.step(&scan) {
        let location =
          try view.past == nil
          ? view.decodeLocation(item)
          : view.entry(before: view.decodeEntry(item), item.key)?.location
        guard let location, !location.isDeleted, isPassed?(location) != true else { continue }
        batch.append(item.key, location)
      }
    } catch {
      guard batch.count > 0 else { throw error }
      failure = error
    }
    batch.prefetchRecords(in: view)
  }
}
