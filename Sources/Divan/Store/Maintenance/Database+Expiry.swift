import DivanLog

extension Database {
  /// Purges the documents that have expired, now; returns their number.
  ///
  /// The database does this by itself. It uses transactions of some hundred documents each.
  /// - Throws: ``DatabaseError``, as ``write(timeout:_:)-2tx42``; and `damaged` if an expired
  ///   document cannot be read. That document stays; all others are purged.
  @discardableResult
  public func purgeExpiredDocuments() throws -> Int {
    try store.purgeExpired(through: store.configuration.now())
  }
}
