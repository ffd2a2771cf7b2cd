import DivanLog

/// The reason why a page of a run could not be read or written.
enum PageError: Error, Equatable {
  /// The bytes are not a page; it must be rebuilt.
  case damaged(page: UInt32, reason: String)
  /// The system failed to read the page; another attempt may succeed.
  case unreadable(page: UInt32, SystemError)
}
