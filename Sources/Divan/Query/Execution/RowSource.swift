/// The consumer of the candidates of a query.
enum CandidateConsumer {
  /// Candidates come in the order of their IDs, until there are enough results.
  case inOrder
  /// Candidates come in any order, until there are enough results.
  case inAnyOrder
  /// Candidates come in any order, and all are needed.
  case sorting
  /// Candidates are counted until there are enough; those cached as accepted may be skipped.
  case counting
}

/// The operator at the bottom of a query, which yields its candidates.
enum RowSource {
  /// All documents with their records, in the order of changes.
  case sequenceScan
  /// The documents in a range of IDs, by ID, with their records or without.
  case idScan(IDRange, readsRecords: Bool)
  /// The entries of an index, each followed to its document.
  case indexScan(IndexAccess)
  /// The documents that a search for text finds, in no order.
  case textSearch(FullTextAccess)
  /// The documents of a set of IDs, which is collected first, by ID.
  case lookups(AccessPath)

  /// Chooses the operator for an access path.
  ///
  /// Documents that are read in any order are read in the order of changes, in which most records
  /// are in the log. A past version is read by ID, since the order of changes is the newest one's.
  init(_ access: AccessPath, for consumer: CandidateConsumer, in execution: QueryExecution) {
    let readsRecords = execution.readsCandidates
    switch access {
    case .everything where readsRecords && consumer != .inOrder && execution.view.past == nil:
      self = .sequenceScan
    case .everything: self = .idScan(.all, readsRecords: readsRecords)
    case .ids(let range): self = .idScan(range, readsRecords: readsRecords)
    case .index(let access)
    where access.isOneValue || consumer != .inOrder && access.yieldsEachOnce:
      self = .indexScan(access)
    case .fullText(let access) where consumer != .inOrder: self = .textSearch(access)
    case .nothing, .named, .index, .fullText, .intersection, .union: self = .lookups(access)
    }
  }
}
