import DivanLog

/// What damage to the log leaves unknown.
///
/// This is the one rule of what a damaged store claims, and ``StoreView/requireWhole()`` and
/// ``StoreView/requireKnown(_:isLive:_:)`` are where it is kept. What is lost may have changed any document. So a
/// document is known exactly if its newest record stands behind all damage; or if it is not deleted, and all that
/// is missing behind its record are new documents. Of everything else, and of what is not found, nothing is claimed.
struct LogGap: Sendable {
  /// A place in the log.
  struct Place: Sendable, Comparable {
    /// The number of the segment, or the first one of a merged one.
    var segment: UInt64
    var offset: UInt64

    /// Before everything.
    static let start = Place(segment: 0, offset: 0)

    static func < (a: Self, b: Self) -> Bool {
      (a.segment, a.offset) < (b.segment, b.offset)
    }
  }

  /// From here on the log is whole to its end; nil if its end is missing, or damaged.
  var end: Place?
  /// From here on nothing is missing but documents that were not there before, or were deleted; nil if that is so nowhere.
  var doubtEnd: Place?
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

  /// Whether something may be missing, which is seldom so: all that a sound store's reader asks.
  var hasGap: Bool { store.hasGap && !ignoresGap }

  /// Throws if anything of the log may be missing.
  @inline(__always)
  func requireWhole() throws(DatabaseError) {
    if hasGap { try refuse() }
  }

  @inline(never)
  private func refuse(_ documentID: String? = nil) throws(DatabaseError) {
    if let gap { throw gap.error(about: documentID) }
  }

  /// How many documents there are that are not deleted.
  func documentCount() throws(DatabaseError) -> Int {
    try requireWhole()
    return Int(clamping: state.documentCount)
  }

  /// Throws unless a record is known to be the newest one of what it is of; nil if none was found.
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
