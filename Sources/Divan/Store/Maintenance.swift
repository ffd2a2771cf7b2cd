import Dispatch
import DivanLog

/// placeholder
final class Maintenance: Sendable {
  static let queue = DispatchQueue(label: "divan.maintenance")
  init(_ checkpoint: Checkpoint?) {}
  func throttle(_ store: Store) {}
  func noteAppended(_ size: Int, _ store: Store) {}
  func runInline(_ store: Store) {}
  func start(_ store: Store) {}
  func finish(_ store: Store) throws {}
}
extension Store { func repairIndex(_ e: PageError, in state: StoreState) throws(DatabaseError) {} }
