import DivanLog
import Synchronization

extension Store {
  /// Opens the newest version of a store that is open for reading only; nil if that fails.
  ///
  /// Another process may have written it. Takes as long as opening the store.
  func newestForReading() -> Database? {
    var configuration = configuration
    configuration.openingProgress = nil
    return try? Database(at: path, configuration: configuration)
  }
}

extension Store {
  /// Makes sure that the store is open for writing and that its log says so.
  ///
  /// After a crash, opening the store then looks for files that no record names.
  func beginWriting() throws(DatabaseError) {
    try withWriter { (writer) throws(DatabaseError) in _ = try prepareLog(&writer) }
  }
}
