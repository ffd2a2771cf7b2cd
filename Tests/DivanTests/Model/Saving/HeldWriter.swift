import Dispatch
import Divan

/// A transaction on another thread, which keeps other writers waiting until it is released.
final class HeldWriter: Sendable {
  private let released = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// Begins the transaction, which makes the given changes.
  init(
    _ database: Database, _ body: @escaping @Sendable (WriteTransaction) throws -> Void = { _ in }
  ) {
    let (released, ended) = (released, ended)
    let begun = DispatchSemaphore(value: 0)
    DispatchQueue(label: "held writer").async {
      _ = try? database.write { transaction in
        begun.signal()
        released.wait()
        try body(transaction)
      }
      ended.signal()
    }
    begun.wait()
  }

  /// Makes the changes, and ends the transaction.
  func release() {
    released.signal()
    ended.wait()
  }
}
