extension StoreEnvironment {
  /// Opens the newest version of the store for reading only; nil if that fails.
  ///
  /// Another process may have written it. Takes as long as opening the store.
  func newestForReading() -> Database? {
    var configuration = configuration
    // A database that is suspended or only read must not take the lock.
    configuration.isReadOnly = true
    configuration.followsWriter = .manually
    configuration.openingProgress = nil
    return try? Database(at: path, configuration: configuration)
  }
}
