import DivanLog

extension StoreEnvironment {
  /// The file access for user-named files.
  ///
  /// They are on the machine's disk, even if the store is in memory; on a simulated disk if the
  /// store is.
  var userFiles: UserFiles {
    let own = directory.fileSystem
    return UserFiles(
      fileSystem: own is MemoryFileSystem
        ? POSIXFileSystem(isPrivate: configuration.isPrivate) : own, nonce: configuration.random())
  }
}
