import Divan

extension DatabaseService {
  /// Returns the leaf revisions that a row lists, and adds the time that the filter takes.
  func revisions(
    of change: Change, _ request: ChangesRequest, _ snapshot: Snapshot, _ time: inout Duration
  ) throws -> [RevisionID] {
    let start = ContinuousClock.now
    defer { time += ContinuousClock.now - start }
    guard time <= limits.filterTime else { throw ServiceError.filterTimeout }
    do {
      return try request.revisions(
        of: change, in: snapshot, until: start + (limits.filterTime - time))
    } catch SelectorFailure.timeIsOver {
      throw ServiceError.filterTimeout
    }
  }

  /// Returns a row.
  func row(
    _ change: Change, _ revisions: [RevisionID], _ index: Int, _ request: ChangesRequest,
    _ snapshot: Snapshot
  ) throws -> AnswerParts {
    let revisions = revisions.map { "{\"rev\":\"\($0)\"}" }.joined(separator: ",")
    let hasPosition = (index + 1).isMultiple(of: request.positionInterval)
    let place = "\"\(position(change.sequence))\""
    let isEvent = request.feed == .eventsource
    var row = AnswerParts(isEvent ? "data: " : "")
    row.append(
      "{\"seq\":\(hasPosition ? place : "null"),\"id\":\(Value.string(change.id).json),"
        + "\"changes\":[\(revisions)]")
    if change.isDeleted { row.append(",\"deleted\":true") }
    if request.includesDocuments, let revision = change.revision {
      let served = try snapshot.served(revision, of: change.id, request.documentOptions, limits)
      row.append(",\"doc\":")
      row.append(served)
    }
    row.append(isEvent ? "}\nid: \(place)" : "}")
    return row
  }
}
