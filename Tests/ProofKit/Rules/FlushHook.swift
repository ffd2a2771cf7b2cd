import DivanLog
import DivanTesting
import Synchronization

/// A simulated disk that calls a closure once, after a flush of a segment and before it returns.
final class FlushHook: FileSystem {
  private let base: SimulatedFileSystem
  private let body: @Sendable () -> Void
  private let isArmed = Atomic(false)

  init(_ base: SimulatedFileSystem, _ body: @escaping @Sendable () -> Void) {
    self.base = base
    self.body = body
  }

  /// Arms the closure for the next flush.
  func arm() { isArmed.store(true, ordering: .relaxed) }

  private func noteFlush(_ path: String) {
    guard path.hasSuffix(".segment"), isArmed.exchange(false, ordering: .relaxed) else { return }
    body()
  }

  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    let path = path
    return HookedFile(try base.open(path, access)) { [weak self] in self?.noteFlush(path) }
  }

  func rename(_ path: String, to newPath: String) throws(SystemError) {
    try base.rename(path, to: newPath)
  }
  func link(_ path: String, to newPath: String) throws(SystemError) {
    try base.link(path, to: newPath)
  }
  func remove(_ path: String) throws(SystemError) { try base.remove(path) }
  func makeDirectory(_ path: String) throws(SystemError) { try base.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(SystemError) { try base.removeDirectory(path) }
  func list(_ path: String) throws(SystemError) -> [String] { try base.list(path) }
  func status(_ path: String) throws(SystemError) -> FileStatus { try base.status(path) }
  func flushDirectory(_ path: String) throws(SystemError) { try base.flushDirectory(path) }
  func canonicalPath(_ path: String) throws(SystemError) -> String { try base.canonicalPath(path) }
  func lock(_ path: String, note: String) throws(SystemError) -> FileLockOutcome {
    try base.lock(path, note: note)
  }
}

/// A file that reports its flushes.
private final class HookedFile: OpenFile {
  private let base: any OpenFile
  private let flushed: @Sendable () -> Void

  init(_ base: any OpenFile, _ flushed: @escaping @Sendable () -> Void) {
    self.base = base
    self.flushed = flushed
  }

  var path: String { base.path }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    // Required by the protocol.
    unsafe try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    unsafe try base.write(bytes, at: offset)
  }
  func size() throws(SystemError) -> Int { try base.size() }
  func flush() throws(SystemError) {
    try base.flush()
    flushed()
  }
  func map(_ count: Int) throws(SystemError) -> SharedBytes { try base.map(count) }
  func close() throws(SystemError) { try base.close() }
}
