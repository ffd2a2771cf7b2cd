/// The flushes of a store's directory, which all copies of a ``StoreDirectory`` share.
///
/// The system may report that names could not be made durable to one of several flushes only. A
/// thread whose own flush succeeds must therefore know whether another one has failed since it
/// changed a name.
final class DirectoryFlushes: Sendable {
  /// The number of flushes that have failed; locked during each flush.
  private let failures = Guarded(0)
}

extension DirectoryFlushes {
  /// The number of flushes that have failed; a flush that is running ends first.
  var failureCount: Int { failures.withLock { $0 } }

  /// Flushes the directory at a path.
  ///
  /// `count` is ``failureCount`` before names were changed; nil if nothing depends on them. Throws
  /// the error of the flush, or `inputOutput` if another one has failed since.
  func flush(
    _ path: String, on fileSystem: any FileSystem, since count: Int?
  ) throws(SystemError) {
    // One flush at a time: the other one may have the error, and not have counted it yet.
    try failures.withLock { (failures) throws(SystemError) in
      do throws(SystemError) {
        try fileSystem.flushDirectory(path)
      } catch {
        // A directory that could not be opened was not flushed, and its errors are still unread.
        if error.code != .notFound, !error.isLackOfDescriptors { failures += 1 }
        throw error
      }
      if let count, failures != count {
        throw SystemError(call: "fsync", path: path, code: .inputOutput)
      }
    }
  }
}
