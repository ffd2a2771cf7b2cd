/// What can go wrong with the files of a store.
package enum LogError: Error, Sendable {
  /// The system refused or failed.
  case system(SystemError)
  /// Bytes are not what was written.
  case damaged(Damage)
  /// A newer version of Divan wrote this.
  case newerFormat(path: String, version: String)
  /// This is not a file of a Divan store.
  case foreign(path: String, reason: String)
  /// This is not the directory of a Divan store, or a folder in it is not the store's; nothing was changed.
  case foreignDirectory(path: String, reason: String)
  /// A file of the caller's changed while it was read.
  case sourceChanged(path: String, reason: String)
  /// The store was closed before this was done.
  case closed
}

/// Bytes that are not what was written: where, how many, and how that was noticed.
package struct Damage: Error, Equatable, Sendable, CustomStringConvertible {
  package let path: String
  /// Where the damage begins, in bytes from the beginning of the file.
  package let offset: Int
  /// How many bytes are concerned, where that is known.
  package let size: Int?
  package let reason: String

  package init(path: String, offset: Int, size: Int? = nil, reason: String) {
    self.path = path
    self.offset = offset
    self.size = size
    self.reason = reason
  }

  package var description: String { printable("\(path) at byte \(offset): \(reason)") }
}
