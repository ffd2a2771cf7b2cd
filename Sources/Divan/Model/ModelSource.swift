import DivanLog

/// Where the models of a context come from, and where they are saved.
enum ModelSource {
  /// One snapshot after the other, and a transaction for each save.
  case database(Database)
  /// What the transaction has made so far.
  case transaction(WriteTransaction)
  /// This, for ever; nothing is saved.
  case snapshot(Snapshot)
}

extension ModelSource {
  fileprivate var store: Store {
    switch self {
    case .database(let database): database.store
    case .transaction(let transaction): transaction.store
    case .snapshot(let snapshot): snapshot.view.store
    }
  }

  func newDocumentID() -> String { store.configuration.documentIDs.next() }

  /// Whether it makes no sense to try again what could not be saved.
  var isClosed: Bool {
    if case .database(let database) = self { database.store.isClosed } else { true }
  }

  func requireWritable() throws(DatabaseError) {
    guard case .snapshot = self else { return }
    throw DatabaseError(
      .readOnly, "the context reads a snapshot, which never changes",
      hint: "Save with a context of the database, or of a transaction")
  }
}

extension ModelContextCore {
  /// Makes changes that are kept together: in a transaction of their own, or as a part of the context's.
  func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R {
    if case .transaction(let transaction) = source {
      return try transaction.nested { try body(transaction) }
    }
    try source.requireWritable()
    let store = source.store
    return try store.write(durability: store.configuration.durability, timeout: nil, body)
  }
}
