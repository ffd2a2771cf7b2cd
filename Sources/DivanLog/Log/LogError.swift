/// An error in the files of a store.
package enum LogError: Error, Sendable {
  /// The system refused or failed.
  case system(SystemError)
  /// Bytes differ from the written ones.
  case damaged(Damage)
  /// A newer version of Divan wrote this.
  case newerFormat(path: String, version: String)
  /// The file is encrypted with a key that was not given.
  case missingKey(path: String, keyID: UInt64)
  /// The file is not encrypted, although a cipher was given.
  case notEncrypted(path: String)
  /// This is not a file of a Divan store.
  case foreign(path: String, reason: String)
  /// The directory is not a Divan store, or a folder in it is not a store's; nothing was changed.
  case foreignDirectory(path: String, reason: String)
  /// A file of the caller changed while it was read.
  case sourceChanged(path: String, reason: String)
  /// The store was closed before this was done.
  case closed
  /// The store was suspended before this was done, and its lock was released.
  case suspended
}

extension LogError {
  /// Whether a file cannot be read for lack of its key, or because it has none.
  package var isAboutKey: Bool {
    switch self {
    case .missingKey, .notEncrypted: true
    default: false
    }
  }
}

/// Bytes that differ from the written ones: their location, their number, and the reason.
package struct Damage: Error, Equatable, Sendable, CustomStringConvertible {
  package let path: String
  /// The offset of the damage in the file, in bytes.
  package let offset: Int
  /// The number of damaged bytes, if it is known.
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
