import DivanLog
import Synchronization

extension Store {
  /// The validations that apply to a transaction that begins now.
  var currentValidations: [Validation] { validations.withLock { $0 } }
}
