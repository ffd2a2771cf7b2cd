import DivanLog

extension Database {
  /// Reads the entire store and reports all problems.
  ///
  /// Every frame and record of the log is checked against its checksums, and every entry of the
  /// index against the record that it names. Every document is checked against its revision ID, and
  /// both orders of the index and the counts against each other. You can read and write during the
  /// check; changes made after the call are not checked. The time is proportional to the size of
  /// the store.
  ///
  /// - Parameter progress: Receives the completed share, between 0 and 1; checking stops with
  ///   ``DatabaseError/Code/cancelled`` when it returns false.
  /// - Returns: The findings, including any damage, which is not thrown.
  /// - Throws: ``DatabaseError`` with the codes `cancelled`, `closed` and `inputOutput`.
  public func check(progress: ((Double) -> Bool)? = nil) throws -> CheckReport {
    var check = StoreCheck(try store.view().ignoringGap, progress)
    // The log after damage that ended it is not read again.
    check.report.problems = store.report.damage
    try check.checkLog()
    try check.checkDocuments()
    try check.checkCatalog()
    try check.checkSequences()
    try check.checkAttachments()
    return check.report
  }
}
