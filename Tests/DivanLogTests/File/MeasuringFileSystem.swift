import DivanLog
import Synchronization

/// A file system that records the largest reads and writes of its files.
final class MeasuringFileSystem: FileSystem {
  private struct Measures {
    var largestRead = 0
    var largestWrite = 0
    var mapCount = 0
  }

  private let base: any FileSystem
  private let measures = Mutex(Measures())

  init(_ base: any FileSystem) { self.base = base }

  /// The size of the largest read, in bytes.
  var largestRead: Int { measures.withLock { $0.largestRead } }
  /// The size of the largest write, in bytes.
  var largestWrite: Int { measures.withLock { $0.largestWrite } }
  var mapCount: Int { measures.withLock { $0.mapCount } }

  func reset() { measures.withLock { $0 = Measures() } }

  private final class File: OpenFile {
    let base: any OpenFile
    let fileSystem: MeasuringFileSystem

    init(_ base: any OpenFile, _ fileSystem: MeasuringFileSystem) {
      self.base = base
      self.fileSystem = fileSystem
    }

    var path: String { base.path }

    func read(
      into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(SystemError) -> Int {
      let count = buffer.count
      fileSystem.measures.withLock { $0.largestRead = max($0.largestRead, count) }
      return unsafe try base.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      let count = bytes.count
      fileSystem.measures.withLock { $0.largestWrite = max($0.largestWrite, count) }
      unsafe try base.write(bytes, at: offset)
    }

    func map(_ count: Int) throws(SystemError) -> SharedBytes {
      fileSystem.measures.withLock { $0.mapCount += 1 }
      return try base.map(count)
    }

    func size() throws(SystemError) -> Int { try base.size() }
    func flush() throws(SystemError) { try base.flush() }
    func close() throws(SystemError) { try base.close() }
  }
}

extension MeasuringFileSystem {
  func open(_ path: String, _ access: FileAccess) throws(SystemError) -> any OpenFile {
    File(try base.open(path, access), self)
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
