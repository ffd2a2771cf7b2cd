import DivanLog

/// Where the models of a context come from, and where they are saved.
enum ModelSource {
  /// One snapshot after the other, and a transaction for each save.
  case database(Database)
  /// What the transaction has made so far.
  case transaction(WriteTransaction)
  /// This, for ever; nothing is saved.
  case snapshot(Snapshot)
  /// Nowhere any more: the closure has returned that the context was lent to.
  case over(DatabaseError)
}

extension ModelSource {
  /// The store; nil if there is none any more.
  private var store: Store? {
    switch self {
    case .database(let database): database.store
    case .transaction(let transaction): transaction.store
    case .snapshot(let snapshot): snapshot.view.store
    case .over: nil
    }
  }

  /// A new document's ID, as the store makes them; nil if there is none.
  func newDocumentID() -> String? { store?.configuration.documentIDs.next() }

  /// Whether it makes no sense to try again what could not be saved.
  var isClosed: Bool {
    if case .database(let database) = self { database.store.isClosed } else { true }
  }

  func requireWritable() throws(DatabaseError) {
    switch self {
    case .database, .transaction: return
    case .snapshot: throw ModelSource.readOnly
    case .over(let error): throw error
    }
  }

  fileprivate static var readOnly: DatabaseError {
    DatabaseError(
      .readOnly, "the context reads a snapshot, which never changes",
      hint: "Save with a context of the database, or of a transaction")
  }
}

extension ModelContextCore {
  /// Makes changes that are kept together: in a transaction of their own, or as a part of the context's.
  func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
    switch source {
    case .database(let database):
      let store = database.store
      return try store.write(durability: store.configuration.durability, timeout: nil, body)
    case .transaction(let transaction):
      return try transaction.nested { try body(transaction) }
    case .snapshot: throw ModelSource.readOnly
    case .over(let error): throw error
    }
  }
}
