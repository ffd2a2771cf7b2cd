import DivanLog
import Synchronization

extension Store {
  /// Makes sure that the store is open for writing and that its log says so.
  ///
  /// After a crash, opening the store then looks for files that no record names.
  func beginWriting() throws(DatabaseError) {
    try withWriter { (writer) throws(DatabaseError) in _ = try prepareLog(&writer) }
  }
}
