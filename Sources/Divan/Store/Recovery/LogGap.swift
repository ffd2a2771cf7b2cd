import DivanLog

/// Describes what damage to the log leaves unknown.
///
/// This is the one rule about the claims of a damaged store; ``ReadView/requireWhole()`` and
/// ``ReadView/requireKnown(_:isLive:_:)`` enforce it. A lost part may have changed any document.
/// So a document is known exactly only in two cases. Its newest record is after all damage; or it
/// is not deleted, and everything missing after its record are new documents. The store makes no
/// claim about anything else, nor about documents that are not found.
struct LogGap: Sendable {
  /// A place in the log.
  struct Place: Sendable, Comparable {
    /// The number of the segment; of a merged one the first number.
    var segment: UInt64
    var offset: UInt64

    /// Before everything.
    static let start = Place(segment: 0, offset: 0)

    static func < (a: Self, b: Self) -> Bool {
      (a.segment, a.offset) < (b.segment, b.offset)
    }
  }

  /// The place from which the log is whole to its end; nil if its end is missing, or damaged.
  var end: Place?
  /// The place from which everything missing are new or previously deleted documents; nil if none.
  var doubtEnd: Place?
  /// The damage to report.
  var damage: DatabaseError

  /// Returns the error for a result that cannot be known.
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

extension ReadView {
  /// The unknown part of the log; nil if there is none, or if this view ignores it.
  var gap: LogGap? { ignoresGap ? nil : store.gap }

  /// Whether something may be missing; reads of a sound store check nothing else.
  var hasGap: Bool { store.hasGap && !ignoresGap }

  /// Throws if any part of the log may be missing.
  @inline(__always)
  func requireWhole() throws(DatabaseError) {
    if hasGap { try refuse() }
  }

  @inline(never)
  private func refuse(_ documentID: String? = nil) throws(DatabaseError) {
    if let gap { throw gap.error(about: documentID) }
  }

  /// Returns the number of documents that are not deleted.
  func documentCount() throws(DatabaseError) -> Int {
    try requireWhole()
    return Int(clamping: state.documentCount)
  }

  /// Throws unless a record is known to be the newest one of its document; nil if none was found.
  @inline(__always)
  func requireKnown(
    _ locator: @autoclosure () -> RecordLocator?, isLive: @autoclosure () -> Bool = true,
    _ documentID: @autoclosure () -> String? = nil
  ) throws(DatabaseError) {
    if hasGap { try refuseUnknown(locator(), isLive: isLive(), documentID()) }
  }

  @inline(never)
  private func refuseUnknown(
    _ locator: RecordLocator?, isLive: Bool, _ documentID: String?
  ) throws(DatabaseError) {
    if past == nil, let locator, let segment = state.segments[locator.fileID],
      let end = isLive ? gap?.doubtEnd : gap?.end,
      LogGap.Place(segment: segment.header.numbers.lowerBound, offset: locator.offset) >= end
    {
      return
    }
    try refuse(documentID)
  }
}
