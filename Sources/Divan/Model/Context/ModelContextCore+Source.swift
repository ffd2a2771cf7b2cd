import DivanLog

extension ModelContextCore {
  /// Makes changes atomically: in a transaction of their own, or nested in that of the context.
  func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
    switch source {
    case .database(let database):
      let store = database.store
      return try store.write(
        durability: durability ?? store.configuration.durability, timeout: nil, body)
    case .transaction(let transaction):
      return try transaction.savepoint { try body(transaction) }
    case .snapshot: throw ModelSource.readOnly
    case .ended(let error): throw error
    }
  }
}
