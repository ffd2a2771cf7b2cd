import DivanLog

extension Database {
  /// Whether there is a store at a path: a directory with files that only Divan makes.
  public static func exists(at path: String, configuration: Configuration = Configuration()) -> Bool
  {
    let directory = StoreDirectory(path, on: configuration.usedFileSystem)
    return (try? directory.isStore()) ?? false
  }

  /// Deletes a store with everything in it that Divan made.
  ///
  /// It must not be open. The store is first moved aside, so that a crash leaves no part of it at
  /// `path`. A crash can leave a directory next to it whose name ends in `.deleting`; the next
  /// deletion at that path removes it. A mount point, and a store whose name has too many bytes for
  /// a longer one, cannot be moved, and are emptied in place. Files and folders that do not belong
  /// to a store are left in place, and then the directory is too.
  ///
  /// - Returns: The paths of the files that remain, relative to the store's directory; empty if
  ///   none does.
  /// - Throws: ``DatabaseError`` with the codes `notFound`, `notAStore`, `storeInUse`,
  ///   `accessDenied`.
  @discardableResult
  public static func delete(
    at path: String, configuration: Configuration = Configuration()
  ) throws -> [String] {
    let fileSystem = configuration.usedFileSystem
    let path = try absolutePath(path, on: fileSystem)
    return try StoreDeletion(fileSystem, nonce: configuration.random()).delete(at: path)
  }
}
