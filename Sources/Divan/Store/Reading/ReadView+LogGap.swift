import DivanLog

extension ReadView {
  /// The unknown part of the log; nil if there is none, or if this view ignores it.
  var gap: LogGap? { ignoresGap ? nil : state.gap }

  /// Whether something may be missing; reads of a sound store check nothing else.
  var hasGap: Bool { isIncomplete && !ignoresGap }

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
      LogGap.Position(segment: segment.header.numbers.lowerBound, offset: locator.offset) >= end
    {
      return
    }
    try refuse(documentID)
  }
}
