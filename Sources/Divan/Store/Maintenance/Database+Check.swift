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
  /// - Parameter progress: Receives the completed share, between 0 and 1. If it throws, checking
  ///   stops with that error; so it does with ``DatabaseError/Code/cancelled`` if the task is
  ///   cancelled.
  /// - Returns: The findings, including any damage, which is not thrown.
  /// - Throws: ``DatabaseError`` with the codes `cancelled`, `closed` and `inputOutput`.
  public func check(progress: ((Double) throws -> Void)? = nil) throws -> CheckReport {
    try reportingProgress(to: progress, isCancelled: { Task.isCancelled }) { shouldContinue in
      var check = StoreCheck(try store.view().ignoringGap, shouldContinue)
      // The log after damage that ended it is not read again.
      check.report.problems = store.report.damage
      try check.checkLog()
      try check.checkDocuments()
      try check.checkCatalog()
      try check.checkRetained()
      try check.checkSequences()
      try check.checkAttachments()
      for problem in check.report.problems { store.note(problem) }
      return check.report
    }
  }
}
