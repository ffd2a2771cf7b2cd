package import DivanLog

extension DatabaseError {
  /// Creates the error that users see for an error of the log's files.
  init(_ error: LogError) {
    switch error {
    case .system(let error): self.init(error)
    case .damaged(let damage): self.init(damage)
    case .newerFormat(let path, let version):
      self.init(
        .newerFormat, "a newer version of Divan wrote this file (format \(version))",
        hint: "Open it with a newer version; nothing was changed", path: path)
    case .missingKey(let path, let keyID):
      self.init(
        .missingKey, "the store is encrypted with another key (\(hexadecimal(keyID)))",
        hint: "Open it with the cipher that has this key; nothing was changed", path: path)
    case .notEncrypted(let path):
      self.init(
        .missingKey, "the store is not encrypted, and a cipher was given",
        hint: "Open it without a cipher; nothing was changed", path: path)
    case .foreign(let path, let reason):
      self.init(
        .notAStore, "this is not a file of this store: \(reason)",
        hint: "Move it to another directory if it does not belong to the store", path: path)
    case .foreignDirectory(let path, let reason):
      self.init(
        .notAStore, "this is not the directory of a store: \(reason)",
        hint: "Choose another path, or an empty directory; nothing was changed", path: path)
    case .sourceChanged(let path, let reason):
      self.init(
        .inputOutput, "the file changed while it was read: \(reason)",
        hint: "Try again when no program writes to it; nothing was stored", path: path)
    case .closed:
      self.init(.closed, "the database was closed", hint: "Open it again to continue")
    case .suspended:
      self.init(
        .suspended, "the database is suspended, or was suspended during the call",
        hint: "Call `resume`, and then make the call again; snapshots can still be read")
    }
  }

  init(_ damage: Damage) {
    self.init(
      .damaged, "the store is damaged: \(damage.reason)",
      hint:
        "Everything that is not damaged can be read. Run `logdump verify`, restore a backup, or "
        + "save the rest with `logdump salvage`",
      path: damage.path, offset: damage.offset)
  }

  package init(_ error: SystemError) {
    let (code, hint): (Code, String?) =
      switch error.code {
      case .noSpace, .quotaExceeded:
        (.diskFull, "Make space and try again; nothing was lost")
      case .noAccess, .notPermitted:
        (
          .accessDenied,
          "Check the permissions of the store's directory and of its parent directory"
        )
      case .readOnlyFileSystem:
        (.readOnly, "Open it with `isReadOnly` set, or from a writable medium")
      case .notFound: (.notFound, nil)
      case .symbolicLink:
        (.notAStore, "A symbolic link has the name of a store's file; remove the link")
      case .tooManyLinks:
        (.notAStore, "The file has other names, too; remove this name, which is not the store's")
      case .staleHandle:
        (
          .notFound,
          "The directory or file was moved or replaced while it was in use; open it again"
        )
      case .exists:
        (.alreadyExists, "Choose another path, or delete the existing file or directory")
      case .busy: (.storeInUse, "Close the database first")
      case .cancelled: (.cancelled, "Nothing was changed")
      case .tooManyOpenFiles, .tooManyOpenFilesInSystem:
        (.resourceExhausted, "Close files that are not needed, or raise the limit")
      default: (.inputOutput, nil)
      }
    self.init(
      code, "the system refused `\(error.call)`: \(error.code)", hint: hint, path: error.path,
      underlying: error)
  }
}

extension DatabaseError {
  /// Creates the error for a directory that cannot be created.
  ///
  /// `purpose` says what the directory is for, such as `the store`.
  init(_ error: SystemError, making purpose: String, at path: String) {
    let parent = parentDirectory(of: path)
    let cause = DatabaseError(error)
    switch error.code {
    case .notFound:
      self.init(
        .notFound, "\(purpose) cannot be created: its parent directory does not exist",
        hint: "Create the directory \(parent) first, or choose another path", path: path,
        underlying: error)
    case .noAccess, .notPermitted:
      self.init(
        .accessDenied, "\(purpose) cannot be created: \(error.code)",
        hint: "Allow this process to write in \(parent), or choose another path", path: path,
        underlying: error)
    case .notADirectory:
      self.init(
        .notAStore, "\(purpose) cannot be created: a part of its path is a file",
        hint: "Choose another path", path: path, underlying: error)
    case .exists:
      self.init(
        .alreadyExists, "\(purpose) cannot be created: its path is taken",
        hint: "Choose another path, or remove the existing file or directory", path: path,
        underlying: error)
    default:
      self.init(
        cause.code, "\(purpose) cannot be created: \(error.code)", hint: cause.hint, path: path,
        underlying: error)
    }
  }
}

/// Runs work on the log, and converts its errors to errors that users see.
func translating<R: ~Copyable>(_ body: () throws(LogError) -> R) throws(DatabaseError) -> R {
  do { return try body() } catch { throw DatabaseError(error) }
}

/// The directory that a path is in.
func parentDirectory(of path: String) -> String {
  let parts = path.split(separator: "/", omittingEmptySubsequences: true)
  let parent = parts.dropLast().joined(separator: "/")
  return path.hasPrefix("/") ? "/" + parent : (parent.isEmpty ? "." : parent)
}

/// Returns the absolute path.
func absolutePath(
  _ path: String, on fileSystem: any FileSystem
) throws(DatabaseError) -> String {
  try translating { () throws(LogError) in
    try attempt { () throws(SystemError) in try fileSystem.absolutePath(path) }
  }
}
