import DivanLog

/// What damage to the log leaves unknown.
///
/// What is lost may have changed any document. So a document is known exactly only if its newest record
/// stands behind all damage; of everything else, and of what is not found, nothing can be claimed.
struct LogGap: Sendable {
  /// A place in the log.
  struct Place: Sendable, Comparable {
    /// The number of the segment, or the first one of a merged one.
    var segment: UInt64
    var offset: UInt64

    static func < (a: Self, b: Self) -> Bool {
      (a.segment, a.offset) < (b.segment, b.offset)
    }
  }

  /// From here on the log is whole to its end; nil if its end is missing, or damaged.
  var end: Place?
  /// What to tell of it.
  var damage: DatabaseError

  /// The error that says that something cannot be known.
  func error(about documentID: String? = nil) -> DatabaseError {
    var error = DatabaseError(
      .damaged,
      documentID == nil
        ? "the log is damaged, so this cannot be known: \(damage.message)"
        : "the log is damaged, and what is missing may concern the document: \(damage.message)",
      hint:
        "Open the store with `Configuration.damage` as `.readWhatIsThere` to read what is left, "
        + "rescue it with `logdump salvage`, or restore a backup",
      path: damage.path, offset: damage.offset)
    error.documentID = documentID
    return error
  }
}

extension StoreView {
  /// What damage leaves unknown; nil if nothing, or if that does not matter.
  var gap: LogGap? { ignoresGap ? nil : store.gap }

  /// Throws if anything of the log may be missing.
  func requireWhole() throws(DatabaseError) {
    if let gap { throw gap.error() }
  }

  /// How many documents there are that are not deleted.
  func documentCount() throws(DatabaseError) -> Int {
    try requireWhole()
    return Int(clamping: state.documentCount)
  }

  /// Throws unless a record is known to be the newest one of what it is of; nil if none was found.
  func requireKnown(
    _ locator: RecordLocator?, _ documentID: @autoclosure () -> String? = nil
  ) throws(DatabaseError) {
    guard let gap else { return }
    if past == nil, let end = gap.end, let locator, let segment = state.segments[locator.fileID],
      LogGap.Place(segment: segment.header.numbers.lowerBound, offset: locator.offset) >= end
    {
      return
    }
    throw gap.error(about: documentID())
  }
}
