import DivanLog

/// The reason why a page of a run could not be read or written.
enum PageError: Error, Equatable {
  /// The bytes are not a page of the run; nil if there is no run, or nothing to rebuild in it.
  case damaged(page: UInt32, reason: String, of: Run? = nil)
  /// The system failed to read the page; another attempt may succeed.
  case unreadable(page: UInt32, SystemError)
}

extension PageError: CustomStringConvertible {
  var description: String {
    switch self {
    case .damaged(let page, let reason, _): "page \(page): \(reason)"
    case .unreadable(let page, let error): "page \(page): \(error)"
    }
  }
}
