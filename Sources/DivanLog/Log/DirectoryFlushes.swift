import Synchronization

/// The flushes of a store's directory, which all copies of a ``StoreDirectory`` share.
///
/// The system may report that names could not be made durable to one of several flushes only. A
/// thread whose own flush succeeds must therefore know whether another one has failed since it
/// changed a name.
final class DirectoryFlushes: Sendable {
  private struct State {
    /// The number of flushes that have failed.
    var failureCount = 0
    /// The thread whose turn it is to flush; nil if no thread flushes.
    var flusher: ThreadID?
  }

  private let state = Guarded(State())
  /// The number of turns; locked during each of them.
  ///
  /// An empty value would have the mutex's address, which the thread sanitizer reports as a race.
  private let turnCount = Guarded(0)
}

extension DirectoryFlushes {
  /// The number of flushes that have failed.
  var failureCount: Int { state.withLock { $0.failureCount } }

  /// Flushes the directory at a path.
  ///
  /// `count` is ``failureCount`` before names were changed; nil if nothing depends on them. Throws
  /// the error of the flush, or `inputOutput` if another one has failed since.
  func flush(
    _ path: String, on fileSystem: any FileSystem, since count: Int?
  ) throws(SystemError) {
    let me = ThreadID.current
    // A simulated file system may call back during a flush, and that must not wait for itself.
    if state.withLock({ $0.flusher == me }) {
      return try flushNow(path, on: fileSystem, since: count)
    }
    // One flush at a time: the other one may have the error, and not have counted it yet.
    try turnCount.withLock { (turnCount) throws(SystemError) in
      turnCount += 1
      state.withLock { $0.flusher = me }
      defer { state.withLock { $0.flusher = nil } }
      try flushNow(path, on: fileSystem, since: count)
    }
  }

  private func flushNow(
    _ path: String, on fileSystem: any FileSystem, since count: Int?
  ) throws(SystemError) {
    do throws(SystemError) {
      try fileSystem.flushDirectory(path)
    } catch {
      // A directory that could not be opened was not flushed, and its errors are still unread.
      if error.code != .notFound, !error.isLackOfDescriptors {
        state.withLock { $0.failureCount += 1 }
      }
      throw error
    }
    if let count, failureCount != count {
      throw SystemError(call: "fsync", path: path, code: .inputOutput)
    }
  }
}
