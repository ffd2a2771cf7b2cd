import DivanLog

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

  /// Whether another process may have removed an attachment that could not be read.
  ///
  /// It may do so while this process only reads the store, or has suspended it.
  func mayLack(_ digest: SHA256.Digest) -> Bool {
    if configuration.isReadOnly { return true }
    // A process that resumed the store has the lock again. A file that is there is its own.
    return attachments.session > 0 && (try? attachments.hasFile(of: digest)) == false
  }
}
