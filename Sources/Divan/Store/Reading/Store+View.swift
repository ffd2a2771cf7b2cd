extension Store {
  /// Returns the newest version that readers may see.
  ///
  /// The view keeps `database` open while it lives; there is none if the store itself reads.
  func view(for database: Database? = nil) throws(DatabaseError) -> ReadView {
    guard !isClosed else { throw Store.closedError }
    guard let visible = commits.takeVisible() else { throw unavailableError }
    return ReadView(visible, environment, database: database)
  }

  /// Does the same, and returns nil while the store is suspended.
  func viewUnlessSuspended(for database: Database) throws(DatabaseError) -> ReadView? {
    do throws(DatabaseError) {
      return try view(for: database)
    } catch  where error.code == .suspended {
      return nil
    }
  }
}
