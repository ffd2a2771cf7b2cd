extension Database {
  /// Changes a document, however often others change it meanwhile.
  ///
  /// Reads the document, lets `change` change it, and stores it, if nobody has changed it since; if
  /// somebody has, it begins anew. So `change` **may run several times**, each time with the document as
  /// it is then, and should do nothing but change it. It runs outside of the transaction, so that it may
  /// take its time and read from the database.
  ///
  /// - Parameters:
  ///   - id: which document.
  ///   - durability: how far the commit has got on return; what the configuration says if nil.
  ///   - change: what to do. Throwing gives up.
  /// - Returns: the document as it is stored, or nil if there is none, or none any more.
  /// - Throws: whatever `change` throws; and ``DatabaseError`` as ``write(timeout:_:)-2tx42`` and
  ///   ``WriteTransaction/put(_:)-(Document)`` do, but for conflicts with others.
  @discardableResult
  public func update(
    _ id: String, durability: Durability? = nil, _ change: (inout Document) throws -> Void
  ) throws -> Document? {
    while true {
      switch try store.attemptUpdate(of: id, durability, change) {
      case .stored(let document): return document
      case .missing: return nil
      case .conflict: continue
      }
    }
  }

  /// Changes a document, however often others change it meanwhile: ``update(_:durability:_:)`` for
  /// asynchronous callers, whose thread it does not block.
  ///
  /// A task that is cancelled before the document is stored gets ``DatabaseError/Code/cancelled``, and
  /// nothing happened.
  @discardableResult
  public func update(
    _ id: String, durability: Durability? = nil,
    _ change: @escaping @Sendable (inout Document) throws -> Void
  ) async throws -> Document? {
    try await Database.run { isCancelled in
      while true {
        if isCancelled() { throw Database.cancelledError }
        switch try self.store.attemptUpdate(of: id, durability, change) {
        case .stored(let document): return document
        case .missing: return nil
        case .conflict: continue
        }
      }
    }
  }
}

extension Store {
  fileprivate enum Attempt {
    case stored(Document)
    case missing
    /// Somebody else was faster.
    case conflict
  }

  fileprivate func attemptUpdate(
    of id: String, _ durability: Durability?, _ change: (inout Document) throws -> Void
  ) throws -> Attempt {
    guard let document = try view().document(id) else { return .missing }
    var changed = document
    try change(&changed)
    // A transaction that changes nothing returns when what it read can be read by all: so the next
    // attempt reads what this one was in conflict with.
    return try write(durability: durability ?? configuration.durability, timeout: nil) {
      transaction in
      let current = try transaction.entry(of: id)
      guard current?.revision == document.revision else { return .conflict }
      return .stored(try transaction.put(changed))
    }
  }
}
