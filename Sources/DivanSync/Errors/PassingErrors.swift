import Divan

extension Error {
  /// Whether the same call may succeed later.
  var mayPass: Bool {
    if let error = self as? ReplicationError { return error.isTemporary }
    guard let error = self as? DatabaseError else { return false }
    return [.suspended, .timedOut].contains(error.code)
  }
}
