extension Database {
  /// Changes a document, and retries if it is changed concurrently.
  ///
  /// Reads the document, lets `change` change it, and stores it. If the document was changed since
  /// it was read, the update begins again. So `change` **may run several times**, each time with
  /// the current document, and should do nothing but change it. It runs outside of the transaction,
  /// so it may take its time and read from the database. If it leaves the properties and
  /// attachments as they are, no revision is stored, and no validation runs.
  ///
  /// - Parameters:
  ///   - id: the ID of the document.
  ///   - durability: how far the commit has got on return; as configured if nil.
  ///   - change: changes the document. If it throws, nothing is stored.
  /// - Returns: the document as it is stored, or nil if it does not exist or was deleted.
  /// - Throws: errors of `change`; and ``DatabaseError`` as ``write(timeout:_:)-2tx42`` and
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

  /// Changes a document, and retries if it is changed concurrently, without blocking the thread.
  ///
  /// This is ``update(_:durability:_:)`` for asynchronous callers. A task that is cancelled before
  /// the document is stored gets ``DatabaseError/Code/cancelled``, and nothing is changed.
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
