extension StoreEnvironment {
  /// Opens the newest version of a store that is open for reading only; nil if that fails.
  ///
  /// Another process may have written it. Takes as long as opening the store.
  func newestForReading() -> Database? {
    var configuration = configuration
    configuration.openingProgress = nil
    return try? Database(at: path, configuration: configuration)
  }
}
