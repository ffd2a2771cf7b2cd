import DivanLog

extension QueryExecution {
  /// Returns the entries of one range, or none if there is no such range.
  ///
  /// It is a method of the execution, so that the read view is borrowed; others would copy it
  /// first.
  func entries(
    of access: IndexAccess, _ range: Int, descending: Bool
  ) throws(DatabaseError) -> IndexEntryCursor {
    guard range < access.ranges.count else { return .none(in: view) }
    return try access.entries(range, in: view, descending: descending)
  }
}
